"""Exit codes: one table, and a command that prints it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app
from strider.cli.commands.explain import missing_name
from strider.cli.exit_codes import EXIT_MEANINGS, CommandExit
from strider.contracts.generated.events import EntryRecorded

SCHEMAS = str(Path(__file__).parents[3] / "schemas")
KAFKA = ["--kafka", "127.0.0.1:1"]
POSTGRES = ["--postgres", "postgresql://127.0.0.1:1/x"]

NO_ADDRESS = [
    pytest.param(["why", "https://a.test/"], id="why"),
    pytest.param(["why", "https://a.test/", "--quick"], id="why, tables only"),
    pytest.param(["explain", "https://a.test/"], id="explain"),
    pytest.param(["runs", "list"], id="runs"),
    pytest.param(["hosts", "show", "a.test"], id="hosts"),
    pytest.param(["frontier", "list"], id="frontier"),
    pytest.param(["topics", "diff"], id="topics"),
    pytest.param(["seeds", "add", "https://a.test/"], id="seeds"),
    pytest.param(["migrate", "status"], id="migrate"),
    pytest.param(["parser", "audit"], id="parser audit"),
    pytest.param(["parser", "diff"], id="parser diff"),
]

NO_URL = [
    pytest.param(["why", "foo"], id="why"),
    pytest.param([*KAFKA, "explain", "foo"], id="explain"),
    pytest.param([*KAFKA, "explain", "https://a.test/", "--from", "foo"], id="explain, page"),
    pytest.param([*KAFKA, "explain", "ftp://a.test/"], id="explain, refused scheme"),
    pytest.param(["crawl", "ftp://a.test/"], id="crawl"),
    pytest.param(["robots", "check", "ftp://a.test/"], id="robots"),
]

UNKNOWN_NAME = [
    pytest.param(["craw"], id="command"),
    pytest.param(["topics", "lst"], id="subcommand"),
    pytest.param(["schemas", "show", "x"], id="schema"),
    pytest.param(["schemas", "new-version", "x", "--schemas", SCHEMAS], id="event"),
    pytest.param(["frontier", "list", "--shard", "99"], id="shard"),
    pytest.param([*POSTGRES, "migrate", "up", "--to", "nope"], id="revision up"),
    pytest.param([*POSTGRES, "migrate", "up", "--to", "nope", "--dry-run"], id="revision of a plan"),
    pytest.param([*POSTGRES, "migrate", "down", "--to", "nope"], id="revision down"),
    pytest.param(["up", "--only", "kafak"], id="server"),
    pytest.param(["up", "--scale", "foo=2"], id="service"),
    pytest.param(["logs", "kafak"], id="log"),
    pytest.param(["migrate", "new", "x", "--page-column", "nope"], id="column"),
]

WRONG_ARGUMENT = [
    pytest.param(["migrate", "new", "?"], id="title"),
    pytest.param(["crawl", "https://a.test/", "--max-depth", "-1"], id="number"),
    pytest.param(["crawl", "--from", "/nowhere/urls"], id="file"),
    pytest.param([*KAFKA, "seeds", "add", "https://a.test/", "--metadata", "foo"], id="pair"),
]


def test_every_code_has_a_meaning() -> None:
    assert set(EXIT_MEANINGS) == set(CommandExit)


def test_the_command_prints_the_table() -> None:
    table = CliRunner().invoke(app, ["exit-codes"])
    objects = CliRunner().invoke(app, ["exit-codes", "--json"])

    assert [line.split()[:2] for line in table.stdout.splitlines()[1:]] == [
        ["0", "done"],
        ["1", "failed"],
        ["2", "usage"],
        ["3", "unavailable"],
        ["130", "interrupted"],
        ["143", "terminated"],
    ]
    assert json.loads(objects.stdout) == {str(code.value): text for code, text in EXIT_MEANINGS.items()}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(each.values[0], id=f"{fault}: {each.id}")
        for fault, cases in (
            ("no address", NO_ADDRESS),
            ("not a URL", NO_URL),
            ("unknown name", UNKNOWN_NAME),
            ("wrong argument", WRONG_ARGUMENT),
        )
        for each in cases
    ],
)
def test_wrong_usage_is_exit_code_2_for_every_command(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "POSTGRES_DSN", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)

    ended = CliRunner().invoke(app, words)

    assert ended.exit_code == CommandExit.USAGE, ended.stderr
    assert ended.stderr


@pytest.mark.parametrize(
    ("job", "spec_id", "has_entry", "error"),
    [
        pytest.param("", "", False, "", id="nothing named"),
        pytest.param("news", "", True, "", id="job of the URL"),
        pytest.param("nope", "", False, "--job: no job 'nope' has this URL", id="another job"),
        pytest.param("", "abcd", False, "", id="crawl spec"),
        pytest.param("", "abce", False, "no crawl spec 'abce'; did you mean abcd?", id="unknown crawl spec"),
    ],
)
def test_a_named_crawl_spec_or_job_that_does_not_exist_is_an_error(
    job: str, spec_id: str, has_entry: bool, error: str
) -> None:
    entry = EntryRecorded(
        job_id="news",
        url_key="",
        url="https://a.test/",
        group="a.test",
        state="pending",
        execution_id="",
        crawl_spec_id="abcd",
        fetch_sequence=0,
        updated_at_ms=0,
    )

    found = missing_name(job, spec_id, known=[entry] * has_entry, specs={"abcd"})

    assert error in found
    assert bool(found) is bool(error)

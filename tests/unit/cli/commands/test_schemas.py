"""`strider schemas`: lists, shows and checks schemas."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from strider.cli.commands.schemas import app
from strider.contracts.avro.schema_model import canonical_form, fingerprint, parse_schema_tree
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.codegen.releases import file_checksums

SCHEMAS = Path(__file__).parents[4] / "schemas"


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    """A copy of the repository's folder, as a change would find it."""
    return Path(shutil.copytree(SCHEMAS, tmp_path / "schemas"))


def release(schemas: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Release an older version of the echo event that differs from the current one."""
    schema = json.loads((schemas / "avro" / "echoed.v1.avsc").read_text())
    change(schema)
    folder = schemas / "released"
    manifest = (
        json.loads((folder / "manifest.json").read_text()) if (folder / "manifest.json").exists() else {}
    )
    manifest[name] = {
        "fingerprint": fingerprint(canonical_form(parse_schema_tree(schema))).hex(),
        "since": "0",
    }
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.avsc").write_text(json.dumps(schema))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    sums = [f"{digest}  {file}\n" for file, digest in file_checksums(folder).items()]
    (folder / "SHA256SUMS").write_text("".join(sums))


@pytest.mark.req("S5.2.8")
def test_what_is_in_the_repository_is_compatible() -> None:
    code, shown, _ = run("check", "--schemas", str(SCHEMAS))

    count = len(list((SCHEMAS / "avro").glob("*.avsc")))
    kept = len(list((SCHEMAS / "released").glob("*.avsc")))

    assert code == 0
    assert shown == f"{kept} released and {count} current schemas compared: all versions are compatible\n"


@pytest.mark.parametrize("lost", ["manifest.json", "."])
def test_without_what_was_released_nothing_is_proven(schemas: Path, lost: str) -> None:
    """To remove the folder removes the check, which needs an option of its own."""
    path = schemas / "released" / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()

    code, _, told = run("check", "--schemas", str(schemas))

    assert code == 1
    assert "give --first-release" in told


def test_before_the_first_release_there_is_nothing_to_keep(schemas: Path) -> None:
    shutil.rmtree(schemas / "released")

    code, shown, _ = run("check", "--schemas", str(schemas), "--first-release")

    assert code == 0
    assert shown.startswith("0 released and ")


def test_a_default_that_has_moved_is_found(schemas: Path) -> None:
    """Readers fill in missing fields with it, so two services of one version would differ."""
    path = schemas / "avro" / "seed-submitted.v4.avsc"
    path.write_text(path.read_text().replace('"default": 3', '"default": 1'))

    code, _, told = run("check", "--schemas", str(schemas))

    assert code == 1
    assert "priority: was released: its default was 3 and is 1" in " ".join(told.split())


@pytest.mark.req("S5.2.8")
@pytest.mark.parametrize(
    ("change", "finding"),
    [
        pytest.param(
            lambda schema: schema["fields"].append({"name": "gone", "type": "string", "doc": "d"}),
            "echoed.v1 read as echoed.v0: gone: no_default: not written, and the reader has no default",
            id="new-messages-by-old-readers",
        ),
        pytest.param(
            lambda schema: schema["fields"].pop(1),
            "echoed.v0 read as echoed.v1: host: no_default: not written, and the reader has no default",
            id="old-messages-by-new-readers",
        ),
    ],
)
def test_a_released_version_that_cannot_be_read_any_more_is_found(
    schemas: Path, change: Callable[[dict[str, Any]], None], finding: str
) -> None:
    """Its messages may still be in a topic, and its services still run."""
    release(schemas, "echoed.v0", change)

    code, shown, _ = run("check", "--schemas", str(schemas))

    assert code == 1
    assert finding in shown
    assert "no_default: a field that one side lacks needs a default on the other" in shown


def test_a_released_version_that_differs_harmlessly_is_let_through(schemas: Path) -> None:
    release(schemas, "echoed.v0", lambda schema: schema["fields"].pop())

    assert run("check", "--schemas", str(schemas))[0] == 0


def test_a_released_version_that_was_changed_is_found(schemas: Path) -> None:
    release(schemas, "echoed.v0", lambda schema: schema["fields"].pop())
    path = schemas / "released" / "echoed.v0.avsc"
    path.write_text(path.read_text().replace('"string"', '"bytes"', 1))

    code, _, told = run("check", "--schemas", str(schemas))

    assert code == 1
    assert "echoed.v0" in told
    assert "Traceback" not in told


def test_findings_are_json_on_request(schemas: Path) -> None:
    release(schemas, "echoed.v0", lambda schema: schema.update(name="Echo"))

    code, shown, _ = run("check", "--schemas", str(schemas), "--json")

    assert code == 1
    assert [(each["writer"], each["reader"], each["rule"]) for each in json.loads(shown)["problems"]] == [
        ("echoed.v0", "echoed.v1", "renamed"),
        ("echoed.v1", "echoed.v0", "renamed"),
    ]


def test_a_broken_file_is_named(schemas: Path) -> None:
    (schemas / "avro" / "echoed.v1.avsc").write_text("{")

    code, _, told = run("check", "--schemas", str(schemas))

    assert code == 1
    assert "echoed.v1.avsc" in told


def test_a_folder_without_schemas_is_wrong_usage(tmp_path: Path) -> None:
    code, _, told = run("check", "--schemas", str(tmp_path))

    assert (code, "contains no schemas" in told) == (2, True)


def test_schemas_are_listed_with_their_fingerprints_and_topics() -> None:
    code, shown, _ = run("list", "--json")
    rows = {row["name"]: row for row in json.loads(shown)}
    book = SchemaStore.bundled()

    assert code == 0
    assert set(rows) == set(book.names())
    assert rows["seed-submitted.v4"] == {
        "name": "seed-submitted.v4",
        "fingerprint": book.current("seed-submitted.v4").fingerprint.hex(),
        "topics": ["seeds-owned", "seeds-submitted"],
    }
    assert "seed-submitted.v4" in run("list")[1]


def test_a_schema_is_shown_whole_or_in_the_form_that_is_fingerprinted() -> None:
    book = SchemaStore.bundled()

    assert json.loads(run("show", "echoed.v1")[1]) == json.loads(book.definition("echoed.v1"))
    assert run("show", "echoed.v1", "--canonical")[1] == canonical_form(book.current("echoed.v1").node) + "\n"


def test_a_schema_without_a_version_is_the_newest_one() -> None:
    """The schema alone goes to standard output, so that it can be piped on."""
    code, shown, told = run("show", "echoed")

    assert (code, shown) == (0, run("show", "echoed.v1")[1])
    assert told == "strider: echoed.v1 is the newest; there are: echoed.v1\n"
    assert run("show", "echoed.v1")[2] == ""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("echoed.v7", "no schema 'echoed.v7'; did you mean echoed.v1?\n", id="version"),
        pytest.param("echo", "no schema 'echo'; did you mean echoed.v1?", id="event"),
        pytest.param("", "no schema ''; there are: ", id="empty"),
        pytest.param(".v1", "no schema '.v1'; there are: ", id="version-of-nothing"),
    ],
)
def test_an_unknown_schema_is_wrong_usage(name: str, told: str) -> None:
    code, shown, errors = run("show", name)

    assert (code, shown) == (2, "")
    assert told in errors


def test_a_new_version_is_written_and_listed(schemas: Path) -> None:
    """The next version of a released event, in the place of the current one."""
    code, printed, _ = run("new-version", "job-event", "--schemas", str(schemas))

    assert code == 0
    assert f"{schemas}/avro/job-event.v3.avsc -> {schemas}/avro/job-event.v4.avsc" in printed.splitlines()
    assert "value: job-event.v4" in (schemas / "topics" / "job-events.yaml").read_text()


def test_an_unknown_event_has_no_new_version(schemas: Path) -> None:
    code, _, message = run("new-version", "job-evnt", "--schemas", str(schemas))

    assert code == 2
    assert message == "strider: no event 'job-evnt'; did you mean job-event?\n"

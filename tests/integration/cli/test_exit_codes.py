"""Exit codes of commands whose server does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param(
            ["--kafka", "127.0.0.1:1", "topics", "diff"],
            "Kafka is unavailable: no broker answers at 127.0.0.1:1",
            id="kafka",
        ),
        pytest.param(
            ["topics", "diff", "--bootstrap", "127.0.0.1:1"],
            "Kafka is unavailable: no broker answers at 127.0.0.1:1",
            id="kafka, as before",
        ),
        pytest.param(
            ["--redis", "redis://127.0.0.1:1/0", "frontier", "list"],
            "Redis at 127.0.0.1:1 does not answer: connection refused;",
            id="redis",
        ),
        pytest.param(
            ["--postgres", "postgresql://127.0.0.1:1/x", "migrate", "status"],
            "PostgreSQL at 127.0.0.1:1 does not answer: connection refused;",
            id="postgres",
        ),
        pytest.param(
            ["migrate", "status", "--dsn", "postgresql://127.0.0.1:1/x"],
            "PostgreSQL at 127.0.0.1:1 does not answer: connection refused;",
            id="dsn",
        ),
        pytest.param(
            ["--postgres", "postgresql://127.0.0.1:1/x", "parser", "audit"],
            "PostgreSQL at 127.0.0.1:1 does not answer: connection refused;",
            id="parser audit",
        ),
        pytest.param(
            ["--postgres", "postgresql://127.0.0.1:1/x", "proxies", "list"],
            "PostgreSQL at 127.0.0.1:1 does not answer: connection refused;",
            id="proxies",
        ),
        pytest.param(
            ["--postgres", "postgresql://127.0.0.1:1/x", "sources", "list"],
            "PostgreSQL at 127.0.0.1:1 does not answer: connection refused;",
            id="sources",
        ),
    ],
)
def test_an_unresponsive_server_is_exit_code_3_for_every_command(
    words: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))
    monkeypatch.delenv("CRAWLER_PROXY_URLS", raising=False)
    ended = CliRunner().invoke(app, words)

    assert (ended.exit_code, ended.stdout) == (3, "")
    assert ended.stderr.startswith(f"strider: {problem}")
    assert ended.stderr.endswith("is it running? Check with: strider doctor\n")
    assert ended.stderr.count("\n") == 1


def test_an_unknown_host_name_is_reported_as_such() -> None:
    ended = CliRunner().invoke(app, ["--redis", "redis://user:secret@no-host.invalid:1", "frontier", "list"])

    assert ended.stderr == (
        "strider: Redis at no-host.invalid:1 does not answer: its host name is unknown; is it running? "
        "Check with: strider doctor\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["parser", "audit"], id="parser audit"),
        pytest.param(["proxies", "list"], id="proxies list"),
        pytest.param(["sources", "list"], id="sources list"),
        pytest.param(["proxies", "test"], id="proxies test"),
        pytest.param(["proxies", "remove", "http://p.test:1"], id="proxies remove"),
    ],
)
def test_a_missing_table_is_exit_code_1_and_names_the_command(
    words: list[str], postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server answers: to repeat the command later would not help."""
    monkeypatch.delenv("CRAWLER_PROXY_URLS", raising=False)
    ended = CliRunner().invoke(app, ["--postgres", postgres_dsn, *words])

    assert (ended.exit_code, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert "the database is not up to date" in ended.stderr
    assert ended.stderr.endswith("run: strider migrate up\n")

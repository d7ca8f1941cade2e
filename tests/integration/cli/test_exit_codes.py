"""Exit codes of commands whose server does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app


@pytest.mark.parametrize(
    ("words", "name"),
    [
        pytest.param(["--kafka", "127.0.0.1:1", "topics", "diff"], "Kafka", id="kafka"),
        pytest.param(["topics", "diff", "--bootstrap", "127.0.0.1:1"], "Kafka", id="kafka, as before"),
        pytest.param(["--redis", "redis://127.0.0.1:1/0", "frontier", "list"], "Redis", id="redis"),
        pytest.param(
            ["--postgres", "postgresql://127.0.0.1:1/x", "migrate", "status"], "PostgreSQL", id="postgres"
        ),
        pytest.param(
            ["migrate", "status", "--dsn", "postgresql://127.0.0.1:1/x"],
            "PostgreSQL",
            id="dsn",
        ),
        pytest.param(
            ["--postgres", "postgresql://127.0.0.1:1/x", "parser", "audit"], "PostgreSQL", id="parser audit"
        ),
        pytest.param(
            ["--postgres", "postgresql://127.0.0.1:1/x", "proxies", "list"], "PostgreSQL", id="proxies"
        ),
    ],
)
def test_an_unresponsive_server_is_exit_code_3_for_every_command(
    words: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path))
    monkeypatch.delenv("CRAWLER_PROXY_URLS", raising=False)
    ended = CliRunner().invoke(app, words)

    assert (ended.exit_code, ended.stdout) == (3, "")
    assert ended.stderr.startswith(f"strider: {name} is unavailable: ")
    assert ended.stderr.endswith("is it running? Check with: strider doctor\n")
    assert ended.stderr.count("\n") == 1

"""Confirmation before what cannot be undone: on a terminal a question, without one an option."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from strider.cli.app import app


@pytest.fixture(autouse=True)
def _no_servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path / "stack"))
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")


@pytest.mark.parametrize(
    ("words", "question"),
    [
        pytest.param(["runs", "cancel", "x"], "Cancel x", id="cancel"),
        pytest.param(["runs", "drop", "x"], "Drop job x", id="drop"),
        pytest.param(["frontier", "recover"], "Requeue requests", id="recover"),
        pytest.param(["frontier", "rebuild", "--shard", "3"], "Drop the working set", id="rebuild"),
        pytest.param(["down", "--wipe"], "Delete all data and logs", id="wipe"),
    ],
)
def test_without_a_terminal_yes_is_required(words: list[str], question: str) -> None:
    """A script that pipes something into the command must not confirm by accident."""
    ended = CliRunner().invoke(app, words, input="y\n")

    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"strider: {question}")
    assert ended.stderr.endswith("needs --yes\n")


def test_yes_confirms_without_a_prompt() -> None:
    ended = CliRunner().invoke(app, ["down", "--wipe", "--yes"])

    assert (ended.exit_code, ended.stdout) == (0, "nothing is running (data and logs are deleted)\n")


def test_down_alone_deletes_nothing_and_needs_no_confirmation() -> None:
    assert CliRunner().invoke(app, ["down"]).stdout == "nothing is running\n"


@pytest.mark.parametrize(
    ("answer", "code", "shown"),
    [
        pytest.param(b"n\n", 1, "nothing was changed", id="no"),
        pytest.param(b"y\n", 0, "data and logs are deleted", id="yes"),
    ],
)
def test_on_a_terminal_the_reply_decides(answer: bytes, code: int, shown: str) -> None:
    terminal, own = pty.openpty()
    try:
        command = subprocess.Popen(
            [sys.executable, "-m", "strider.cli", "down", "--wipe"], stdin=own, stdout=own, stderr=own
        )
        os.close(own)
        output = b""
        while b"[y/N]" not in output:
            output += os.read(terminal, 1024)
        os.write(terminal, answer)
        assert command.wait(30) == code
        assert shown.encode() in output + os.read(terminal, 1024) + _rest(terminal)
    finally:
        os.close(terminal)


def _rest(terminal: int) -> bytes:
    """Read what a terminal still has; its end is an error on Linux."""
    output = b""
    try:
        while part := os.read(terminal, 1024):
            output += part
    except OSError:
        pass
    return output

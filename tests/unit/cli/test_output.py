"""Output that every command shares."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from strider.cli import output
from strider.cli.app import app
from strider.cli.exit_codes import CommandExit
from strider.cli.output import (
    ProgressLine,
    counted,
    fail,
    print_fields,
    print_json,
    print_listing,
    print_status,
    print_styled,
    print_table,
    print_text,
    styled,
    warn,
)


def test_a_table_in_a_pipe_is_never_wrapped_and_has_no_blanks_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("name", "reason"), [("a", "x" * 300), ("longer", "")], wrapped=("reason",))

    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["name", "reason"], ["a", "x" * 300], ["longer"]]
    assert lines == [line.rstrip() for line in lines]


def test_text_in_brackets_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """A URL or a message may contain what the library takes for markup."""
    print_table(("url",), [("http://[::1]/[red]x",)])

    assert "http://[::1]/[red]x" in capsys.readouterr().out


def test_fields_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields({"a": "1", "longer": ""})

    assert capsys.readouterr().out == "a       1\nlonger\n"


def test_json_is_one_line_unless_it_is_indented(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "ü"})
    print_json({"a": 1}, indent=1)

    assert capsys.readouterr().out == '{"a": "\\u00fc"}\n{\n "a": 1\n}\n'


def test_a_failure_is_one_line_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        fail("no run", CommandExit.FAILED)

    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == "strider: no run\n"


def test_progress_is_shown_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressLine().show("1 of 2")
    shown = ProgressLine(is_shown=True)
    shown.show("1 of 2")
    shown.clear()

    assert capsys.readouterr().err == "\r\x1b[K1 of 2\r\x1b[K"


def test_a_progress_line_is_cut_at_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that wraps could not be removed again."""
    shown, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 20))
    with os.fdopen(terminal, "w") as stream, os.fdopen(shown, "rb") as screen:
        monkeypatch.setattr(sys, "stderr", stream)

        ProgressLine().show("0123456789" * 5)

        assert screen.read1(100) == b"\r\x1b[K0123456789012345678"


@pytest.mark.parametrize(
    ("objects", "printed"),
    [
        pytest.param([{"id": "a"}], ["name", "a"], id="rows"),
        pytest.param([], ["no runs"], id="nothing"),
    ],
)
def test_a_listing_is_a_table_or_a_line_when_it_is_empty(
    objects: list[dict[str, str]], printed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(each["id"],) for each in objects]
    print_listing(objects, ("name",), rows, as_json=False, empty="no runs")
    print_listing(objects, ("name",), rows, as_json=True, empty="no runs")

    *lines, as_json = capsys.readouterr().out.splitlines()
    assert lines == printed
    assert json.loads(as_json) == objects


def test_styles_are_left_out_in_a_pipe_and_long_lines_are_not_wrapped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_styled(("kafka", "bold red"), " " + "x" * 300)

    assert capsys.readouterr().out == "kafka " + "x" * 300 + "\n"


@pytest.fixture(autouse=True)
def _no_servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRIDER_HOME", str(tmp_path / "stack"))
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")


@pytest.mark.parametrize(
    ("words", "question"),
    [
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


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(1, "host active", "1 host active"), (0, "page", "0 pages"), (2, "entry open", "2 entries open")],
)
def test_a_count_agrees_with_its_noun(count: int, noun: str, text: str) -> None:
    assert counted(count, noun) == text


HOSTILE = "\x1b]0;title\x07 \x9b2J \u202egnp\u2069 \x7f \r"


@pytest.mark.fault("A11", part="everything that commands print")
@pytest.mark.parametrize(
    "print_it",
    [
        lambda: print_text(HOSTILE),
        lambda: print_json({"title": HOSTILE}, ascii_only=False),
        lambda: print_fields({"title": HOSTILE + "\nforged: line"}),
        lambda: print_table(("title",), [(HOSTILE + "\nforged line",)]),
        lambda: print_table(("title",), [(styled((HOSTILE, "bold")),)]),
        lambda: print_listing([], ("title",), [(HOSTILE,)], as_json=False, empty=""),
        lambda: print_styled((HOSTILE, "red"), HOSTILE),
        lambda: print_status(HOSTILE),
        lambda: warn(HOSTILE),
        lambda: ProgressLine(is_shown=True).show(HOSTILE),
    ],
)
def test_no_foreign_text_controls_the_terminal(
    print_it: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    print_it()

    captured = capsys.readouterr()
    printed = (captured.out + captured.err).removeprefix("\r\x1b[K")
    assert "\\u001b]0;title\\u0007" in printed
    assert not set(printed) & {"\x1b", "\x07", "\x9b", "\u202e", "\u2069", "\x7f", "\r"}
    assert "\nforged" not in printed


def test_printed_json_has_the_value_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"title": HOSTILE}, ascii_only=False)

    assert json.loads(capsys.readouterr().out) == {"title": HOSTILE}


def test_a_file_gets_the_text_unchanged(tmp_path: Path) -> None:
    with (tmp_path / "page.txt").open("w", newline="") as stream:
        print_text(HOSTILE, stream=stream, end="")

    assert (tmp_path / "page.txt").read_bytes().decode() == HOSTILE


def test_every_command_prints_through_one_module() -> None:
    """Else a command would have to escape foreign text itself."""
    own = {"output.py", "stdio.py"}
    root = Path(output.__file__).parent
    calls = re.compile(r"(?<![\w.])print\(|typer\.(?:s?echo|secho)\(|click\.echo\(|std(?:out|err)\.write\(")
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for path in root.rglob("*.py")
        if path.name not in own
        for line in path.read_text(encoding="utf-8").splitlines()
        if calls.search(line)
    ]

    assert found == []

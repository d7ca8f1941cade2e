"""Output that every command shares."""

from __future__ import annotations

import json
import os
import pty
import sys
import termios

import pytest
import typer

from strider.cli.exit_codes import CommandExit
from strider.cli.output import (
    ProgressLine,
    fail,
    print_fields,
    print_json,
    print_listing,
    print_styled,
    print_table,
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

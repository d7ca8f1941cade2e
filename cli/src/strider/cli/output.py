"""Print tables, JSON, progress, warnings and errors the same way in every command.

Results go to standard output, everything else to standard error, so that results can be piped. Whatever is
printed there passes through `escape_controls`, so that no text of a site or producer controls the terminal.
A command asks for confirmation before what cannot be undone, or interrupts a crawl.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn

import typer

from strider.runtime.terminal_text import escape_controls

from .exit_codes import CommandExit

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PIPE_COLUMNS: Final = 10_000
"""Width of a table that is not written to a terminal: its cells are never wrapped."""

CLEAR_LINE: Final = "\r\x1b[K"


def print_text(
    text: object = "", *, end: str = "\n", flush: bool = False, stream: IO[str] | None = None
) -> None:
    """Print a text of the result: to standard output, or unchanged to the file that the command writes."""
    is_file = stream is not None and stream not in (sys.stdout, sys.stderr)
    print(text if is_file else escape_controls(str(text)), end=end, flush=flush, file=stream)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 entry`, `2 entries`; of a phrase, the first word is the noun."""
    first, _, rest = noun.partition(" ")
    if count != 1:
        first = f"{first[:-1]}ies" if first.endswith("y") and first[-2] not in "aeiou" else f"{first}s"
    return f"{count} {first} {rest}".rstrip()


def time_text(at: datetime | None) -> str:
    """Return a time as text, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if at is not None else "?"


def json_text(
    value: Any,
    *,
    indent: int | None = None,
    default: Callable[[Any], Any] | None = None,
    ascii_only: bool = True,
) -> str:
    """Return a value as JSON: on one line, or indented for values that people read."""
    return json.dumps(value, indent=indent, default=default, ensure_ascii=ascii_only)


def print_json(
    value: Any,
    *,
    indent: int | None = None,
    default: Callable[[Any], Any] | None = None,
    ascii_only: bool = True,
) -> None:
    """Print a value as `json_text` writes it."""
    print_text(json_text(value, indent=indent, default=default, ascii_only=ascii_only))


def print_listing(
    objects: Sequence[Any],
    headers: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    as_json: bool,
    empty: str,
    wrapped: Sequence[str] = (),
    default: Callable[[Any], Any] | None = None,
) -> None:
    """Print what a command lists: with `--json` an array of the objects, else a table, or why it is empty."""
    if as_json:
        print_json(objects, default=default)
    elif rows:
        print_table(headers, rows, wrapped=wrapped)
    else:
        print_text(empty)


def print_table(
    headers: Sequence[str], rows: Sequence[Sequence[str | Text]], *, wrapped: Sequence[str] = ()
) -> None:
    """Print rows as `table_text` aligns them."""
    print(table_text(headers, rows, wrapped=wrapped))  # its cells are escaped, and its styles are ours


def table_text(
    headers: Sequence[str], rows: Sequence[Sequence[str | Text]], *, wrapped: Sequence[str] = ()
) -> str:
    """Align rows in columns; only the columns named in `wrapped` are broken on a narrow terminal."""
    from rich.table import Table  # noqa: PLC0415  # most commands print no table
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header, no_wrap=header not in wrapped, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_one_line(cell)) if isinstance(cell, str) else cell for cell in row))
    console = _console(sys.stdout)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def print_fields(fields: Mapping[str, str]) -> None:
    """Print the fields of one object, a line each."""
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        print_text(f"{name:<{width}}  {_one_line(value)}".rstrip())


def styled(*parts: str | tuple[str, str]) -> Text:
    """Return a text of parts, some of them with a style; the style is left out in a pipe."""
    from rich.text import Text  # noqa: PLC0415  # as above

    return Text.assemble(
        *(_one_line(part) if isinstance(part, str) else (_one_line(part[0]), part[1]) for part in parts)
    )


def _one_line(text: str) -> str:
    return escape_controls(text, keeps_lines=False)


def print_styled(*parts: str | tuple[str, str]) -> None:
    """Print a text of parts with styles on one line at any width, so that it can be copied."""
    _console(sys.stdout).print(styled(*parts), soft_wrap=True)


@lru_cache(maxsize=1)
def _console(stream: IO[str]) -> Console:
    """Return a console that neither highlights nor wraps in a pipe; a followed log prints many lines."""
    from rich.console import Console  # noqa: PLC0415  # as above

    return Console(file=stream, highlight=False, width=None if stream.isatty() else PIPE_COLUMNS)


def print_status(text: str) -> None:
    """Print a line about the course of the command to standard error; a closed reader is ignored."""
    with suppress(BrokenPipeError):
        print(escape_controls(text), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Print a warning or an error that does not end the command."""
    print_status(f"strider: {text}")


def fail(text: str, code: CommandExit) -> NoReturn:
    """End the command with one line on standard error and an exit code."""
    warn(text)
    raise typer.Exit(code)


def log_to_stderr(level: str = "error") -> None:
    """Send log lines to standard error, which leaves standard output to results.

    Kafka's client library logs every failed attempt; the command reports the failure once itself.
    """
    import logging  # noqa: PLC0415  # commands without libraries log nothing

    from strider.runtime.observability.logging import configure_logs  # noqa: PLC0415

    configure_logs("strider", stream=sys.stderr, level=level, console=True, colors=sys.stderr.isatty())
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)


def _terminal_columns() -> int:
    """Return the width of the terminal; no limit where it is unknown."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or sys.maxsize
    except (OSError, ValueError):  # not a terminal
        return sys.maxsize


class ProgressLine:
    """One line of progress on standard error that is overwritten; nothing where that is no terminal."""

    def __init__(self, *, is_shown: bool | None = None) -> None:
        self._is_visible = sys.stderr.isatty() if is_shown is None else is_shown

    def show(self, text: str) -> None:
        """Replace the line; what exceeds the width of the terminal is cut off, as it could not be removed."""
        self._write(f"{CLEAR_LINE}{_one_line(text)[: _terminal_columns() - 1]}")

    def clear(self) -> None:
        """Remove the line."""
        self._write(CLEAR_LINE)

    def _write(self, text: str) -> None:
        if not self._is_visible:
            return
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def confirm(question: str, *, is_confirmed: bool) -> None:
    """Ask on a terminal; end the command where the answer is no, or where there is no terminal.

    `is_confirmed` is the option --yes, which a script has to give.
    """
    if is_confirmed:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        fail(f"{question} Without a terminal this needs --yes", CommandExit.USAGE)
    if not typer.confirm(_one_line(question), err=True):
        fail("nothing was changed", CommandExit.FAILED)

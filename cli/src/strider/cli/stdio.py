"""Standard streams of a command, also where its caller has closed them.

A closed stream is replaced: standard input is empty, and writes to the others fail as on a full disk. So
no command meets a missing stream, and no file that is opened later gets the descriptor of one. A write
that fails ends the command with one line.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Final, NoReturn

EXIT_OUTPUT_FAILED: Final = 1

_WRITE_ERRORS: Final = frozenset({errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG})
_DESCRIPTORS: Final = (0, 1, 2)


def open_streams() -> None:
    """Replace closed streams, and escape characters that the terminal's encoding does not have."""
    for number in _DESCRIPTORS:
        try:
            os.fstat(number)
        except OSError:
            # The lowest free descriptor is used, so this is the one; read-only makes each write fail.
            os.open(os.devnull, os.O_RDONLY)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # stays open
    sys.stdout = sys.stdout or _failing_stream(1)
    sys.stderr = sys.stderr or _failing_stream(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run_command(command: Callable[[], object]) -> NoReturn:
    """Run a command and exit with its code; output that cannot be written is reported on standard error."""
    code: object = 0
    try:
        try:
            command()
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the reader of a pipe has closed it, such as head
    except OSError as failure:
        if failure.errno not in _WRITE_ERRORS or failure.filename is not None:
            raise
        code = code or EXIT_OUTPUT_FAILED
        _print_error(f"strider: the output cannot be written: {failure.strerror}")
    _discard_unwritten()
    raise SystemExit(code)


def discard_stdout() -> None:
    """Let further output to a closed pipe succeed, for a command whose work continues without its reader."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failing_stream(number: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), encoding="utf-8")


def _print_error(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        return


def _discard_unwritten() -> None:
    """Discard buffered output, which Python would fail to write, and report, at exit."""
    for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)

"""The three streams of a command, whatever its caller has done to them.

A stream that was closed is there all the same: nothing comes of standard input, and what is written to
the others fails as on a full disk. So no command meets a stream that is none, and no file that is
opened later gets the number of one. A write that fails ends the command with a sentence.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Final, NoReturn

EXIT_UNWRITTEN: Final = 1

_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG})
_NUMBERS: Final = (0, 1, 2)


def open_streams() -> None:
    """Put something in the place of what is closed, and have what a terminal cannot show escaped."""
    for number in _NUMBERS:
        try:
            os.fstat(number)
        except OSError:
            # The lowest number is given, so this is the one; reading alone makes each write fail.
            os.open(os.devnull, os.O_RDONLY)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # it stays open
    sys.stdout = sys.stdout or _failing(1)
    sys.stderr = sys.stderr or _failing(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def carry_out(command: Callable[[], object]) -> NoReturn:
    """Run a command and end with its code; what cannot be written is said, where it can be."""
    code: object = 0
    try:
        try:
            command()
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # whoever read has seen enough
    except OSError as failure:
        if failure.errno not in _UNWRITABLE or failure.filename is not None:
            raise
        code = code or EXIT_UNWRITTEN
        _say(f"strider: the output cannot be written: {failure.strerror}")
    _let_go()
    raise SystemExit(code)


def _failing(number: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), encoding="utf-8")


def _say(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        return


def _let_go() -> None:
    """Leave nothing that Python would try, and complain about, while it ends."""
    for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)

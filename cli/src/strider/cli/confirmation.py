"""Ask for confirmation before what cannot be undone, or interrupts a crawl."""

from __future__ import annotations

import sys

import typer

from .exit_codes import CommandExit
from .output import fail


def confirm(question: str, *, is_confirmed: bool) -> None:
    """Ask on a terminal; end the command where the answer is no, or where there is no terminal.

    `is_confirmed` is the option --yes, which a script has to give.
    """
    if is_confirmed:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        fail(f"{question} Without a terminal this needs --yes", CommandExit.USAGE)
    if not typer.confirm(question, err=True):
        fail("nothing was changed", CommandExit.FAILED)

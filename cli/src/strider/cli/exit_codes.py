"""Exit codes of every command, with one meaning each."""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import Final


class CommandExit(IntEnum):
    """Exit code of a command; scripts act on it."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 3
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_MEANINGS: Final = MappingProxyType(
    {
        CommandExit.DONE: "Done. A check found nothing wrong.",
        CommandExit.FAILED: (
            "A finding or a failure: a check found something, what was named does not exist on the server, "
            "the database is not up to date, a URL could not be fetched or parsed, a run that was waited for "
            "was cancelled or accepted no URL, the output could not be written, or the answer to a "
            "confirmation was no."
        ),
        CommandExit.USAGE: (
            "Wrong usage or settings, or a file that cannot be read; one line on stderr names the option or "
            "variable, and nothing was done. Only `seeds add` has published the valid lines of its list; in "
            "the lists of `crawl` and `parse` an invalid line is a result with its reason."
        ),
        CommandExit.UNAVAILABLE: (
            "A server that the command needs does not answer (Kafka, PostgreSQL, Redis), or a needed program "
            "is not installed. The command may succeed later."
        ),
        CommandExit.INTERRUPTED: "Interrupted by Ctrl-C (128 + SIGINT).",
        CommandExit.TERMINATED: "Ended by SIGTERM (128 + SIGTERM).",
    }
)
"""Meaning of each code, as `strider exit-codes` prints it."""

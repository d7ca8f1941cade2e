"""Exit codes of a process and their meaning.

Decides nothing but the numbers; `lifecycle` and `watchdog` decide when a process ends. The table in
docs/operations/processes.md is rendered from here.
"""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import Final


class ExitCode(IntEnum):
    """Documented exit codes: supervisors and people act on them."""

    OK = 0
    FAILED = 1
    SETTINGS = 2
    STALLED = 3
    REFUSED = 4
    UNAVAILABLE = 5
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_MEANINGS: Final = MappingProxyType(
    {
        ExitCode.OK: ("Stopped as requested, everything in flight finished and committed.", "nothing"),
        ExitCode.FAILED: (
            "Unrecoverable: a task died, memory over its limit, health port taken; the log says why.",
            "restart with backoff",
        ),
        ExitCode.SETTINGS: (
            "A setting is unknown, missing or invalid; one line on stderr names it.",
            "do not restart: change the setting",
        ),
        ExitCode.STALLED: (
            "The watchdog found work waiting and nothing moving, and reconnecting did not help.",
            "restart at once",
        ),
        ExitCode.REFUSED: (
            "Start refused by a fact that only a person can change, such as a partition count.",
            "do not restart: change what the line on stderr names",
        ),
        ExitCode.UNAVAILABLE: (
            "A dependency was away for longer than STRIDER_EXIT_AFTER_SECONDS, which is off by default.",
            "restart with backoff",
        ),
        ExitCode.INTERRUPTED: (
            "SIGINT, and the shutdown timed out or a second signal came: messages will be redelivered.",
            "nothing",
        ),
        ExitCode.TERMINATED: (
            "SIGTERM, and the shutdown timed out or a second signal came: messages will be redelivered.",
            "nothing",
        ),
    }
)
"""Meaning of each code, and what a supervisor should do about it."""


def exit_table() -> str:
    """Render the codes as the Markdown table of the operations page."""
    lines = ["| code | name | meaning | supervisor |", "|---|---|---|---|"]
    lines += [
        f"| {code.value} | `{code.name}` | {meaning} | {reaction} |"
        for code, (meaning, reaction) in EXIT_MEANINGS.items()
    ]
    return "\n".join(lines) + "\n"

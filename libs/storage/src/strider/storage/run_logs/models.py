"""Entries of run logs: their positions, documents, filters and pages. Pure.

A position is the id of an entry in its stream, `<ms>-<number>`; it stays the same in the archive, so that a
reader may continue in the one where it stopped in the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from strider.runtime.observability.job_logs import JobLogLine

BEGINNING: Final = "0-0"
"""Position before the first entry."""

LEVELS: Final = ("debug", "info", "warning", "error", "critical")
"""Levels, the least first."""

_POSITION: Final = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_MAX_POSITION: Final = 2**64 - 1
"""Of each number of a position in a stream of Redis."""

_ID: Final = "id"


class LogState(StrEnum):
    """Place and completeness of the log of a run."""

    LIVE = "live"
    """In Redis; lines may follow."""
    ENDED = "ended"
    """In Redis; the run has ended, and no line follows."""
    ARCHIVED = "archived"
    """In the object store alone."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A stored line, or the end of a log."""

    position: str
    line: JobLogLine
    is_end: bool = False

    def document(self) -> dict[str, Any]:
        """Return the entry as it is archived and shown: the fields of its line, and its position as `id`."""
        fields = line_fields(self.line.text) or {
            "ts": self.line.ts,
            "level": self.line.level,
            "event": self.line.event,
            "job_id": self.line.job_id,
            "execution_id": self.line.run,
            "text": self.line.text,  # a line that was too long, and truncated
        }
        return {_ID: self.position, **fields}


@dataclass(frozen=True, slots=True)
class LogPage:
    """Entries of a log after a position."""

    entries: Sequence[LogEntry]
    position: str
    """How far the log was read."""
    is_last: bool
    """Whether it was read to its present end."""
    state: LogState


@dataclass(frozen=True, slots=True)
class LogSummary:
    """Extent of the stored log of a run."""

    job_id: str
    run: str
    state: LogState
    lines: int
    first_ts: str
    last_ts: str


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Selection of lines; empty values select all."""

    level: str = ""
    """Least level."""
    service: str = ""

    def accepts(self, document: Mapping[str, Any]) -> bool:
        """Return whether an entry is selected, by its document."""
        if self.service and document.get("service") != self.service:
            return False
        return not self.level or level_rank(str(document.get("level", ""))) >= level_rank(self.level)


def level_rank(level: str) -> int:
    """Return the place of a level in their order; an unknown one is above all, so that it is shown."""
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def is_position(text: str) -> bool:
    """Return whether a text is a position."""
    return _POSITION.fullmatch(text) is not None and max(position_key(text)) <= _MAX_POSITION


def position_key(position: str) -> tuple[int, int]:
    """Return what positions are ordered by."""
    milliseconds, _, number = position.partition("-")
    return int(milliseconds), int(number or 0)


def line_fields(text: str) -> dict[str, Any]:
    """Return the fields of a line of JSON; empty where it is none."""
    try:
        fields = json.loads(text)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def entry_of_document(document: Mapping[str, Any]) -> LogEntry:
    """Return an entry from its document; raises ValueError where its position is none."""
    position = str(document.get(_ID, ""))
    if not is_position(position):
        raise ValueError(f"an entry of a log without a position: {position[:40]!r}")
    fields = {name: value for name, value in document.items() if name != _ID}
    names = ("job_id", "ts", "level", "event")
    job_id, ts, level, event = (str(fields.get(name, "")) for name in names)
    text = str(fields["text"]) if "text" in fields and "service" not in fields else json.dumps(fields)
    run = str(fields.get("execution_id", ""))
    return LogEntry(position, JobLogLine(job_id, ts, level, event, text, run))

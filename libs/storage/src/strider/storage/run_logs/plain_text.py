"""Lines of run logs as text for people. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from strider.runtime.terminal_text import escape_controls

from .models import LogEntry, line_fields

_COLUMNS: Final = ("ts", "level", "service", "event")
_OMITTED: Final = frozenset({*_COLUMNS, "job_id", "logger", "trace_id"})
_LABELS: Final = {"execution_id": "run execution_id"}
"""Field → its label, where that is not the word of the glossary alone."""


def entry_text(entry: LogEntry) -> str:
    """Return a line as text, without what a terminal would take for a command."""
    return line_text(entry.line.text)


def line_text(text: str, *, omitted: Collection[str] = ()) -> str:
    """Return a line of JSON as text: time, level, service, event, then the other fields by name."""
    fields = line_fields(text)
    if not fields:
        return escape_controls(text)  # a line that was too long, and truncated
    ts, level, service, event = (str(fields.get(name, "")) for name in _COLUMNS)
    rest = " ".join(
        f"{_LABELS.get(name, name)}={_value_text(value)}"
        for name, value in fields.items()
        if name not in _OMITTED and name not in omitted
    )
    line = f"{ts[:19].replace('T', ' ')}  {level:<7} {service:<14} {event:<16} {rest}".rstrip()
    return escape_controls(line)


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{count}" for name, count in value.items())
    return str(value)

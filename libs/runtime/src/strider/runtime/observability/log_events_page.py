"""Render docs/operations/log-events.md from the declared log events.

Sections are the `# --- name ---` comments of `log_events`, and one for the events of `strider.messaging`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Final

from strider.messaging import log_events as messaging

from . import log_events
from .log_events import LogEvent

_SECTION: Final = re.compile(r"# --- (.+) ---")
_CONSTANT: Final = re.compile(r"([A-Z][A-Z0-9_]*): Final = ")

_HEAD: Final = """# Log events

Every line that Strider writes to its log is one of these events: the text stands in the field `event`,
the details in further fields; a name in braces stands for the value of that field. Libraries that Strider
uses write lines of their own. Written by `make contracts` from `log_events.py` in `libs/messaging` and in
`libs/runtime` (`observability/`).
"""


def render_log_events() -> str:
    """Return the page: one table for each section that has events, ordered by the name of the section."""
    parts = [_HEAD]
    for section, events in sorted(sections().items()):
        rows = [f"| {event.text} | {event.level} | {event.meaning} |" for event in events.values()]
        parts.append(
            "\n".join((f"## {section}\n", "| event | level | meaning |", "|---|---|---|", *rows, ""))
        )
    return "\n".join(parts)


def sections() -> Mapping[str, Mapping[str, LogEvent]]:
    """Return the events by the section that declares them and the name of their constant."""
    found: dict[str, dict[str, LogEvent]] = {"messaging": messaging.declared_events()}
    section = ""
    for line in inspect.getsource(log_events).splitlines():
        if heading := _SECTION.fullmatch(line):
            section = heading[1]
        elif declared := _CONSTANT.match(line):
            found.setdefault(section, {})[declared[1]] = getattr(log_events, declared[1])
    return found

"""The page of log events: one table for each library and service that declares some."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

from strider.messaging.log_events import LogEvent

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "operations" / "log-events.md"

_HEAD: Final = """# Log events

Every line that Strider writes to its log is one of these events: the text stands in the field `event`,
the details in further fields; a name in braces stands for the value of that field. Libraries that Strider
uses write lines of their own. Events that several members write are under `runtime`. Written by
`make contracts` from the `log_events.py` of each library and service.
"""


def registries() -> dict[str, dict[str, LogEvent]]:
    """Return the events by the folder of the member that declares them and the name of their constant."""
    found: dict[str, dict[str, LogEvent]] = {}
    for kind in ("libs", "services", "cli", "examples"):
        for path in sorted((ROOT / kind).rglob("src/strider/**/log_events.py")):
            source = next(parent for parent in path.parents if parent.name == "src")
            module = import_module(".".join(path.relative_to(source).with_suffix("").parts))
            declared = {name: value for name, value in vars(module).items() if isinstance(value, LogEvent)}
            found.setdefault(source.parent.name, {}).update(declared)
    return found


def render() -> str:
    """Return the page, its tables ordered by the name of the member."""
    parts = [_HEAD]
    for member, events in sorted(registries().items()):
        rows = [f"| {event.text} | {event.level} | {event.meaning} |" for event in events.values()]
        parts.append("\n".join((f"## {member}\n", "| event | level | meaning |", "|---|---|---|", *rows, "")))
    return "\n".join(parts)

"""Parse lists of a source-manager, and events about its sources.

A source-manager has fields of its own, which are ignored; those that mean something here under another name
are translated. The list may be an array, `{"sources": […]}`, or the pages of this API, so that another
installation can be the source-manager.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from strider.crawl.sources.documents import FIELDS, RANGES

IMPORTED_FROM: Final = "imported_from"
"""Name in the metadata of sources that a source-manager has given."""

SOURCE_MANAGER: Final = "source-manager"

_LISTS: Final = ("items", "sources", "data")
_OTHER_NAMES: Final[Mapping[str, str]] = {
    "allowed_domains": "domains",
    "feed_url": "feed_urls",
    "sitemap_url": "sitemap_urls",
    "rate_limit": "delay_seconds",
}
"""Name of a field there → name here."""

_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)?\s*")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
_MILLISECONDS_FROM: Final = 10**11
"""A larger number is a time in milliseconds, a smaller one in seconds."""


MAX_EVENT_BYTES: Final = 64 * 1024
MAX_ID_CHARACTERS: Final = 200
MAX_AHEAD_MS: Final = 24 * 3_600_000
"""How far the clock of a sender may be ahead of ours."""


class InvalidListingError(ValueError):
    """The response of a source-manager, or an event, has no source."""


class EventFault(StrEnum):
    """Reason why an event changes nothing, as it is counted."""

    MALFORMED = "malformed"
    """It is no event about a source."""
    TOO_LARGE = "too_large"
    BAD_ID = "bad_id"
    BAD_TIME = "bad_time"
    BAD_SOURCE = "bad_source"
    """The source of the source-manager cannot be stored, or no job can follow from it."""
    FAILED = "failed"
    """Its handling failed; a fault of ours."""


class InvalidEventError(InvalidListingError):
    """An event that cannot be applied, with the reason by which it is counted."""

    def __init__(self, fault: EventFault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault


class SourceEventKind(StrEnum):
    """Kind of an event."""

    CREATED = "created"
    UPDATED = "updated"
    ENABLED = "enabled"
    DISABLED = "disabled"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """An event about a source."""

    kind: SourceEventKind
    source_id: str
    at_ms: int
    """When it happened, never later than now."""


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """A source as a source-manager has it, in our fields."""

    source_id: str
    document: Mapping[str, Any]


def read_list(body: bytes) -> tuple[list[Any], str]:
    """Return the items of a list, and the cursor of the next page; raises InvalidListingError."""
    value = _json(body)
    if isinstance(value, list):
        return value, ""
    if isinstance(value, dict):
        for name in _LISTS:
            if isinstance(items := value.get(name), list):
                following = value.get("next")
                return items, following if isinstance(following, str) else ""
    raise InvalidListingError(f"expected a list, or an object with one of {', '.join(_LISTS)}")


def read_source(body: bytes) -> ImportedSource:
    """Return one source; raises InvalidListingError."""
    value = _json(body)
    if isinstance(value, dict) and isinstance(inner := value.get("source"), dict):
        value = inner
    return remote_source(value)


def remote_source(item: Any) -> ImportedSource:
    """Return an item of a list in our fields; raises InvalidListingError."""
    if not isinstance(item, dict):
        raise InvalidListingError("a source is not an object")
    source_id = item.get("id", item.get("source_id"))
    if fault := _id_fault(source_id):
        raise InvalidListingError(f"a source has no id that can be used: {fault}")
    document = {name: item[name] for name in FIELDS if item.get(name) is not None}
    for other, name in _OTHER_NAMES.items():
        if name not in document and item.get(other) not in (None, ""):  # a list has no hash
            document[name] = item[other]
    if "rate_limit" in item and isinstance(document.get("delay_seconds"), str):
        document["delay_seconds"] = _seconds(document["delay_seconds"])
    if isinstance(depth := document.get("max_depth"), int) and not isinstance(depth, bool):
        least, most = RANGES["max_depth"]
        document["max_depth"] = most if depth < least else min(depth, most)
    metadata = document.get("metadata")
    document["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), IMPORTED_FROM: SOURCE_MANAGER}
    return ImportedSource(str(source_id).strip(), document)


def read_event(fields: Mapping[str, str], *, added_ms: int, now_ms: int) -> SourceEvent:
    """Return the event of a message: fields of its own, or one field with a JSON object.

    `added_ms` is when it was added to the stream, which stands for the time of an event that names none.
    Raises InvalidEventError.
    """
    size = sum(len(name) + len(text) for name, text in fields.items())
    if size > MAX_EVENT_BYTES:
        raise InvalidEventError(EventFault.TOO_LARGE, f"{size} characters, the limit is {MAX_EVENT_BYTES}")
    values = _event_values(fields)
    kind = str(values.get("event_type") or values.get("type") or "").lower().replace(".", "_")
    word = kind.removeprefix("source_").removeprefix("source-")
    if word not in set(SourceEventKind):
        detail = f"event_type is {kind[:60]!r}, expected SOURCE_ENABLED, SOURCE_DISABLED …"
        raise InvalidEventError(EventFault.MALFORMED, detail)
    source_id = values.get("source_id")
    if fault := _id_fault(source_id):
        raise InvalidEventError(EventFault.BAD_ID, f"source_id: {fault}")
    at_ms = _event_ms(values.get("timestamp"), added_ms)
    if not 0 <= at_ms <= now_ms + MAX_AHEAD_MS:
        detail = "timestamp: it is more than a day ahead, or before 1970; compare the clocks"
        raise InvalidEventError(EventFault.BAD_TIME, detail)
    return SourceEvent(SourceEventKind(word), str(source_id).strip(), min(at_ms, now_ms))


def _event_values(fields: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = dict(fields)
    for name in ("event", "data", "payload"):
        if (text := fields.get(name, "")).lstrip().startswith("{"):
            try:
                values |= _json(text.encode())
            except InvalidListingError as failure:
                raise InvalidEventError(EventFault.MALFORMED, f"{name}: {failure}") from failure
    return values


def _id_fault(source_id: Any) -> str:
    """Return why a value is no id of a source; empty where it is one."""
    if not isinstance(source_id, str | int) or isinstance(source_id, bool):
        return "it is missing" if source_id is None else "expected a text"
    text = str(source_id).strip() if isinstance(source_id, str) or abs(source_id) < 10**18 else ""
    if not text or len(text) > MAX_ID_CHARACTERS:
        return f"expected 1 to {MAX_ID_CHARACTERS} characters"
    if not text.isprintable() or text in {".", ".."}:  # half of a surrogate pair is not printable either
        return "it has a control character, or stands for a folder"
    return ""


def _event_ms(value: Any, added_ms: int) -> int:
    """Return when an event happened; raises InvalidEventError."""
    if value is None or value == "":
        return added_ms
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,15}", value):
        value = int(value)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return round(value if value > _MILLISECONDS_FROM else value * 1000)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is not None:
            return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        pass
    detail = f"timestamp: {str(value)[:60]!r} is no time; send ISO 8601, or seconds since 1970"
    raise InvalidEventError(EventFault.BAD_TIME, detail)


def _seconds(text: str) -> Any:
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _SECONDS[found[2] or ""] if found else text


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as failure:
        raise InvalidListingError(f"not JSON: {failure}") from failure

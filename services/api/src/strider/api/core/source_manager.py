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


class InvalidListingError(ValueError):
    """The response of a source-manager, or an event, has no source."""


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
    """When it happened; 0 where the event does not say."""


@dataclass(frozen=True, slots=True)
class RemoteSource:
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


def read_source(body: bytes) -> RemoteSource:
    """Return one source; raises InvalidListingError."""
    value = _json(body)
    if isinstance(value, dict) and isinstance(inner := value.get("source"), dict):
        value = inner
    return remote_source(value)


def remote_source(item: Any) -> RemoteSource:
    """Return an item of a list in our fields; raises InvalidListingError."""
    if not isinstance(item, dict):
        raise InvalidListingError("a source is not an object")
    source_id = item.get("id", item.get("source_id"))
    if not isinstance(source_id, str | int) or isinstance(source_id, bool) or not str(source_id).strip():
        raise InvalidListingError("a source has no id")
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
    return RemoteSource(str(source_id).strip(), document)


def read_event(fields: Mapping[str, str]) -> SourceEvent:
    """Return the event of a message: fields of its own, or one field with a JSON object.

    Raises InvalidListingError.
    """
    values: dict[str, Any] = dict(fields)
    for name in ("event", "data", "payload"):
        if (text := fields.get(name, "")).lstrip().startswith("{"):
            inner = _json(text.encode())
            values |= inner if isinstance(inner, dict) else {}
    kind = str(values.get("event_type") or values.get("type") or "").lower().replace(".", "_")
    word = kind.removeprefix("source_").removeprefix("source-")
    if word not in set(SourceEventKind):
        raise InvalidListingError(f"event_type is {kind[:60]!r}, expected SOURCE_ENABLED, SOURCE_DISABLED …")
    source_id = values.get("source_id")
    if not isinstance(source_id, str) or not source_id.strip():
        raise InvalidListingError("the event has no source_id")
    return SourceEvent(SourceEventKind(word), source_id.strip(), _event_ms(values.get("timestamp")))


def _event_ms(value: Any) -> int:
    if isinstance(value, str) and re.fullmatch(r"\d{1,15}", value):
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**15:
        return round(value if value > _MILLISECONDS_FROM else value * 1000)
    try:
        moment = datetime.fromisoformat(str(value))
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def _seconds(text: str) -> Any:
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _SECONDS[found[2] or ""] if found else text


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as failure:
        raise InvalidListingError(f"not JSON: {failure}") from failure

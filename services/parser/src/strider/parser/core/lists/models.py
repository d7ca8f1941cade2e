"""What a sitemap or a feed lists: the shape between those who read one and the event.

URLs are resolved; what is no URL that could be fetched is empty, and then no link. Everything is bounded: a
document may list as much as it likes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ExtractionLevel, RequestKind
from strider.urls import domain_of

MAX_ENTRIES: Final = 50_000
"""What the sitemap protocol allows in one file."""
MAX_TEXT_CHARS: Final = 1_000
MAX_DETAIL_BYTES: Final = 128 * 1024
NO_DETAILS: Final[dict[str, Any]] = {}
"""Of the tens of thousands of entries of which nothing more is said; nobody writes into it."""


@fast_dataclass(frozen=True, slots=True)
class ListEntry:
    """One thing that is listed."""

    url: str = ""
    title: str = ""
    lastmod_ms: int = -1
    changefreq: str = ""
    priority: float = -1.0
    details: dict[str, Any] = field(default_factory=dict)
    """What else is said of it, for records."""


@dataclass(frozen=True, slots=True)
class ListDocument:
    """All that one document lists."""

    title: str = ""
    description: str = ""
    language: str = ""
    url: str = ""
    """Of the page that a feed is about."""
    about: dict[str, Any] = field(default_factory=dict)
    """What else is said of the whole."""
    entries: Sequence[ListEntry] = ()
    found: int = 0
    """How many there were, with those beyond the limit."""
    is_index: bool = False


def list_fields(listing: ListDocument, *, url: str, format_name: str, with_records: bool) -> dict[str, Any]:
    """Write a listing as fields of the event."""
    linked = [entry for entry in listing.entries if entry.url]
    kept = linked if format_name == FEED else _same_site_entries(linked, url)
    has_titles = any(entry.title for entry in kept)
    has_frequencies = any(entry.changefreq for entry in kept)
    has_priorities = any(entry.priority >= 0 for entry in kept)
    return {
        "entry_urls": tuple(entry.url for entry in kept),
        "entry_lastmods_ms": tuple(entry.lastmod_ms for entry in kept),
        "entry_titles": tuple(entry.title for entry in kept) if has_titles else (),
        "entry_changefreqs": tuple(entry.changefreq for entry in kept) if has_frequencies else (),
        "entry_priorities": tuple(entry.priority for entry in kept) if has_priorities else (),
        "entry_kinds": (RequestKind.SITEMAP.value,) * len(kept) if listing.is_index else (),
        "links_found": listing.found,
        "links_dropped": listing.found - len(kept),
        **(_records(listing, format_name) if with_records else {}),
    }


FEED: Final = "feed"
SITEMAP: Final = "sitemap"


def _same_site_entries(entries: list[ListEntry], url: str) -> list[ListEntry]:
    """Leave out what is of other sites: a sitemap speaks for its own."""
    own = domain_of(url)
    if not own or own.endswith(".invalid"):
        return entries  # nobody said where it comes from
    homes: dict[str, bool] = {}
    kept = []
    for entry in entries:
        url = entry.url
        there = url[: url.find("/", 8)]
        if (is_home := homes.get(there)) is None:
            is_home = homes[there] = domain_of(url) == own
        if is_home:
            kept.append(entry)
    return kept


def _records(listing: ListDocument, format_name: str) -> dict[str, Any]:
    """Give everything that is said, as structured data; entries until there is no more room."""
    rows: list[dict[str, Any]] = []
    room = MAX_DETAIL_BYTES
    for entry in listing.entries:
        row = {
            name: value
            for name, value in (("url", entry.url), ("title", entry.title), *entry.details.items())
            if value
        }
        room -= len(str(row))
        if room < 0:
            break
        rows.append(row)
    told = [{"format": format_name, **listing.about, "entries": rows}]
    return {
        "structured_json": json.dumps(told, ensure_ascii=False),
        "structured_formats": (format_name,),
        "extraction": ExtractionLevel.RECORDS.value,
    }

"""What is an entry of a feed, of all that stands within it?

Takes what was read between its start and its end, whatever the format; the feed itself is such a part, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from strider.parser.core.html.metadata import resolve_url

from .feed_timestamps import format_iso_utc, timestamp_ms
from .models import ListEntry

_URL: Final = re.compile(r"https?://\S+$", re.IGNORECASE)


@dataclass(slots=True)
class FeedPart:
    """The feed, or one entry, while it is read."""

    base: str
    language: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    times: dict[str, datetime | None] = field(default_factory=dict)
    time_tags: dict[str, str] = field(default_factory=dict)
    """Which element named a moment first."""
    links: list[dict[str, str]] = field(default_factory=list)
    resolved_urls: set[str] = field(default_factory=set)
    """Of the links, those that are whole."""
    is_lasting: bool = True
    """Whether its id is its address."""


def entry_of(part: FeedPart, details: dict[str, Any]) -> ListEntry:
    """Give what is listed, with what was chosen to be told of it."""
    said = part.fields
    return ListEntry(
        url=choose_link(part),
        title=said.get("title") or said.get("title_other", ""),
        lastmod_ms=timestamp_ms(part.times.get("updated") or published_time(part)),
        details=details,
    )


def published_time(part: FeedPart) -> datetime | None:
    """Say when it came out, as far as it says that itself."""
    return part.times.get("published") or part.times.get("created")


def entry_details(part: FeedPart) -> dict[str, Any]:
    """Give all that is said of it beside address and title."""
    said = part.fields
    details = {
        "id": said.get("id", ""),
        "published_at": format_iso_utc(published_time(part)),
        "updated_at": format_iso_utc(part.times.get("updated")),
        "author": said.get("author", ""),
        "summary": said.get("summary") or said.get("summary_other") or said.get("content", ""),
        "comments": said.get("comments", ""),
        "links": part.links,
    }
    return {key: value for key, value in details.items() if value}


def choose_link(part: FeedPart) -> str:
    """Give the address of an entry or of what the feed is about."""
    links = sorted(part.links, key=_is_not_html)
    for rels in (("alternate",), ("", "related", "via")):
        for link in links:
            if link.get("rel", "alternate").removeprefix(_IANA_RELATION) in rels and (
                url := link["href"]
                if link["href"] in part.resolved_urls
                else resolve_url(link["href"], part.base)
            ):
                return url
    said = part.fields
    known = (said.get("id", "") if part.is_lasting else "", said.get("about", ""), said.get("origin", ""))
    return next((url for text in known if _URL.match(text) and (url := resolve_url(text, part.base))), "")


_IANA_RELATION: Final = "http://www.iana.org/assignments/relation/"


def _is_not_html(link: Mapping[str, str]) -> bool:
    """Say whether a link says that it leads to something else than a page."""
    kind = link.get("type", "")
    return "/" in kind and "html" not in kind

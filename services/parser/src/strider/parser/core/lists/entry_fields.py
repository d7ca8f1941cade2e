"""Build a feed entry from the fields that were read within it.

Independent of the feed format; the feed itself is represented in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from strider.parser.core.html.metadata import resolve_url

from .models import ListEntry
from .timestamps import format_iso_utc, timestamp_ms

_URL: Final = re.compile(r"https?://\S+$", re.IGNORECASE)


@dataclass(slots=True)
class FeedPart:
    """The feed or one entry while it is being read."""

    base: str
    language: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    times: dict[str, datetime | None] = field(default_factory=dict)
    time_tags: dict[str, str] = field(default_factory=dict)
    """The tag that set each time first."""
    links: list[dict[str, str]] = field(default_factory=list)
    resolved_urls: set[str] = field(default_factory=set)
    """Those URLs of links that are absolute."""
    is_id_permalink: bool = True
    """Whether the id is the URL of the entry."""


def build_entry(part: FeedPart, details: dict[str, Any]) -> ListEntry:
    """Return the entry with the given details."""
    fields = part.fields
    return ListEntry(
        url=choose_link(part),
        title=fields.get("title") or fields.get("title_other", ""),
        lastmod_ms=timestamp_ms(part.times.get("updated") or published_time(part)),
        details=details,
    )


def published_time(part: FeedPart) -> datetime | None:
    """Return the declared publication time."""
    return part.times.get("published") or part.times.get("created")


def entry_details(part: FeedPart) -> dict[str, Any]:
    """Return the fields of an entry besides URL and title."""
    fields = part.fields
    details = {
        "id": fields.get("id", ""),
        "published_at": format_iso_utc(published_time(part)),
        "updated_at": format_iso_utc(part.times.get("updated")),
        "author": fields.get("author", ""),
        "summary": fields.get("summary") or fields.get("summary_other") or fields.get("content", ""),
        "comments": fields.get("comments", ""),
        "links": part.links,
    }
    return {key: value for key, value in details.items() if value}


_IANA_RELATION: Final = "http://www.iana.org/assignments/relation/"


def choose_link(part: FeedPart) -> str:
    """Return the URL of an entry, or the site of a feed."""
    links = sorted(part.links, key=_is_not_html)
    for rels in (("alternate",), ("", "related", "via")):
        for link in links:
            if link.get("rel", "alternate").removeprefix(_IANA_RELATION) in rels and (
                url := link["href"]
                if link["href"] in part.resolved_urls
                else resolve_url(link["href"], part.base)
            ):
                return url
    fields = part.fields
    candidates = (
        fields.get("id", "") if part.is_id_permalink else "",
        fields.get("about", ""),
        fields.get("origin", ""),
    )
    return next(
        (url for text in candidates if _URL.match(text) and (url := resolve_url(text, part.base))), ""
    )


def _is_not_html(link: Mapping[str, str]) -> bool:
    """Whether a link declares a media type other than HTML."""
    kind = link.get("type", "")
    return "/" in kind and "html" not in kind

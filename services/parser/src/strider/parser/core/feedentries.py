"""What is an entry of a feed, of all that stands within it?

Takes what was read between its start and its end, whatever the format; the feed itself is such a part, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from .listings import Entry
from .metadata import resolve
from .moments import iso_of, ms_of

_URL: Final = re.compile(r"https?://\S+$", re.IGNORECASE)


@dataclass(slots=True)
class Part:
    """The feed, or one entry, while it is read."""

    base: str
    language: str = ""
    said: dict[str, str] = field(default_factory=dict)
    moments: dict[str, datetime | None] = field(default_factory=dict)
    said_by: dict[str, str] = field(default_factory=dict)
    """Which element named a moment first."""
    links: list[dict[str, str]] = field(default_factory=list)
    urls: set[str] = field(default_factory=set)
    """Of the links, those that are whole."""
    is_lasting: bool = True
    """Whether its id is its address."""


def entry_of(part: Part, details: dict[str, Any]) -> Entry:
    """Give what is listed, with what was chosen to be told of it."""
    said = part.said
    return Entry(
        url=choose_link(part),
        title=said.get("title") or said.get("title_other", ""),
        lastmod_ms=ms_of(part.moments.get("updated") or published(part)),
        details=details,
    )


def published(part: Part) -> datetime | None:
    """Say when it came out, as far as it says that itself."""
    return part.moments.get("published") or part.moments.get("created")


def details_of(part: Part) -> dict[str, Any]:
    """Give all that is said of it beside address and title."""
    said = part.said
    details = {
        "id": said.get("id", ""),
        "published_at": iso_of(published(part)),
        "updated_at": iso_of(part.moments.get("updated")),
        "author": said.get("author", ""),
        "summary": said.get("summary") or said.get("summary_other") or said.get("content", ""),
        "comments": said.get("comments", ""),
        "links": part.links,
    }
    return {key: value for key, value in details.items() if value}


def choose_link(part: Part) -> str:
    """Give the address of an entry or of what the feed is about."""
    links = sorted(part.links, key=_is_for_programs)
    for rels in (("alternate",), ("", "related", "via")):
        for link in links:
            if link.get("rel", "alternate").removeprefix(_REGISTERED) in rels and (
                url := link["href"] if link["href"] in part.urls else resolve(link["href"], part.base)
            ):
                return url
    said = part.said
    known = (said.get("id", "") if part.is_lasting else "", said.get("about", ""), said.get("origin", ""))
    return next((url for text in known if _URL.match(text) and (url := resolve(text, part.base))), "")


_REGISTERED: Final = "http://www.iana.org/assignments/relation/"


def _is_for_programs(link: Mapping[str, str]) -> bool:
    """Say whether a link says that it leads to something else than a page."""
    kind = link.get("type", "")
    return "/" in kind and "html" not in kind

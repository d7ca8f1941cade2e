"""Priority of a URL: one number, from 3 (high) to 0 (discovery).

    further page of a list, archive, deep   ──▶ low
    home page, few links from a seed        ──▶ high
    anything else                           ──▶ medium
    crawl for discovery                     ──▶ discovery

A crawl spec that gives its links more than the lowest priority raises all of them. Seeds keep their given
priority, and redirect targets inherit it. Judges a URL by its text alone: its page is not fetched yet.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from strider.contracts.generated.enums import LinkVia
from strider.scheduler.core.entries.candidates import Candidate


class UrlPriority(IntEnum):
    """The one internal scale."""

    DISCOVERY = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


SHALLOW_DEPTH: Final = 2
"""URLs of at most this depth have high priority."""
DEEP_DEPTH: Final = 5
"""URLs deeper than this have low priority."""

_LIST_URL: Final = re.compile(
    r"[?&](?:page|p|pg|paged|offset|start)=\d"
    r"|/(?:page|seite)[/-]?\d"
    r"|/(?:archive|archives|tag|tags|author)(?:/|$)"
    r"|/(?:19|20)\d\d(?:/(?:0?[1-9]|1[0-2]))?/?$"
)
"""Further pages of lists, and archives: a path that ends with a year or a month is one."""

_VIAS_WITH_GIVEN_PRIORITY: Final = frozenset({LinkVia.SEED, LinkVia.REDIRECT})
_LIST_VIAS: Final = frozenset({LinkVia.PAGINATION, LinkVia.ARCHIVE})


def priority_of(candidate: Candidate) -> int:
    """Return the priority of a candidate; its own is that of its seed, or of its spec's links."""
    via = candidate.origin.via
    wanted = min(max(candidate.priority, UrlPriority.DISCOVERY), UrlPriority.HIGH)
    if via in _VIAS_WITH_GIVEN_PRIORITY or wanted == UrlPriority.DISCOVERY:
        return wanted
    lift = wanted - UrlPriority.LOW
    return min(_priority_by_shape(candidate.url, candidate.depth, via) + lift, UrlPriority.HIGH)


def _priority_by_shape(url: str, depth: int, via: str) -> UrlPriority:
    parts = url.split("/", 3)
    path = parts[3] if len(parts) > 3 else ""  # noqa: PLR2004  # scheme, nothing, host, path
    if not path:
        return UrlPriority.HIGH
    if depth > DEEP_DEPTH or via in _LIST_VIAS or _LIST_URL.search(f"/{path}"):
        return UrlPriority.LOW
    return UrlPriority.HIGH if depth <= SHALLOW_DEPTH else UrlPriority.MEDIUM

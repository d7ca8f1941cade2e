"""How urgent is a link? One number, 3 high to 0 discovery; whoever counts otherwise maps it at the edge.

    a list's further page, an archive, deep   ──▶ low
    a home page, few links from a seed        ──▶ high
    anything else                             ──▶ medium
    a crawl for discovery                     ──▶ discovery, whatever it is

A crawl spec that gives its links more than the lowest priority lifts them all. Seeds keep what they were
given, and what they redirect to inherits it. Knows a URL by its looks alone: what is behind it is not
fetched yet.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from strider.contracts.generated.enums import LinkVia

from .candidates import Candidate


class Priority(IntEnum):
    """The one internal scale."""

    DISCOVERY = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


SHALLOW_DEPTH: Final = 2
"""So few links from a seed, a page is worth most."""
DEEP_DEPTH: Final = 5
"""More links from a seed than that, it is worth least."""

_LISTED: Final = re.compile(
    r"[?&](?:page|p|pg|paged|offset|start)=\d"
    r"|/(?:page|seite)[/-]?\d"
    r"|/(?:archive|archives|tag|tags|author)(?:/|$)"
    r"|/(?:19|20)\d\d(?:/(?:0?[1-9]|1[0-2]))?/?$"
)
"""Further pages of lists, and archives: a year or a month at the end of a path names one."""

_OWN_WORD: Final = frozenset({LinkVia.SEED, LinkVia.REDIRECT})
_LISTING: Final = frozenset({LinkVia.PAGINATION, LinkVia.ARCHIVE})


def priority_of(candidate: Candidate) -> int:
    """Say how urgent a candidate is; its own priority is that of its seed, or of its crawl spec's links."""
    via = candidate.origin.via
    wanted = min(max(candidate.priority, Priority.DISCOVERY), Priority.HIGH)
    if via in _OWN_WORD or wanted == Priority.DISCOVERY:
        return wanted
    lift = wanted - Priority.LOW
    return min(_looks(candidate.url, candidate.depth, via) + lift, Priority.HIGH)


def _looks(url: str, depth: int, via: str) -> Priority:
    rest = url.split("/", 3)
    path = rest[3] if len(rest) > 3 else ""  # noqa: PLR2004  # scheme, nothing, host, path
    if not path:
        return Priority.HIGH
    if depth > DEEP_DEPTH or via in _LISTING or _LISTED.search(f"/{path}"):
        return Priority.LOW
    return Priority.HIGH if depth <= SHALLOW_DEPTH else Priority.MEDIUM

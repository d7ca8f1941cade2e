"""Guess the feed URLs of a site whose pages do not declare any.

Candidates are links that look like feeds, and the usual paths of common site software. A fetch has to confirm
them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from strider.urls import host_of, origin_of

COMMON_PATHS: Final = (
    *("/feed", "/feed.xml", "/rss", "/rss.xml", "/atom.xml", "/index.xml", "/feed.json", "/blog/feed"),
    *("/blog/rss.xml", "/feeds/posts/default"),
)
MAX_LINKED_FEEDS: Final = 20
PLACEHOLDER_TLD: Final = ".invalid"
"""Top-level domain of pages of unknown origin."""

_FEED_URL: Final = re.compile(
    r"^\S+?(?:/(?:feeds?|rss2?|atom)/?|/(?:feed|rss|rss2|atom|index)\.xml|/feed\.json|\.(?:rss|atom|rdf)"
    r"|[?&]feed=(?:rss2?|atom|rdf))$",
    re.IGNORECASE | re.MULTILINE,
)
_COMMENTS_PATH: Final = "/comments/"
_FEED_MARKERS: Final = ("feed", "rss", "atom", "index.xml", "rdf")


def find_linked_feeds(urls: Sequence[str]) -> tuple[str, ...]:
    """Return the links that look like feeds, except feeds of comments."""
    lines = "\n".join(urls)
    lower = lines.lower()
    if not any(word in lower for word in _FEED_MARKERS):
        return ()
    found = (match[0] for match in _FEED_URL.finditer(lines))
    return tuple(url for url in found if _COMMENTS_PATH not in url)[:MAX_LINKED_FEEDS]


def looks_like_feed_url(url: str) -> bool:
    """Whether a URL looks like a feed."""
    return _FEED_URL.fullmatch(url) is not None


def common_feed_urls(url: str) -> tuple[str, ...]:
    """Return the usual feed URLs of a site; empty for a page of unknown origin."""
    if not url.startswith(("http://", "https://")) or host_of(url).endswith(PLACEHOLDER_TLD):
        return ()
    site = origin_of(url)
    return tuple(f"{site}{path}" for path in COMMON_PATHS)

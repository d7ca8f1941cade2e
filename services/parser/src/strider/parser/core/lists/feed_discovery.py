"""Where may a site have its feeds, if its pages do not say so?

First at the addresses that they link to and that are called like feeds; then at those where most programs
that run sites put them. These are candidates: only a look tells.
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
NOWHERE: Final = ".invalid"
"""The hosts of pages of which nobody said where they come from."""

_FEED_URL: Final = re.compile(
    r"^\S+?(?:/(?:feeds?|rss2?|atom)/?|/(?:feed|rss|rss2|atom|index)\.xml|/feed\.json|\.(?:rss|atom|rdf)"
    r"|[?&]feed=(?:rss2?|atom|rdf))$",
    re.IGNORECASE | re.MULTILINE,
)
_COMMENTS_PATH: Final = "/comments/"
_WORDS: Final = ("feed", "rss", "atom", "index.xml", "rdf")


def find_linked_feeds(urls: Sequence[str]) -> tuple[str, ...]:
    """Find the links that are called like feeds; those of remarks are nobody's news."""
    lines = "\n".join(urls)
    lower = lines.lower()
    if not any(word in lower for word in _WORDS):
        return ()
    found = (match[0] for match in _FEED_URL.finditer(lines))
    return tuple(url for url in found if _COMMENTS_PATH not in url)[:MAX_LINKED_FEEDS]


def looks_like_feed_url(url: str) -> bool:
    """Say whether an address is called like a feed."""
    return _FEED_URL.fullmatch(url) is not None


def common_feed_urls(url: str) -> tuple[str, ...]:
    """Give the addresses of a site where feeds mostly are; nothing for what is of no site."""
    if not url.startswith(("http://", "https://")) or host_of(url).endswith(NOWHERE):
        return ()
    home = origin_of(url)
    return tuple(f"{home}{path}" for path in COMMON_PATHS)

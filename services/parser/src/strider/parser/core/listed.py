"""What does a document say that lists others: a sitemap, an index, a feed?

Chooses who reads it and writes the fields of the event; they meet here so that the reading of one page
stays a line.
"""

from __future__ import annotations

from typing import Any, Final

from strider.contracts.generated.words import DocumentKind, RequestKind

from .feeds import read_feed
from .jsonfeeds import read_json_feed
from .listings import FEED, MAX_TEXT_CHARS, SITEMAP, Listing, of_listing
from .sitemaps import is_list_of_urls, read_lines, read_sitemap

_SITEMAPS: Final = frozenset({DocumentKind.SITEMAP, DocumentKind.SITEMAP_INDEX})


def of_listed(
    text: str, url: str, *, document_kind: str, expected: str, with_records: bool
) -> dict[str, Any]:
    """Write what a text lists; nothing for a document that is no list. `expected` is a request kind."""
    if document_kind == DocumentKind.FEED:
        return _of_feed(text, url, with_records=with_records)
    if document_kind in _SITEMAPS:
        listing = read_sitemap(text, url, with_details=with_records)
    elif document_kind == DocumentKind.TEXT and (expected == RequestKind.SITEMAP or is_list_of_urls(text)):
        listing = read_lines(text, url)
    else:
        return {}
    kind = DocumentKind.SITEMAP_INDEX if listing.is_index else DocumentKind.SITEMAP
    fields = of_listing(listing, url=url, format_name=SITEMAP, with_records=with_records)
    return {**fields, "document_kind": kind.value}


def _of_feed(text: str, url: str, *, with_records: bool) -> dict[str, Any]:
    listing: Listing
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        listing = read_json_feed(text, url)
    else:
        listing = read_feed(text, url)
    fields = of_listing(listing, url=url, format_name=FEED, with_records=with_records)
    if listing.title:
        fields |= {"title": listing.title[:MAX_TEXT_CHARS], "title_source": FEED}
    if listing.language:
        fields |= {"language": listing.language, "language_confidence": 0.8}
    return {**fields, "description": listing.description[:MAX_TEXT_CHARS]}

"""What does a document say that lists others: a sitemap, an index, a feed?

Chooses who reads it and writes the fields of the event; they meet here so that the reading of one page
stays a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from strider.contracts.generated.enums import DocumentKind, RequestKind

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
    is_list = document_kind == DocumentKind.TEXT and is_list_of_urls(text)
    if not is_list and not is_list_of_site(document_kind, expected):
        return {}
    return of_sitemap([text], url, document_kind=document_kind, with_records=with_records)


def is_list_of_site(document_kind: str, expected: str) -> bool:
    """Say whether a document lists what a site has; `expected` is a request kind."""
    return document_kind in _SITEMAPS or (
        document_kind == DocumentKind.TEXT and expected == RequestKind.SITEMAP
    )


def of_sitemap(texts: Iterable[str], url: str, *, document_kind: str, with_records: bool) -> dict[str, Any]:
    """Write what a sitemap lists, which comes in pieces."""
    if document_kind == DocumentKind.TEXT:
        listing = read_lines(texts, url)
    else:
        listing = read_sitemap(texts, url, with_details=with_records)
    kind = DocumentKind.SITEMAP_INDEX if listing.is_index else DocumentKind.SITEMAP
    fields = of_listing(listing, url=url, format_name=SITEMAP, with_records=with_records)
    return {**fields, "document_kind": kind.value}


def _of_feed(text: str, url: str, *, with_records: bool) -> dict[str, Any]:
    listing: Listing
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        listing = read_json_feed(text, url, with_details=with_records)
    else:
        listing = read_feed(text, url, with_details=with_records)
    fields = of_listing(listing, url=url, format_name=FEED, with_records=with_records)
    if listing.title:
        fields |= {"title": listing.title[:MAX_TEXT_CHARS], "title_source": FEED}
    if listing.language:
        fields |= {"language": listing.language, "language_confidence": 0.8}
    return {**fields, "description": listing.description[:MAX_TEXT_CHARS]}

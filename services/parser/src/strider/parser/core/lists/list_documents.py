"""What does a document say that lists others: a sitemap, an index, a feed?

Chooses who reads it and writes the fields of the event; they meet here so that the reading of one page
stays a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from strider.contracts.generated.enums import DocumentKind, RequestKind

from .feed import parse_feed
from .json_feed import parse_json_feed
from .models import FEED, MAX_TEXT_CHARS, SITEMAP, ListDocument, list_fields
from .sitemap import is_url_list, parse_sitemap, parse_url_list

_SITEMAPS: Final = frozenset({DocumentKind.SITEMAP, DocumentKind.SITEMAP_INDEX})


def parse_list_document(
    text: str, url: str, *, document_kind: str, request_kind: str, with_records: bool
) -> dict[str, Any]:
    """Write what a text lists; nothing for a document that is no list. `expected` is a request kind."""
    if document_kind == DocumentKind.FEED:
        return _feed_fields(text, url, with_records=with_records)
    is_list = document_kind == DocumentKind.TEXT and is_url_list(text)
    if not is_list and not is_sitemap_document(document_kind, request_kind):
        return {}
    return sitemap_fields([text], url, document_kind=document_kind, with_records=with_records)


def is_sitemap_document(document_kind: str, request_kind: str) -> bool:
    """Say whether a document lists what a site has; `expected` is a request kind."""
    return document_kind in _SITEMAPS or (
        document_kind == DocumentKind.TEXT and request_kind == RequestKind.SITEMAP
    )


def sitemap_fields(
    texts: Iterable[str], url: str, *, document_kind: str, with_records: bool
) -> dict[str, Any]:
    """Write what a sitemap lists, which comes in pieces."""
    if document_kind == DocumentKind.TEXT:
        listing = parse_url_list(texts, url)
    else:
        listing = parse_sitemap(texts, url, with_details=with_records)
    kind = DocumentKind.SITEMAP_INDEX if listing.is_index else DocumentKind.SITEMAP
    fields = list_fields(listing, url=url, format_name=SITEMAP, with_records=with_records)
    return {**fields, "document_kind": kind.value}


def _feed_fields(text: str, url: str, *, with_records: bool) -> dict[str, Any]:
    listing: ListDocument
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        listing = parse_json_feed(text, url, with_details=with_records)
    else:
        listing = parse_feed(text, url, with_details=with_records)
    fields = list_fields(listing, url=url, format_name=FEED, with_records=with_records)
    if listing.title:
        fields |= {"title": listing.title[:MAX_TEXT_CHARS], "title_source": FEED}
    if listing.language:
        fields |= {"language": listing.language, "language_confidence": 0.8}
    return {**fields, "description": listing.description[:MAX_TEXT_CHARS]}

"""Parse a document that lists URLs (sitemap, index, feed) into event fields.

Chooses the parser by the kind of the document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from strider.contracts.generated.enums import DocumentKind, ExtractionLevel, RequestKind
from strider.urls import domain_of

from .feed import parse_feed
from .json_feed import parse_json_feed
from .models import MAX_DETAIL_BYTES, MAX_TEXT_CHARS, ListDocument, ListEntry
from .sitemap import is_url_list, parse_sitemap, parse_url_list

_SITEMAPS: Final = frozenset({DocumentKind.SITEMAP, DocumentKind.SITEMAP_INDEX})


def parse_list_document(
    text: str, url: str, *, document_kind: str, request_kind: str, with_records: bool
) -> dict[str, Any]:
    """Return the fields of a list; empty for other documents."""
    if document_kind == DocumentKind.FEED:
        return _feed_fields(text, url, with_records=with_records)
    is_list = document_kind == DocumentKind.TEXT and is_url_list(text)
    if not is_list and not is_sitemap_document(document_kind, request_kind):
        return {}
    return sitemap_fields([text], url, document_kind=document_kind, with_records=with_records)


def is_sitemap_document(document_kind: str, request_kind: str) -> bool:
    """Whether a document is a sitemap or a URL list that was requested as one."""
    return document_kind in _SITEMAPS or (
        document_kind == DocumentKind.TEXT and request_kind == RequestKind.SITEMAP
    )


SITEMAP: Final = "sitemap"


def sitemap_fields(
    texts: Iterable[str], url: str, *, document_kind: str, with_records: bool
) -> dict[str, Any]:
    """Return the fields of a sitemap, which may arrive in chunks."""
    if document_kind == DocumentKind.TEXT:
        listing = parse_url_list(texts, url)
    else:
        listing = parse_sitemap(texts, url, with_details=with_records)
    kind = DocumentKind.SITEMAP_INDEX if listing.is_index else DocumentKind.SITEMAP
    fields = list_fields(listing, url=url, format_name=SITEMAP, with_records=with_records)
    return {**fields, "document_kind": kind.value}


FEED: Final = "feed"


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


def list_fields(document: ListDocument, *, url: str, format_name: str, with_records: bool) -> dict[str, Any]:
    """Return the entries of a list as event fields."""
    linked = [entry for entry in document.entries if entry.url]
    kept = linked if format_name == FEED else _same_site_entries(linked, url)
    has_titles = any(entry.title for entry in kept)
    has_frequencies = any(entry.changefreq for entry in kept)
    has_priorities = any(entry.priority >= 0 for entry in kept)
    return {
        "entry_urls": tuple(entry.url for entry in kept),
        "entry_lastmods_ms": tuple(entry.lastmod_ms for entry in kept),
        "entry_titles": tuple(entry.title for entry in kept) if has_titles else (),
        "entry_changefreqs": tuple(entry.changefreq for entry in kept) if has_frequencies else (),
        "entry_priorities": tuple(entry.priority for entry in kept) if has_priorities else (),
        "entry_kinds": (RequestKind.SITEMAP.value,) * len(kept) if document.is_index else (),
        "links_found": document.found,
        "links_dropped": document.found - len(kept),
        **(_record_fields(document, format_name) if with_records else {}),
    }


def _same_site_entries(entries: list[ListEntry], url: str) -> list[ListEntry]:
    """Drop entries of other sites: a sitemap is valid for its own site only."""
    own = domain_of(url)
    if not own or own.endswith(".invalid"):
        return entries  # The origin of the document is unknown.
    is_own_site: dict[str, bool] = {}
    kept = []
    for entry in entries:
        url = entry.url
        site = url[: url.find("/", 8)]
        if (is_own := is_own_site.get(site)) is None:
            is_own = is_own_site[site] = domain_of(url) == own
        if is_own:
            kept.append(entry)
    return kept


def _record_fields(document: ListDocument, format_name: str) -> dict[str, Any]:
    """Return all fields as structured data; entries up to a size limit."""
    rows: list[dict[str, Any]] = []
    remaining = MAX_DETAIL_BYTES
    for entry in document.entries:
        row = {
            name: value
            for name, value in (("url", entry.url), ("title", entry.title), *entry.details.items())
            if value
        }
        remaining -= len(str(row))
        if remaining < 0:
            break
        rows.append(row)
    records = [{"format": format_name, **document.about, "entries": rows}]
    return {
        "structured_json": json.dumps(records, ensure_ascii=False),
        "structured_formats": (format_name,),
        "extraction": ExtractionLevel.RECORDS.value,
    }

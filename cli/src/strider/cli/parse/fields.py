"""Fields of a parsed page, as `strider parse` prints them. Pure.

Names and types are stable: scripts rely on them (docs/parse.md lists them). A field is always present, empty
where the page has no value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from strider.contracts.generated.enums import DocumentKind, ParseOutcome
from strider.contracts.generated.events import PageParsed
from strider.parser.core.lists.feed_discovery import common_feed_urls

PARSED_OUTCOMES: Final = frozenset({ParseOutcome.PARSED, ParseOutcome.PARTLY_PARSED})

FAILED: Final = "failed"
"""Outcome without a page: a missing file, an invalid line, a URL that could not be fetched."""

REL_FLAGS: Final = {
    1: "nofollow",
    2: "ugc",
    4: "sponsored",
    8: "noopener",
    16: "next",
    32: "prev",
    64: "frame",
}
REGIONS: Final = ("elsewhere", "main", "navigation", "header", "footer", "aside")

_KINDS: Final[dict[str, str]] = {
    DocumentKind.FEED: "feed",
    DocumentKind.SITEMAP: "sitemap",
    DocumentKind.SITEMAP_INDEX: "sitemap_index",
}
_LISTS: Final = frozenset({"feed", "sitemap"})

_FETCH_FIELDS: Final = frozenset(
    [
        *("url_key", "origin", "group", "job_id", "execution_id", "crawl_spec_id", "fetch_sequence", "kind"),
        *("hop", "depth", "priority", "is_start", "referrer", "redirect_chain", "metadata", "status"),
        *("fetched_at_ms", "total_us", "content_language", "etag", "last_modified", "not_modified"),
        *("body_bytes", "body_object", "rendered", "texts_object", "part", "is_last_part"),
    ]
)
"""Fields about the run, the request and the transport of the event."""

_RESHAPED_FIELDS: Final = frozenset(
    [
        *("page_kind", "page_kind_confidence", "simhash", "products", "structured_json", "records_json"),
        *("link_urls", "link_keys", "link_anchors", "link_rels", "link_regions", "image_urls", "image_alts"),
        *("feed_urls", "alternate_urls", "alternate_languages", "alternate_types"),
        *("next_url", "previous_url", "page_urls", "pagination_style", "pagination_pattern"),
        *("pagination_number", "pagination_last", "entry_urls", "entry_lastmods_ms", "entry_titles"),
        *("entry_changefreqs", "entry_priorities", "entry_kinds"),
    ]
)
"""Fields that are printed in another form."""

_COUNTED_FIELDS: Final = frozenset(
    {"paragraph_count", "script_count", "form_count", "password_fields", "noscript_text"}
)
"""Fields that only the validator uses."""

_COPIED_FIELDS: Final = tuple(
    each.name
    for each in fields(PageParsed)
    if each.name not in _FETCH_FIELDS | _RESHAPED_FIELDS | _COUNTED_FIELDS
)
"""All other fields of the event, so that a new one is printed without a change here."""


def page_fields(event: PageParsed, texts: bytes = b"") -> dict[str, Any]:
    """Return all fields of a page; `texts` are those that were too long for the event."""
    known = event.to_record()
    structured = json.loads(event.structured_json) if event.structured_json else []
    if texts:
        known = {**known, **json.loads(texts)}
    return {
        **{name: known[name] for name in _COPIED_FIELDS},
        "kind": _KINDS.get(event.document_kind, event.page_kind),
        "kind_confidence": event.page_kind_confidence,
        "simhash": f"{event.simhash & 0xFFFF_FFFF_FFFF_FFFF:016x}",
        "pagination": _pagination(event),
        "links": _links(event),
        "alternates": _rows(
            url=event.alternate_urls, language=event.alternate_languages, type=event.alternate_types
        ),
        "feeds": list(event.feed_urls),
        "feed_candidates": list(common_feed_urls(event.url)) if _may_guess_feeds(event) else [],
        "images": _rows(url=event.image_urls, alt=event.image_alts),
        "entries": _entries(event, structured),
        "products": known["products"],
        "structured": structured,
        "records": json.loads(event.records_json) if event.records_json else None,
    }


def _may_guess_feeds(event: PageParsed) -> bool:
    """Whether it is an HTML page that was parsed and names no feed."""
    return (
        event.outcome in PARSED_OUTCOMES and event.document_kind == DocumentKind.HTML and not event.feed_urls
    )


def failed_fields(message: str, url: str = "") -> dict[str, Any]:
    """Return the fields of a page that could not be parsed at all."""
    nothing = PageParsed(
        url=url,
        url_key="",
        origin="",
        group="",
        job_id="",
        execution_id="",
        crawl_spec_id="",
        fetch_sequence=0,
        outcome=FAILED,
        parser="",
        parser_version="",
        fetched_at_ms=0,
        error_class="input",
        error_message=message,
    )
    return page_fields(nothing)


def is_parsed(page: Mapping[str, Any]) -> bool:
    """Whether a page could be parsed."""
    return page["outcome"] in PARSED_OUTCOMES


def page_text(page: Mapping[str, Any]) -> str:
    """Return the most important fields as lines for people."""
    if not is_parsed(page):
        return f"{page['outcome']}: {page['error_message'] or page['error_class'] or 'nothing to parse'}"
    pagination = page["pagination"]
    rows = (
        ("title", page["title"]),
        ("kind", f"{page['kind']} ({page['kind_confidence']:.2f})"),
        ("language", page["language"]),
        ("author", page["author"]),
        ("published", page["published_at"]),
        ("description", page["description"]),
        ("canonical", page["canonical_url"]),
        ("next page", pagination["next"]),
        ("links", f"{page['links_found']} ({page['links_dropped']} dropped)"),
        ("feeds", " ".join(page["feeds"])),
        ("text hash", page["text_hash"]),
        ("simhash", page["simhash"]),
    )
    head = "\n".join(f"{name:<12}{value}" for name, value in rows if value)
    if page["entries"]:
        return f"{head}\n\n" + "\n".join(f"{row['url']}  {row.get('title', '')}" for row in page["entries"])
    return f"{head}\n\n{page['markdown'] or page['main_text'] or page['text']}"


def _pagination(event: PageParsed) -> dict[str, Any]:
    return {
        "next": event.next_url,
        "prev": event.previous_url,
        "pages": list(event.page_urls),
        "style": event.pagination_style,
        "pattern": event.pagination_pattern,
        "number": event.pagination_number,
        "last": event.pagination_last,
    }


def _links(event: PageParsed) -> list[dict[str, Any]]:
    columns = (event.link_urls, event.link_anchors, event.link_rels, event.link_regions)
    return [
        {
            "url": url,
            "anchor": anchor,
            "rel": [word for flag, word in REL_FLAGS.items() if rel & flag],
            "region": REGIONS[region],
        }
        for url, anchor, rel, region in zip(*columns, strict=True)
    ]


def _entries(event: PageParsed, structured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of a sitemap or feed; a column is empty where no entry has it."""
    count = len(event.entry_urls)
    columns = {
        "lastmod_ms": event.entry_lastmods_ms,
        "title": event.entry_titles,
        "changefreq": event.entry_changefreqs,
        "priority": event.entry_priorities,
        "kind": event.entry_kinds,
    }
    full = {name: column for name, column in columns.items() if len(column) == count}
    rows = _rows(url=event.entry_urls, **full)
    structured_entries: list[dict[str, Any]] = next(
        (item["entries"] for item in structured if item["format"] in _LISTS), []
    )
    return _merge_entries(rows, structured_entries)


def _merge_entries(rows: list[dict[str, Any]], structured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the structured fields of each entry; entries without a URL count too."""
    merged, at = [], 0
    for entry in structured:
        own = rows[at] if at < len(rows) and rows[at]["url"] == entry.get("url") else {}
        at += bool(own)
        if own or not entry.get("url"):
            merged.append({"url": "", "title": "", **own, **entry})
    return [*merged, *rows[at:]]


def _rows(**columns: Any) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

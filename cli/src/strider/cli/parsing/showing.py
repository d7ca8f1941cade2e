"""What is told of a page: the fields of `strider parse`. Pure.

Names and shapes are a promise to people's scripts; `docs/parse.md` lists them. A field is always
there, empty where the page says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from strider.contracts.generated.enums import DocumentKind, ParseOutcome
from strider.contracts.generated.events import PageParsed
from strider.parser.core.lists.feed_discovery import common_feed_urls

READ: Final = frozenset({ParseOutcome.PARSED, ParseOutcome.PARTLY_PARSED})

FAILED: Final = "failed"
"""The outcome of what is no page at all: a missing file, a broken line, a site that gave nothing."""

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

_AS_THEY_ARE: Final = (
    *("url", "outcome", "error_class", "error_message", "document_kind", "content_type", "charset"),
    *("charset_evidence", "truncated", "extraction", "parser", "parser_version", "parse_us", "decoded_bytes"),
    *("title", "title_source", "description", "author", "published_at", "published_evidence", "modified_at"),
    *("modified_evidence", "language", "language_confidence", "site_name", "image_url", "keywords"),
    *("base_url", "canonical_url", "refresh_url", "refresh_seconds", "open_graph", "twitter", "meta"),
    *("robots_directives", "noindex", "nofollow", "noarchive", "text", "main_text", "markdown"),
    *("word_count", "text_chars", "main_text_chars", "raw_hash", "text_hash", "no_results"),
    *("links_found", "links_dropped", "structured_formats", "structured_types", "structured_errors"),
)


def told_of(event: PageParsed, texts: bytes = b"") -> dict[str, Any]:
    """Give everything that the parser sees; `texts` are those that were too long to travel."""
    known = event.to_record()
    structured = json.loads(event.structured_json) if event.structured_json else []
    if texts:
        known = {**known, **json.loads(texts)}
    return {
        **{name: known[name] for name in _AS_THEY_ARE},
        "kind": _KINDS.get(event.document_kind, event.page_kind),
        "kind_confidence": event.page_kind_confidence,
        "simhash": f"{event.simhash & 0xFFFF_FFFF_FFFF_FFFF:016x}",
        "pagination": _pagination(event),
        "links": _links(event),
        "alternates": _rows(
            url=event.alternate_urls, language=event.alternate_languages, type=event.alternate_types
        ),
        "feeds": list(event.feed_urls),
        "feed_candidates": list(common_feed_urls(event.url)) if _may_have_feeds(event) else [],
        "images": _rows(url=event.image_urls, alt=event.image_alts),
        "entries": _entries(event, structured),
        "products": known["products"],
        "structured": structured,
        "records": json.loads(event.records_json) if event.records_json else None,
    }


def _may_have_feeds(event: PageParsed) -> bool:
    """Whether it is a page that could be read, and that names no feed."""
    return event.outcome in READ and event.document_kind == DocumentKind.HTML and not event.feed_urls


def failed(message: str, url: str = "") -> dict[str, Any]:
    """Say of a page that it was not even there to be read."""
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
    return told_of(nothing)


def is_read(told: Mapping[str, Any]) -> bool:
    """Whether a page could be read."""
    return told["outcome"] in READ


def as_text(told: Mapping[str, Any]) -> str:
    """Write the most important fields for people."""
    if not is_read(told):
        return f"{told['outcome']}: {told['error_message'] or told['error_class'] or 'nothing to read'}"
    pagination = told["pagination"]
    rows = (
        ("title", told["title"]),
        ("kind", f"{told['kind']} ({told['kind_confidence']:.2f})"),
        ("language", told["language"]),
        ("author", told["author"]),
        ("published", told["published_at"]),
        ("description", told["description"]),
        ("canonical", told["canonical_url"]),
        ("next page", pagination["next"]),
        ("links", f"{told['links_found']} ({told['links_dropped']} dropped)"),
        ("feeds", " ".join(told["feeds"])),
        ("text hash", told["text_hash"]),
        ("simhash", told["simhash"]),
    )
    head = "\n".join(f"{name:<12}{value}" for name, value in rows if value)
    if told["entries"]:
        return f"{head}\n\n" + "\n".join(f"{row['url']}  {row.get('title', '')}" for row in told["entries"])
    return f"{head}\n\n{told['markdown'] or told['main_text'] or told['text']}"


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
    """Give what a sitemap or feed lists; a column may be empty where no entry has it."""
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
    told: list[dict[str, Any]] = next(
        (item["entries"] for item in structured if item["format"] in _LISTS), []
    )
    return _merged(rows, told)


def _merged(rows: list[dict[str, Any]], told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add what is told of each entry besides; those that lead nowhere are entries too."""
    merged, at = [], 0
    for entry in told:
        own = rows[at] if at < len(rows) and rows[at]["url"] == entry.get("url") else {}
        at += bool(own)
        if own or not entry.get("url"):
            merged.append({"url": "", "title": "", **own, **entry})
    return [*merged, *rows[at:]]


def _rows(**columns: Any) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

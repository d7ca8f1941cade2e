"""The links of a page by source: anchors, head elements, entries of a sitemap or feed.

Decides which texts are links, and how they were discovered; not whether they are followed. Order matters: a
URL with two sources keeps the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import LinkVia, RequestKind
from strider.contracts.generated.events import PageParsed

PAGE_FIELDS: Final = (
    *("url", "url_key", "group", "text", "job_id", "execution_id", "crawl_spec_id", "fetch_sequence"),
    *("referrer", "redirect_chain"),
    *("kind", "depth", "is_start", "not_modified", "document_kind", "text_chars"),
    *("canonical_url", "alternate_urls", "alternate_types", "refresh_url", "noindex"),
    *("feed_urls", "nofollow", "raw_hash", "text_hash", "page_kind", "pagination_pattern"),
    *("pagination_number", "no_results", "link_urls", "link_rels", "links_dropped"),
    *("entry_urls", "entry_lastmods_ms", "entry_kinds", "is_last_part"),
    *("status", "etag", "last_modified", "total_us", "body_bytes", "error_message"),
)
"""Fields of a page that its links are judged by and that settle it."""

USED_FIELDS: Final = tuple(f"page.{name}" for name in PAGE_FIELDS)
"""The same in an event of pages-validated."""

NOFOLLOW_FLAG: Final = 1
"""Of `link_rels`."""

MAX_FEEDS_PER_PAGE: Final = 25
"""Feeds of one start page that are followed; a page may name thousands."""

_PAGE_TYPES: Final = frozenset({"", "text/html", "application/xhtml+xml"})
"""Content types of alternates that are pages; the others are feeds, applications and the like."""


@fast_dataclass(frozen=True, slots=True)
class LinkSource:
    """Links of one source."""

    via: str
    urls: Sequence[str]
    rels: Sequence[int] = ()
    kinds: Sequence[str] = ()
    """Expected kind of document of each; empty means pages."""
    lastmods_ms: Sequence[int] = ()
    is_wire_form: bool = False
    """Whether the URLs are in wire form; otherwise they are resolved against the page's own."""
    is_declared: bool = False
    """Whether the page declares them (its canonical URL, its entries): the rules about anchors do not apply.
    """
    max_links: int | None = None
    """How many of those that are in scope may be new; None: no limit."""


def link_sources(page: PageParsed, *, feeds: bool = False, sitemaps: bool = True) -> list[LinkSource]:
    """Return the links of a page by source, in order of precedence; empty sources are left out.

    With `feeds` a start page's feeds are links, and come first: an anchor does not tell that they are feeds.
    Without `sitemaps` the entries of sitemaps are none.
    """
    found = []
    if feeds and page.is_start and page.feed_urls:
        kinds = (RequestKind.FEED,) * len(page.feed_urls)
        found.append(
            LinkSource(
                LinkVia.ALTERNATE,
                page.feed_urls,
                kinds=kinds,
                is_declared=True,
                max_links=MAX_FEEDS_PER_PAGE,
            )
        )
    if page.link_urls:
        rels = page.link_rels if len(page.link_rels) == len(page.link_urls) else ()
        found.append(LinkSource(LinkVia.LINK, page.link_urls, rels=rels, is_wire_form=True))
    if page.refresh_url:
        found.append(LinkSource(LinkVia.REFRESH, (page.refresh_url,), is_declared=True))
    if page.canonical_url:
        found.append(LinkSource(LinkVia.CANONICAL, (page.canonical_url,), is_declared=True))
    if alternates := _alternates(page):
        found.append(LinkSource(LinkVia.ALTERNATE, alternates, is_declared=True))
    if page.entry_urls and ((entries := _entries(page)).via != LinkVia.SITEMAP or sitemaps):
        found.append(entries)
    return found


def _alternates(page: PageParsed) -> list[str]:
    types = page.alternate_types
    if len(types) != len(page.alternate_urls):
        return list(page.alternate_urls)
    return [
        url
        for url, kind in zip(page.alternate_urls, types, strict=True)
        if kind.partition(";")[0].strip().lower() in _PAGE_TYPES
    ]


def _entries(page: PageParsed) -> LinkSource:
    """Return the entries of a sitemap, an index or a feed; a companion list of another length is ignored."""
    count = len(page.entry_urls)
    kinds, lastmods = page.entry_kinds, page.entry_lastmods_ms
    is_feed = RequestKind.FEED in {page.kind, page.document_kind}
    return LinkSource(
        LinkVia.FEED if is_feed else LinkVia.SITEMAP,
        page.entry_urls,
        kinds=kinds if len(kinds) == count else (),
        lastmods_ms=lastmods if len(lastmods) == count else (),
        is_declared=True,
    )

"""What do the bytes of a page say?

    body -> unpacked -> what kind of document -> which characters -> what it says -> PageParsed

Takes the fetched page and its body, returns the one event about it; what cannot be read is an
event too. The tools that unpack and that walk a tree are given: nothing here knows a library, and
nothing waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import DocumentKind, ExtractionLevel, ParseOutcome, RequestKind
from strider.contracts.generated.events import PageFetched, PageParsed

from .authors import stated_author
from .charsets import Charset, find_charset, to_text, to_utf_8
from .feedpaths import linked_feeds
from .headerfields import OTHER_CANONICAL, of_alternates, of_directives, of_stated, stated_links
from .kinds import find_kind, packed_as
from .listed import is_list_of_site, of_listed, of_sitemap
from .mainfields import of_main
from .metadata import (
    Properties,
    bounded_maps,
    choose_description,
    choose_language,
    choose_title,
    find_base,
    find_canonical,
    find_refresh,
    keywords_of,
    read_properties,
    resolve,
)
from .outcomes import Unreadable, carried, header, unreadable
from .outlinks import Outlinks, find_outlinks
from .pagekinds import NO_IMPRESSION, Impression
from .pdfs import PdfReading, links_of_pdf, of_pdf
from .portions import head_of, look_over, texts_of
from .products import of_records
from .readings import HtmlReading
from .sitefields import of_site
from .tools import Limits, Tools, Unpacked
from .wordcounts import count_words
from .xhtml import as_html, is_xml

_TEXTS: Final = frozenset(
    {
        DocumentKind.TEXT,
        DocumentKind.JSON,
        DocumentKind.XML,
        DocumentKind.FEED,
        DocumentKind.SITEMAP,
        DocumentKind.SITEMAP_INDEX,
        DocumentKind.ROBOTS,
    }
)


@dataclass(frozen=True, slots=True)
class _Document:
    """What is known of a body once it is unpacked."""

    page: PageFetched
    content: bytes
    kind: str
    is_whole: bool
    started: float


def parse(page: PageFetched, body: bytes, *, tools: Tools, limits: Limits) -> PageParsed:
    """Read a page; `body` is its body as sent, wherever it was kept."""
    started = tools.cpu_seconds()
    if page.not_modified:
        return PageParsed(**carried(page), outcome=ParseOutcome.NOT_MODIFIED)
    is_sitemap = page.kind == RequestKind.SITEMAP
    max_bytes = limits.max_sitemap_bytes if is_sitemap else limits.max_decoded_bytes
    if is_sitemap and (listed := _parse_portions(page, body, started, tools=tools, limits=limits)):
        return listed
    unpacked = tools.unpack(body, page.content_encoding, max_bytes)
    if isinstance(unpacked, Unreadable):
        return unreadable(page, unpacked, parse_us=_since(started, tools))
    for _ in range(MAX_WRAPPINGS):
        if not (packing := packed_as(unpacked.content)):
            break
        unpacked = _unpack_file(unpacked, packing, tools=tools, max_bytes=max_bytes)
    content = unpacked.content
    kind = find_kind(content, content_type=page.content_type, kind=page.kind)
    document = _Document(page, content, kind, unpacked.is_whole and not page.truncated, started)
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        return unreadable(page, Unreadable(ParseOutcome.EMPTY), **_known(document, tools))
    return _parse_kind(document, tools=tools, limits=limits)


MAX_WRAPPINGS: Final = 2
"""A file that is packed is sometimes packed again by who serves it, and not said to be."""


def _parse_kind(document: _Document, *, tools: Tools, limits: Limits) -> PageParsed:
    """Read what there is as what it is."""
    page, kind = document.page, document.kind
    if kind == DocumentKind.PDF:
        return _parse_pdf(document, tools=tools, limits=limits)
    if kind != DocumentKind.HTML and kind not in _TEXTS:
        why = Unreadable(ParseOutcome.UNSUPPORTED, f"{kind}, labelled {page.content_type or 'nothing'}")
        return unreadable(page, why, **_known(document, tools), **of_stated(page))
    charset = find_charset(document.content, page.content_type)
    if kind == DocumentKind.HTML:
        return _parse_html(document, charset, tools=tools, limits=limits)
    return _parse_text(document, charset, tools=tools, limits=limits)


def _parse_html(document: _Document, charset: Charset, *, tools: Tools, limits: Limits) -> PageParsed:
    page = document.page
    content = to_utf_8(document.content, charset)
    if is_xml(page.content_type):
        content = as_html(content)
    reading = tools.read_html(content, limits.depth)
    stated = stated_links(page)
    if stated:  # behind what the elements say, so that these come first
        reading = replace_fields(reading, links=(*reading.links, *stated))
    properties = read_properties(reading.metas)
    base = find_base(page.url, reading)
    anchors = reading.anchors.with_others(reading.frames)
    outlinks = find_outlinks(anchors, base=base, max_links=limits.max_links)
    is_whole = document.is_whole and not reading.is_cut
    said = {
        **_of_text(reading.text),
        **_about(reading, properties, page),
        **_around(reading, base),
    }
    if (other := find_canonical(stated, page.url)) and other != said["canonical_url"]:
        said["meta"] = {**said["meta"], OTHER_CANONICAL: other}
    if reading.blocks is not None:
        said |= of_main(
            page.url, reading, properties, base=base, extraction=limits.extraction, stated=said["author"]
        )
        said["feed_urls"] = said["feed_urls"] or linked_feeds(outlinks.urls)
    if limits.extraction == ExtractionLevel.RECORDS:
        site = tools.read_site(page.url, content)
        kind = NO_IMPRESSION if reading.blocks is None else _impression(said)  # frames have no body
        said |= {**of_records(reading, properties, base, site=site, kind=kind), **of_site(site)}
    return PageParsed(
        **{**carried(page), **said},
        **of_directives(reading, page, limits),
        **of_links(outlinks),
        base_url=base,
        charset=charset.name,
        charset_evidence=charset.evidence,
        paragraph_count=reading.paragraphs,
        script_count=reading.scripts,
        form_count=reading.forms,
        password_fields=reading.password_fields,
        noscript_text=reading.noscript,
        outcome=ParseOutcome.PARSED if is_whole else ParseOutcome.PARTLY_PARSED,
        truncated=not is_whole,
        **_known(document, tools),
    )


def _impression(said: Mapping[str, Any]) -> Impression:
    is_paged = bool(said["next_url"] or said["page_urls"])
    return Impression(said["page_kind"], said["page_kind_confidence"], is_paged=is_paged)


def _parse_text(document: _Document, charset: Charset, *, tools: Tools, limits: Limits) -> PageParsed:
    text = to_text(document.content, charset).replace("\0", "\ufffd").strip()
    listed = of_listed(
        text,
        document.page.url,
        document_kind=document.kind,
        expected=document.page.kind,
        with_records=limits.extraction == ExtractionLevel.RECORDS,
    )
    said = {**_of_text("" if listed else text), **_known(document, tools), **listed}
    return _of_texts(document.page, said, charset, is_whole=document.is_whole, limits=limits)


def _parse_portions(
    page: PageFetched, body: bytes, started: float, *, tools: Tools, limits: Limits
) -> PageParsed | None:
    """Read a sitemap without holding it; None for anything else, and for what has to be held."""
    portions = tools.open_body(body, page.content_encoding, limits.max_sitemap_bytes)
    head = b"" if portions is None else head_of(portions)
    kind = find_kind(head, content_type=page.content_type, kind=page.kind)
    if portions is None or not is_list_of_site(kind, page.kind):
        return None
    seen = look_over(portions, head=head, content_type=page.content_type)
    if seen is None or not seen.has_words:
        return None
    texts = texts_of(portions, seen.charset)
    with_records = limits.extraction == ExtractionLevel.RECORDS
    listed = of_sitemap(texts, page.url, document_kind=kind, with_records=with_records)
    known = {"decoded_bytes": seen.size, "raw_hash": seen.raw_hash, "parse_us": _since(started, tools)}
    is_whole = seen.is_whole and not page.truncated
    return _of_texts(page, {**known, **listed}, seen.charset, is_whole=is_whole, limits=limits)


def _of_texts(
    page: PageFetched, said: dict[str, Any], charset: Charset, *, is_whole: bool, limits: Limits
) -> PageParsed:
    """Write what a document says that is no page."""
    language, confidence = choose_language(HtmlReading(), Properties(), header(page, "content-language"))
    declared = {"language": language, "language_confidence": confidence}
    return PageParsed(
        **{**carried(page), **declared, **of_stated(page), **said},
        **of_directives(HtmlReading(), page, limits),
        charset=charset.name,
        charset_evidence=charset.evidence,
        outcome=ParseOutcome.PARSED if is_whole else ParseOutcome.PARTLY_PARSED,
        truncated=not is_whole,
    )


def _parse_pdf(document: _Document, *, tools: Tools, limits: Limits) -> PageParsed:
    page = document.page
    reading = tools.read_pdf(document.content, limits.pdf_seconds)
    if not isinstance(reading, PdfReading):
        return unreadable(page, reading, **_known(document, tools))
    is_whole = document.is_whole and reading.is_whole
    said = {**of_stated(page), **_of_text(reading.text), **of_pdf(reading, extraction=limits.extraction)}
    return PageParsed(
        **{**carried(page), **said},
        **of_directives(HtmlReading(), page, limits),
        **of_links(links_of_pdf(reading, page.url, max_links=limits.max_links)),
        outcome=ParseOutcome.PARSED if is_whole else ParseOutcome.PARTLY_PARSED,
        truncated=not is_whole,
        **_known(document, tools),
    )


def _unpack_file(unpacked: Unpacked, packing: str, *, tools: Tools, max_bytes: int) -> Unpacked:
    """Read a file that is packed itself, as sitemaps are, whatever it is called; else leave it as it is."""
    within = tools.unpack(unpacked.content, packing, max_bytes)
    if isinstance(within, Unreadable):
        return unpacked
    return Unpacked(within.content, is_whole=within.is_whole and unpacked.is_whole)


def _known(document: _Document, tools: Tools) -> dict[str, Any]:
    """Say what is known of every body that could be unpacked."""
    return {
        "decoded_bytes": len(document.content),
        "document_kind": document.kind,
        "raw_hash": sha256(document.content).hexdigest(),
        "parse_us": _since(document.started, tools),
    }


def _of_text(text: str) -> dict[str, Any]:
    written = text.encode("utf-8", "replace")
    return {
        "text": text,
        "text_chars": len(text),
        "text_hash": sha256(written).hexdigest() if text else "",
        "word_count": count_words(written),
    }


def _about(reading: HtmlReading, properties: Properties, page: PageFetched) -> dict[str, Any]:
    title, source = choose_title(reading, properties)
    language, confidence = choose_language(reading, properties, header(page, "content-language"))
    open_graph, twitter, further = bounded_maps(properties)
    return {
        "title": title,
        "title_source": source,
        "description": choose_description(properties),
        "language": language,
        "language_confidence": confidence,
        "author": stated_author(properties),
        "site_name": properties.say("og:site_name", "application-name")[:MAX_FIELD_CHARS],
        "keywords": keywords_of(properties),
        "open_graph": open_graph,
        "twitter": twitter,
        "meta": further,
    }


MAX_FIELD_CHARS: Final = 300


def _around(reading: HtmlReading, base: str) -> dict[str, Any]:
    refresh_url, refresh_seconds = find_refresh(reading.metas, base)
    image = next((tag.content for tag in reading.metas if tag.name in _IMAGES and tag.content), "")
    return {
        "canonical_url": find_canonical(reading.links, base),
        **of_alternates(reading.links, base),
        "refresh_url": refresh_url,
        "refresh_seconds": refresh_seconds,
        "image_url": resolve(image, base),
    }


_IMAGES: Final = frozenset(
    {"og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src"}
)


def of_links(outlinks: Outlinks) -> dict[str, Any]:
    """Write links as fields of the event."""
    return {
        "link_urls": outlinks.urls,
        "link_anchors": outlinks.anchors,
        "link_rels": outlinks.rels,
        "link_regions": outlinks.regions,
        "links_found": outlinks.found,
        "links_dropped": outlinks.dropped,
    }


def _since(started: float, tools: Tools) -> int:
    return max(0, round((tools.cpu_seconds() - started) * 1_000_000))

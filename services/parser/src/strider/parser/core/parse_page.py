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

from .content.main_extraction import main_content_fields
from .content.word_count import count_words
from .document.charsets import Charset, detect_charset, to_text, to_utf8
from .document.content_type_sniffing import compression_of, sniff_document_kind
from .document.pdf import PdfExtract, pdf_fields, pdf_outlinks
from .document.streamed_body import decode_stream, head_of, summarize_body
from .document.xhtml import is_xml_content_type, xhtml_to_html
from .html.authors import meta_author
from .html.http_header_metadata import (
    HEADER_CANONICAL_KEY,
    alternate_fields,
    directive_fields,
    header_link_fields,
    header_links,
)
from .html.metadata import (
    MetaProperties,
    bounded_maps,
    choose_description,
    choose_language,
    choose_title,
    collect_properties,
    find_base,
    find_canonical,
    find_refresh,
    resolve_url,
    split_keywords,
)
from .html.models import HtmlExtract
from .html.outlinks import Outlinks, find_outlinks
from .html.page_kind import UNKNOWN_PAGE_KIND, PageKindEstimate
from .lists.feed_discovery import find_linked_feeds
from .lists.list_documents import is_sitemap_document, parse_list_document, sitemap_fields
from .parser_ports import DecodedBody, ParseLimits, ParserTools
from .products.extract_products import record_fields
from .site_parser_fields import site_parser_fields
from .unreadable_pages import ParseFailure, copied_fields, first_header, unreadable_page

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


def parse(page: PageFetched, body: bytes, *, tools: ParserTools, limits: ParseLimits) -> PageParsed:
    """Read a page; `body` is its body as sent, wherever it was kept."""
    started = tools.cpu_seconds()
    if page.not_modified:
        return PageParsed(**copied_fields(page), outcome=ParseOutcome.NOT_MODIFIED)
    is_sitemap = page.kind == RequestKind.SITEMAP
    max_bytes = limits.max_sitemap_bytes if is_sitemap else limits.max_decoded_bytes
    if is_sitemap and (listed := _parse_sitemap_stream(page, body, started, tools=tools, limits=limits)):
        return listed
    unpacked = tools.decode_body(body, page.content_encoding, max_bytes)
    if isinstance(unpacked, ParseFailure):
        return unreadable_page(page, unpacked, parse_us=_since(started, tools))
    for _ in range(MAX_NESTED_COMPRESSIONS):
        if not (packing := compression_of(unpacked.content)):
            break
        unpacked = _decompress_file(unpacked, packing, tools=tools, max_bytes=max_bytes)
    content = unpacked.content
    kind = sniff_document_kind(content, content_type=page.content_type, request_kind=page.kind)
    document = _Document(page, content, kind, unpacked.is_whole and not page.truncated, started)
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        return unreadable_page(page, ParseFailure(ParseOutcome.EMPTY), **_known(document, tools))
    return _parse_by_kind(document, tools=tools, limits=limits)


MAX_NESTED_COMPRESSIONS: Final = 2
"""A file that is packed is sometimes packed again by who serves it, and not said to be."""


def _parse_by_kind(document: _Document, *, tools: ParserTools, limits: ParseLimits) -> PageParsed:
    """Read what there is as what it is."""
    page, kind = document.page, document.kind
    if kind == DocumentKind.PDF:
        return _parse_pdf(document, tools=tools, limits=limits)
    if kind != DocumentKind.HTML and kind not in _TEXTS:
        why = ParseFailure(ParseOutcome.UNSUPPORTED, f"{kind}, labelled {page.content_type or 'nothing'}")
        return unreadable_page(page, why, **_known(document, tools), **header_link_fields(page))
    charset = detect_charset(document.content, page.content_type)
    if kind == DocumentKind.HTML:
        return _parse_html(document, charset, tools=tools, limits=limits)
    return _parse_text(document, charset, tools=tools, limits=limits)


def _parse_html(
    document: _Document, charset: Charset, *, tools: ParserTools, limits: ParseLimits
) -> PageParsed:
    page = document.page
    content = to_utf8(document.content, charset)
    if is_xml_content_type(page.content_type):
        content = xhtml_to_html(content)
    reading = tools.read_html(content, limits.extraction_depth)
    stated = header_links(page)
    if stated:  # behind what the elements say, so that these come first
        reading = replace_fields(reading, links=(*reading.links, *stated))
    properties = collect_properties(reading.metas)
    base = find_base(page.url, reading)
    anchors = reading.anchors.extended(reading.frames)
    outlinks = find_outlinks(anchors, base=base, max_links=limits.max_links)
    is_whole = document.is_whole and not reading.is_cut
    said = {
        **_text_fields(reading.text),
        **_about(reading, properties, page),
        **_linked_resource_fields(reading, base),
    }
    if (other := find_canonical(stated, page.url)) and other != said["canonical_url"]:
        said["meta"] = {**said["meta"], HEADER_CANONICAL_KEY: other}
    if reading.blocks is not None:
        said |= main_content_fields(
            page.url, reading, properties, base=base, extraction=limits.extraction, meta_author=said["author"]
        )
        said["feed_urls"] = said["feed_urls"] or find_linked_feeds(outlinks.urls)
    if limits.extraction == ExtractionLevel.RECORDS:
        site = tools.read_site(page.url, content)
        kind = (
            UNKNOWN_PAGE_KIND if reading.blocks is None else _page_kind_estimate(said)
        )  # frames have no body
        said |= {
            **record_fields(reading, properties, base, site_result=site, kind=kind),
            **site_parser_fields(site),
        }
    return PageParsed(
        **{**copied_fields(page), **said},
        **directive_fields(reading, page, limits),
        **outlink_fields(outlinks),
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


def _page_kind_estimate(said: Mapping[str, Any]) -> PageKindEstimate:
    is_paged = bool(said["next_url"] or said["page_urls"])
    return PageKindEstimate(said["page_kind"], said["page_kind_confidence"], is_paged=is_paged)


def _parse_text(
    document: _Document, charset: Charset, *, tools: ParserTools, limits: ParseLimits
) -> PageParsed:
    text = to_text(document.content, charset).replace("\0", "\ufffd").strip()
    listed = parse_list_document(
        text,
        document.page.url,
        document_kind=document.kind,
        request_kind=document.page.kind,
        with_records=limits.extraction == ExtractionLevel.RECORDS,
    )
    said = {**_text_fields("" if listed else text), **_known(document, tools), **listed}
    return _text_event(document.page, said, charset, is_whole=document.is_whole, limits=limits)


def _parse_sitemap_stream(
    page: PageFetched, body: bytes, started: float, *, tools: ParserTools, limits: ParseLimits
) -> PageParsed | None:
    """Read a sitemap without holding it; None for anything else, and for what has to be held."""
    portions = tools.open_body(body, page.content_encoding, limits.max_sitemap_bytes)
    head = b"" if portions is None else head_of(portions)
    kind = sniff_document_kind(head, content_type=page.content_type, request_kind=page.kind)
    if portions is None or not is_sitemap_document(kind, page.kind):
        return None
    seen = summarize_body(portions, head=head, content_type=page.content_type)
    if seen is None or not seen.has_words:
        return None
    texts = decode_stream(portions, seen.charset)
    with_records = limits.extraction == ExtractionLevel.RECORDS
    listed = sitemap_fields(texts, page.url, document_kind=kind, with_records=with_records)
    known = {"decoded_bytes": seen.size_bytes, "raw_hash": seen.raw_hash, "parse_us": _since(started, tools)}
    is_whole = seen.is_whole and not page.truncated
    return _text_event(page, {**known, **listed}, seen.charset, is_whole=is_whole, limits=limits)


def _text_event(
    page: PageFetched, said: dict[str, Any], charset: Charset, *, is_whole: bool, limits: ParseLimits
) -> PageParsed:
    """Write what a document says that is no page."""
    language, confidence = choose_language(
        HtmlExtract(), MetaProperties(), first_header(page, "content-language")
    )
    declared = {"language": language, "language_confidence": confidence}
    return PageParsed(
        **{**copied_fields(page), **declared, **header_link_fields(page), **said},
        **directive_fields(HtmlExtract(), page, limits),
        charset=charset.name,
        charset_evidence=charset.evidence,
        outcome=ParseOutcome.PARSED if is_whole else ParseOutcome.PARTLY_PARSED,
        truncated=not is_whole,
    )


def _parse_pdf(document: _Document, *, tools: ParserTools, limits: ParseLimits) -> PageParsed:
    page = document.page
    reading = tools.read_pdf(document.content, limits.pdf_seconds)
    if not isinstance(reading, PdfExtract):
        return unreadable_page(page, reading, **_known(document, tools))
    is_whole = document.is_whole and reading.is_whole
    said = {
        **header_link_fields(page),
        **_text_fields(reading.text),
        **pdf_fields(reading, extraction=limits.extraction),
    }
    return PageParsed(
        **{**copied_fields(page), **said},
        **directive_fields(HtmlExtract(), page, limits),
        **outlink_fields(pdf_outlinks(reading, page.url, max_links=limits.max_links)),
        outcome=ParseOutcome.PARSED if is_whole else ParseOutcome.PARTLY_PARSED,
        truncated=not is_whole,
        **_known(document, tools),
    )


def _decompress_file(
    unpacked: DecodedBody, packing: str, *, tools: ParserTools, max_bytes: int
) -> DecodedBody:
    """Read a file that is packed itself, as sitemaps are, whatever it is called; else leave it as it is."""
    within = tools.decode_body(unpacked.content, packing, max_bytes)
    if isinstance(within, ParseFailure):
        return unpacked
    return DecodedBody(within.content, is_whole=within.is_whole and unpacked.is_whole)


def _known(document: _Document, tools: ParserTools) -> dict[str, Any]:
    """Say what is known of every body that could be unpacked."""
    return {
        "decoded_bytes": len(document.content),
        "document_kind": document.kind,
        "raw_hash": sha256(document.content).hexdigest(),
        "parse_us": _since(document.started, tools),
    }


def _text_fields(text: str) -> dict[str, Any]:
    written = text.encode("utf-8", "replace")
    return {
        "text": text,
        "text_chars": len(text),
        "text_hash": sha256(written).hexdigest() if text else "",
        "word_count": count_words(written),
    }


def _about(reading: HtmlExtract, properties: MetaProperties, page: PageFetched) -> dict[str, Any]:
    title, source = choose_title(reading, properties)
    language, confidence = choose_language(reading, properties, first_header(page, "content-language"))
    open_graph, twitter, further = bounded_maps(properties)
    return {
        "title": title,
        "title_source": source,
        "description": choose_description(properties),
        "language": language,
        "language_confidence": confidence,
        "author": meta_author(properties),
        "site_name": properties.first_of("og:site_name", "application-name")[:MAX_FIELD_CHARS],
        "keywords": split_keywords(properties),
        "open_graph": open_graph,
        "twitter": twitter,
        "meta": further,
    }


MAX_FIELD_CHARS: Final = 300


def _linked_resource_fields(reading: HtmlExtract, base: str) -> dict[str, Any]:
    refresh_url, refresh_seconds = find_refresh(reading.metas, base)
    image = next((tag.content for tag in reading.metas if tag.name in _IMAGE_PROPERTIES and tag.content), "")
    return {
        "canonical_url": find_canonical(reading.links, base),
        **alternate_fields(reading.links, base),
        "refresh_url": refresh_url,
        "refresh_seconds": refresh_seconds,
        "image_url": resolve_url(image, base),
    }


_IMAGE_PROPERTIES: Final = frozenset(
    {"og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src"}
)


def outlink_fields(outlinks: Outlinks) -> dict[str, Any]:
    """Write links as fields of the event."""
    return {
        "link_urls": outlinks.urls,
        "link_anchors": outlinks.anchors,
        "link_rels": outlinks.rels,
        "link_regions": outlinks.regions,
        "links_found": outlinks.found,
        "links_dropped": outlinks.dropped,
    }


def _since(started: float, tools: ParserTools) -> int:
    return max(0, round((tools.cpu_seconds() - started) * 1_000_000))

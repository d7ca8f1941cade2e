"""Parse a fetched page and its body into the one event about it.

    body -> decompressed -> document kind -> charset -> extracted fields -> PageParsed

An unreadable page results in an event, too. Decompression and HTML, PDF and site parsers are passed in as
functions: this module knows no library and never waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import DocumentKind, ExtractionLevel, ParseOutcome, RequestKind
from strider.contracts.generated.events import PageFetched, PageParsed

from .content.main_extraction import main_content_fields
from .content.plain_text import count_words
from .document.charsets import Charset, detect_charset, to_text, to_utf8
from .document.content_type_sniffing import compression_of, sniff_document_kind
from .document.markup_rewriting import is_xml_content_type, xhtml_to_html
from .document.pdf import PdfExtract, pdf_fields, pdf_outlinks
from .document.streamed_body import decode_stream, read_head, summarize_body
from .html.authors import meta_author
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
from .html.models import HtmlExtract, LinkTag
from .html.outlinks import Outlinks, find_outlinks
from .html.page_kind import UNKNOWN_PAGE_KIND, PageKindEstimate
from .html.response_headers import (
    HEADER_CANONICAL_KEY,
    alternate_fields,
    directive_fields,
    header_link_fields,
    header_links,
)
from .lists.feed_discovery import find_linked_feeds
from .lists.list_documents import is_sitemap_document, parse_list_document, sitemap_fields
from .parser_ports import DecodedBody, ParseLimits, ParserTools
from .products.extract_products import record_fields
from .site_parser_fields import site_parser_fields
from .unreadable_pages import ParseFailure, copied_fields, first_header, unreadable_page

_TEXT_KINDS: Final = frozenset(
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
    """A decompressed body and what is known about it."""

    page: PageFetched
    content: bytes
    kind: str
    is_whole: bool
    started: float


MAX_NESTED_COMPRESSIONS: Final = 2
"""Servers sometimes compress an already compressed file again without declaring it."""


def parse(page: PageFetched, body: bytes, *, tools: ParserTools, limits: ParseLimits) -> PageParsed:
    """Parse a page; `body` is the body as transferred, before Content-Encoding is undone."""
    started = tools.cpu_seconds()
    if page.not_modified:
        return PageParsed(**copied_fields(page), outcome=ParseOutcome.NOT_MODIFIED)
    is_sitemap = page.kind == RequestKind.SITEMAP
    max_bytes = limits.max_sitemap_bytes if is_sitemap else limits.max_decoded_bytes
    if is_sitemap and (listed := _parse_sitemap_stream(page, body, started, tools=tools, limits=limits)):
        return listed
    decoded = tools.decode_body(body, page.content_encoding, max_bytes)
    if isinstance(decoded, ParseFailure):
        return unreadable_page(page, decoded, parse_us=_elapsed_us(started, tools))
    for _ in range(MAX_NESTED_COMPRESSIONS):
        if not (compression := compression_of(decoded.content)):
            break
        decoded = _decompress_file(decoded, compression, tools=tools, max_bytes=max_bytes)
    content = decoded.content
    kind = sniff_document_kind(content, content_type=page.content_type, request_kind=page.kind)
    document = _Document(page, content, kind, decoded.is_whole and not page.truncated, started)
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        return unreadable_page(page, ParseFailure(ParseOutcome.EMPTY), **_body_fields(document, tools))
    return _parse_by_kind(document, tools=tools, limits=limits)


def _parse_by_kind(document: _Document, *, tools: ParserTools, limits: ParseLimits) -> PageParsed:
    """Parse the document by its kind."""
    page, kind = document.page, document.kind
    if kind == DocumentKind.PDF:
        return _parse_pdf(document, tools=tools, limits=limits)
    if kind != DocumentKind.HTML and kind not in _TEXT_KINDS:
        detail = f"document kind {kind}, Content-Type {page.content_type or 'missing'}"
        failure = ParseFailure(ParseOutcome.UNSUPPORTED, detail)
        return unreadable_page(page, failure, **_body_fields(document, tools), **header_link_fields(page))
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
    html = tools.read_html(content, limits.extraction_depth)
    header_tags = header_links(page)
    if header_tags:  # Appended, so that link elements take precedence over headers.
        html = replace_fields(html, links=(*html.links, *header_tags))
    properties = collect_properties(html.metas)
    base = find_base(page.url, html)
    outlinks = find_outlinks(html.anchors.extended(html.frames), base=base, max_links=limits.max_links)
    fields = _basic_fields(page, html, properties, base=base, header_tags=header_tags)
    if html.blocks is not None:
        fields |= main_content_fields(
            page.url, html, properties, base=base, extraction=limits.extraction, meta_author=fields["author"]
        )
        fields["feed_urls"] = fields["feed_urls"] or find_linked_feeds(outlinks.urls)
    if limits.extraction == ExtractionLevel.RECORDS:
        site_result = tools.read_site(page.url, content)
        # A document of frames has no body.
        kind = UNKNOWN_PAGE_KIND if html.blocks is None else _page_kind_estimate(fields)
        fields |= record_fields(html, properties, base, site_result=site_result, kind=kind)
        fields |= site_parser_fields(site_result)
    is_whole = document.is_whole and not html.is_truncated
    return PageParsed(
        **{**copied_fields(page), **fields},
        **directive_fields(html, page, limits),
        **outlink_fields(outlinks),
        **_markup_fields(html),
        base_url=base,
        charset=charset.name,
        charset_evidence=charset.evidence,
        outcome=ParseOutcome.PARSED if is_whole else ParseOutcome.PARTLY_PARSED,
        truncated=not is_whole,
        **_body_fields(document, tools),
    )


def _basic_fields(
    page: PageFetched,
    html: HtmlExtract,
    properties: MetaProperties,
    *,
    base: str,
    header_tags: Sequence[LinkTag],
) -> dict[str, Any]:
    fields = {
        **_text_fields(html.text),
        **_metadata_fields(html, properties, page),
        **_linked_resource_fields(html, base),
    }
    if (other := find_canonical(header_tags, page.url)) and other != fields["canonical_url"]:
        fields["meta"] = {**fields["meta"], HEADER_CANONICAL_KEY: other}
    return fields


def _markup_fields(html: HtmlExtract) -> dict[str, Any]:
    return {
        "paragraph_count": html.paragraphs,
        "script_count": html.scripts,
        "form_count": html.forms,
        "password_fields": html.password_fields,
        "noscript_text": html.noscript,
    }


def _page_kind_estimate(fields: Mapping[str, Any]) -> PageKindEstimate:
    is_paged = bool(fields["next_url"] or fields["page_urls"])
    return PageKindEstimate(fields["page_kind"], fields["page_kind_confidence"], is_paginated=is_paged)


def _parse_text(
    document: _Document, charset: Charset, *, tools: ParserTools, limits: ParseLimits
) -> PageParsed:
    text = to_text(document.content, charset).replace("\0", "\ufffd").strip()
    list_data = parse_list_document(
        text,
        document.page.url,
        document_kind=document.kind,
        request_kind=document.page.kind,
        with_records=limits.extraction == ExtractionLevel.RECORDS,
    )
    fields = {**_text_fields("" if list_data else text), **_body_fields(document, tools), **list_data}
    return _text_event(document.page, fields, charset, is_whole=document.is_whole, limits=limits)


def _parse_sitemap_stream(
    page: PageFetched, body: bytes, started: float, *, tools: ParserTools, limits: ParseLimits
) -> PageParsed | None:
    """Parse a sitemap as a stream; None for other documents and those that need to be held in memory."""
    stream = tools.open_body_stream(body, page.content_encoding, limits.max_sitemap_bytes)
    head = b"" if stream is None else read_head(stream)
    kind = sniff_document_kind(head, content_type=page.content_type, request_kind=page.kind)
    if stream is None or not is_sitemap_document(kind, page.kind):
        return None
    summary = summarize_body(stream, head=head, content_type=page.content_type)
    if summary is None or not summary.has_content:
        return None
    texts = decode_stream(stream, summary.charset)
    with_records = limits.extraction == ExtractionLevel.RECORDS
    list_data = sitemap_fields(texts, page.url, document_kind=kind, with_records=with_records)
    body_fields = {
        "decoded_bytes": summary.size_bytes,
        "raw_hash": summary.raw_hash,
        "parse_us": _elapsed_us(started, tools),
    }
    is_whole = summary.is_whole and not page.truncated
    return _text_event(page, {**body_fields, **list_data}, summary.charset, is_whole=is_whole, limits=limits)


def _text_event(
    page: PageFetched, fields: dict[str, Any], charset: Charset, *, is_whole: bool, limits: ParseLimits
) -> PageParsed:
    """Build the event of a text document: plain text, JSON, XML, feed, sitemap or robots.txt."""
    language, confidence = choose_language(
        HtmlExtract(), MetaProperties(), first_header(page, "content-language")
    )
    declared = {"language": language, "language_confidence": confidence}
    return PageParsed(
        **{**copied_fields(page), **declared, **header_link_fields(page), **fields},
        **directive_fields(HtmlExtract(), page, limits),
        charset=charset.name,
        charset_evidence=charset.evidence,
        outcome=ParseOutcome.PARSED if is_whole else ParseOutcome.PARTLY_PARSED,
        truncated=not is_whole,
    )


def _parse_pdf(document: _Document, *, tools: ParserTools, limits: ParseLimits) -> PageParsed:
    page = document.page
    pdf = tools.read_pdf(document.content, limits.pdf_seconds)
    if not isinstance(pdf, PdfExtract):
        return unreadable_page(page, pdf, **_body_fields(document, tools))
    is_whole = document.is_whole and pdf.is_whole
    fields = {
        **header_link_fields(page),
        **_text_fields(pdf.text),
        **pdf_fields(pdf, extraction=limits.extraction),
    }
    return PageParsed(
        **{**copied_fields(page), **fields},
        **directive_fields(HtmlExtract(), page, limits),
        **outlink_fields(pdf_outlinks(pdf, page.url, max_links=limits.max_links)),
        outcome=ParseOutcome.PARSED if is_whole else ParseOutcome.PARTLY_PARSED,
        truncated=not is_whole,
        **_body_fields(document, tools),
    )


def _decompress_file(body: DecodedBody, encoding: str, *, tools: ParserTools, max_bytes: int) -> DecodedBody:
    """Decompress a file that is itself compressed, such as a sitemap.xml.gz; unchanged if that fails."""
    decompressed = tools.decode_body(body.content, encoding, max_bytes)
    if isinstance(decompressed, ParseFailure):
        return body
    return DecodedBody(decompressed.content, is_whole=decompressed.is_whole and body.is_whole)


def _body_fields(document: _Document, tools: ParserTools) -> dict[str, Any]:
    """Return the fields that are known for every body that could be decompressed."""
    return {
        "decoded_bytes": len(document.content),
        "document_kind": document.kind,
        "raw_hash": sha256(document.content).hexdigest(),
        "parse_us": _elapsed_us(document.started, tools),
    }


def _text_fields(text: str) -> dict[str, Any]:
    written = text.encode("utf-8", "replace")
    return {
        "text": text,
        "text_chars": len(text),
        "text_hash": sha256(written).hexdigest() if text else "",
        "word_count": count_words(written),
    }


MAX_FIELD_CHARS: Final = 300


def _metadata_fields(html: HtmlExtract, properties: MetaProperties, page: PageFetched) -> dict[str, Any]:
    title, source = choose_title(html, properties)
    language, confidence = choose_language(html, properties, first_header(page, "content-language"))
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


_IMAGE_PROPERTIES: Final = frozenset(
    {"og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src"}
)


def _linked_resource_fields(html: HtmlExtract, base: str) -> dict[str, Any]:
    refresh_url, refresh_seconds = find_refresh(html.metas, base)
    image = next((tag.content for tag in html.metas if tag.name in _IMAGE_PROPERTIES and tag.content), "")
    return {
        "canonical_url": find_canonical(html.links, base),
        **alternate_fields(html.links, base),
        "refresh_url": refresh_url,
        "refresh_seconds": refresh_seconds,
        "image_url": resolve_url(image, base),
    }


def outlink_fields(outlinks: Outlinks) -> dict[str, Any]:
    """Return links as fields of the event."""
    return {
        "link_urls": outlinks.urls,
        "link_anchors": outlinks.anchors,
        "link_rels": outlinks.rels,
        "link_regions": outlinks.regions,
        "links_found": outlinks.found,
        "links_dropped": outlinks.dropped,
    }


def _elapsed_us(started: float, tools: ParserTools) -> int:
    return max(0, round((tools.cpu_seconds() - started) * 1_000_000))

"""Sniff the kind of a document from its bytes, its Content-Type and the request kind.

Unmistakable first bytes decide; otherwise the declared media type does if the bytes allow it. Binary content
without a known signature is not a document.
"""

from __future__ import annotations

import re
from typing import Final

from strider.contracts.generated.enums import DocumentKind, RequestKind

HEAD_BYTES: Final = 1024
XML_HEAD_BYTES: Final = 16 * 1024
"""XML comments and declarations may take much space before the root element."""

_LEADING_BYTES: Final = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n\f"
_XML_PROLOGUE_START: Final = re.compile(rb"<\0?[!?]")
_PROLOGUE: Final = re.compile(
    rb"(?:\s*(?:<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^<>\[]*(?:\[.*?\]\s*)?>))*\s*", re.DOTALL | re.IGNORECASE
)
_JSON_FEED: Final = b"jsonfeed.org/version"

_PDF: Final = b"%PDF-"
GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_MAGIC: Final = (
    (_PDF, DocumentKind.PDF),
    (b"\x89PNG\r\n", DocumentKind.IMAGE),
    (b"\xff\xd8\xff", DocumentKind.IMAGE),
    (b"GIF87a", DocumentKind.IMAGE),
    (b"GIF89a", DocumentKind.IMAGE),
    (b"BM", DocumentKind.IMAGE),
    (b"PK\x03\x04", DocumentKind.OTHER),
    (GZIP_MAGIC, DocumentKind.OTHER),
    (ZSTD_MAGIC, DocumentKind.OTHER),
    (b"{\\rtf", DocumentKind.OTHER),
    (b"%!PS", DocumentKind.OTHER),
)
_RIFF: Final = b"RIFF"
_HTML: Final = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|script|style|meta|link|h[1-6]|div|p|a|br|table|ul|ol|span|img"
    rb"|iframe|form|center|font|main|article|section|nav|header|footer)[\s/>]",
    re.IGNORECASE,
)
_XML_ROOTS: Final = (
    (re.compile(rb"<(?:\w+:)?urlset[\s/>]"), DocumentKind.SITEMAP),
    (re.compile(rb"<(?:\w+:)?sitemapindex[\s/>]"), DocumentKind.SITEMAP_INDEX),
    (
        re.compile(rb"<(?:(?:\w+:)?rss|(?:\w+:)?feed|(?:\w+:)?RDF|channel)[\s/>]", re.IGNORECASE),
        DocumentKind.FEED,
    ),
)
_XHTML_ROOT: Final = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_COMMON_HTML_START: Final = re.compile(rb"\s*<!doctype html>\s*<html[\s>]", re.IGNORECASE)
"""How most pages start; if labelled as HTML they need no closer inspection."""

_KIND_OF_MEDIA_TYPE: Final = (
    ("html", DocumentKind.HTML),
    ("json", DocumentKind.JSON),
    ("xml", DocumentKind.XML),
    ("text/", DocumentKind.TEXT),
    ("javascript", DocumentKind.TEXT),
)
_UNRELIABLE_MEDIA_TYPES: Final = frozenset({"text/plain", "text/rss", "text/atom"})
_CONTROL_BYTES: Final = bytes(set(range(0x20)) - set(b"\t\n\r\f\x1b"))
"""Control bytes that text in no common encoding contains (ESC starts the shifts of ISO-2022-JP)."""

_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
MAX_CONTROL_SHARE: Final = 0.02
"""Stray control bytes occur in pages; an image has ten percent and more."""


def sniff_document_kind(content: bytes, *, content_type: str, request_kind: str) -> str:
    """Return the kind of a document; `request_kind` is what the URL was requested as."""
    head = content[:HEAD_BYTES]
    is_page = _COMMON_HTML_START.match(head) is not None
    if not is_page and (found := _kind_by_magic(head)):
        return found
    if (
        _PDF in head and "pdf" in content_type.lower()
    ):  # Some PDFs start with bytes that a mailer or a proxy has prepended.
        return DocumentKind.PDF
    if is_binary(head):
        return DocumentKind.OTHER
    if request_kind == RequestKind.ROBOTS:
        return DocumentKind.ROBOTS
    if is_page and "html" in content_type.lower():
        return DocumentKind.HTML
    if _XML_PROLOGUE_START.match(head.lstrip(_LEADING_BYTES)):
        head = content[:XML_HEAD_BYTES]
    return _kind_of_text(head.replace(b"\0", b"").lstrip(_LEADING_BYTES), content_type.lower())


_COMPRESSIONS: Final = ((GZIP_MAGIC, "gzip"), (ZSTD_MAGIC, "zstd"))


def compression_of(content: bytes) -> str:
    """Return the compression format of a file by its first bytes; empty if it is not compressed."""
    return next((name for magic, name in _COMPRESSIONS if content.startswith(magic)), "")


def _kind_by_magic(head: bytes) -> str:
    for magic, found in _MAGIC:
        if head.startswith(magic) and (magic != b"BM" or is_binary(head)):
            return found
    return DocumentKind.IMAGE if head.startswith(_RIFF) and head[8:12] == b"WEBP" else ""


def is_binary(head: bytes) -> bool:
    """Whether bytes are not text: they have many control bytes and are not UTF-16."""
    control = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if control <= MAX_CONTROL_SHARE * len(head):
        return False
    return not _is_utf16_text(head)


def _is_utf16_text(head: bytes) -> bool:
    """Whether bytes are UTF-16, in which half of most letters looks like a control byte."""
    zeros = head[0::2].count(0), head[1::2].count(0)
    has_bom = head.startswith(_UTF16_BOMS)
    if not has_bom and not (max(zeros) > len(head) // 16 and min(zeros) < max(zeros) // 8):
        return False
    is_big_endian = head.startswith(b"\xfe\xff") if has_bom else zeros[0] > zeros[1]
    text = (
        head[: len(head) // 2 * 2]
        .decode("utf-16be" if is_big_endian else "utf-16le", "replace")
        .lstrip("\ufeff")
    )
    invalid = sum(char == "\ufffd" or (char < " " and char not in "\t\n\r\f") for char in text)
    is_plausible = has_bom or max(zeros) > len(head) // 4 or text.lstrip()[:1] == "<"
    return is_plausible and invalid <= MAX_CONTROL_SHARE * len(head)


def _kind_of_text(head: bytes, content_type: str) -> str:
    media = content_type.partition(";")[0].strip()
    labelled = next((found for word, found in _KIND_OF_MEDIA_TYPE if word in media), None)
    if head.startswith(b"<?xml") or labelled is DocumentKind.XML:
        return _kind_of_xml(head, labelled)
    if labelled is DocumentKind.HTML:
        # Feeds and sitemaps without an XML declaration are often labelled as HTML.
        return _kind_of_root(head) or DocumentKind.HTML
    if found := _feed_or_sitemap_kind(head, media):
        return found
    if labelled in {DocumentKind.JSON, DocumentKind.TEXT}:
        may_be_page = labelled is DocumentKind.JSON or media == "text/plain"
        return DocumentKind.HTML if may_be_page and _XHTML_ROOT.match(head) else str(labelled)
    return _kind_without_label(head)


def _feed_or_sitemap_kind(head: bytes, media: str) -> str:
    """Return the kind of a feed or sitemap that is labelled as text or JSON; empty for neither."""
    if head.startswith(b"{"):
        return DocumentKind.FEED if _JSON_FEED in head[:HEAD_BYTES] else ""
    return _kind_of_root(head) if media in _UNRELIABLE_MEDIA_TYPES else ""


def _kind_of_xml(head: bytes, labelled: str | None) -> str:
    if root_kind := _kind_of_root(head):
        return root_kind
    for root, found in _XML_ROOTS:
        if root.search(head):
            return found
    if _XHTML_ROOT.search(head) or labelled is DocumentKind.HTML:
        return DocumentKind.HTML
    return DocumentKind.XML


def _kind_without_label(head: bytes) -> str:
    """Return the kind of a document without a conclusive label."""
    if root := _kind_of_root(head):
        return root
    if _HTML.match(head) or (head.startswith(b"<!--") and _HTML.search(head)):
        return DocumentKind.HTML
    if head.startswith((b"{", b"[")):
        return DocumentKind.JSON
    return DocumentKind.HTML if _HTML.search(head) else DocumentKind.TEXT


def _kind_of_root(head: bytes) -> str:
    """Return the kind of the root element, after comments and declarations; empty if unknown."""
    start = match.end() if (match := _PROLOGUE.match(head)) else 0
    return next((found for root, found in _XML_ROOTS if root.match(head, start)), "")

"""What kind of document are these bytes, whatever their label says?

The first bytes decide where they are unmistakable; else the label does, where the bytes can be
what it says; what is not text is no document of ours.
"""

from __future__ import annotations

import re
from typing import Final

from strider.contracts.generated.words import DocumentKind, RequestKind

HEAD_BYTES: Final = 1024

_MAGIC: Final = (
    (b"%PDF-", DocumentKind.PDF),
    (b"\x89PNG\r\n", DocumentKind.IMAGE),
    (b"\xff\xd8\xff", DocumentKind.IMAGE),
    (b"GIF87a", DocumentKind.IMAGE),
    (b"GIF89a", DocumentKind.IMAGE),
    (b"BM", DocumentKind.IMAGE),
    (b"PK\x03\x04", DocumentKind.OTHER),
    (b"\x1f\x8b", DocumentKind.OTHER),
)
_RIFF: Final = b"RIFF"
_HTML: Final = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|script|style|meta|link|h[1-6]|div|p|a|br|table|ul|ol|span|img"
    rb"|iframe|form|center|font|main|article|section|nav|header|footer)[\s/>]",
    re.IGNORECASE,
)
_XML_ROOTS: Final = (
    (re.compile(rb"<(?:\w+:)?urlset[\s>]"), DocumentKind.SITEMAP),
    (re.compile(rb"<(?:\w+:)?sitemapindex[\s>]"), DocumentKind.SITEMAP_INDEX),
    (re.compile(rb"<(?:rss|(?:\w+:)?feed|rdf:RDF)[\s>]", re.IGNORECASE), DocumentKind.FEED),
)
_XHTML_ROOT: Final = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_WORDS_OF_TYPES: Final = (
    ("html", DocumentKind.HTML),
    ("json", DocumentKind.JSON),
    ("xml", DocumentKind.XML),
    ("text/", DocumentKind.TEXT),
    ("javascript", DocumentKind.TEXT),
)
_CONTROL: Final = bytes(set(range(0x20)) - set(b"\t\n\r\f\x1b"))
"""Bytes that text of any encoding in use has none of (ESC begins ISO-2022-JP's shifts)."""

_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
MAX_SHARE_OF_CONTROL: Final = 0.02
"""Stray control bytes happen in pages; a picture has a tenth and more."""


def find_kind(content: bytes, *, content_type: str, kind: str) -> str:
    """Decide what a document is; `kind` is what was expected behind its URL."""
    head = content[:HEAD_BYTES]
    for magic, found in _MAGIC:
        if head.startswith(magic) and (magic != b"BM" or is_binary(head)):
            return found
    if head.startswith(_RIFF) and head[8:12] == b"WEBP":
        return DocumentKind.IMAGE
    if is_binary(head):
        return DocumentKind.OTHER
    if kind == RequestKind.ROBOTS:
        return DocumentKind.ROBOTS
    return _kind_of_text(
        head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\f"), content_type.lower()
    )


def is_binary(head: bytes) -> bool:
    """Say whether bytes are no text: control bytes in number, and not every other one a zero."""
    control = len(head) - len(head.translate(None, _CONTROL))
    if control <= MAX_SHARE_OF_CONTROL * len(head):
        return False
    few, many = sorted((head[0::2].count(0), head[1::2].count(0)))
    is_wide = head.startswith(_WIDE_MARKS) or (many > len(head) // 4 and few < many // 8)
    return not (is_wide and control - few - many <= MAX_SHARE_OF_CONTROL * len(head))


def _kind_of_text(head: bytes, content_type: str) -> str:
    media = content_type.partition(";")[0].strip()
    labelled = next((found for word, found in _WORDS_OF_TYPES if word in media), None)
    if head.startswith(b"<?xml") or labelled is DocumentKind.XML:
        return _kind_of_xml(head, labelled)
    if labelled is DocumentKind.HTML:
        # Feeds and sitemaps without a declaration are often labelled as pages.
        return next((found for root, found in _XML_ROOTS if root.match(head)), DocumentKind.HTML)
    if labelled is DocumentKind.JSON:
        return DocumentKind.HTML if _XHTML_ROOT.match(head) else DocumentKind.JSON
    if labelled is DocumentKind.TEXT and media != "text/plain":
        return DocumentKind.TEXT
    if labelled is DocumentKind.TEXT:
        return DocumentKind.HTML if _XHTML_ROOT.match(head) else DocumentKind.TEXT
    return _kind_by_look(head)


def _kind_of_xml(head: bytes, labelled: str | None) -> str:
    for root, found in _XML_ROOTS:
        if root.search(head):
            return found
    if _XHTML_ROOT.search(head) or labelled is DocumentKind.HTML:
        return DocumentKind.HTML
    return DocumentKind.XML


def _kind_by_look(head: bytes) -> str:
    """Decide without a label that helps."""
    if _HTML.match(head) or (head.startswith(b"<!--") and _HTML.search(head)):
        return DocumentKind.HTML
    for root, found in _XML_ROOTS:
        if root.match(head):
            return found
    if head.startswith((b"{", b"[")):
        return DocumentKind.JSON
    return DocumentKind.HTML if _HTML.search(head) else DocumentKind.TEXT

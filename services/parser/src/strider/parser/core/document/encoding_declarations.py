"""Which encoding does a document say that it is in?

Looks for a declaration as browsers do: in elements of their own, with comments passed over and words
within another attribute's value not heard.
"""

from __future__ import annotations

import re
from typing import Final

PRESCAN_BYTES: Final = 1024
"""How far the standard looks for a declaration; some pages put it a little later, so we look further."""
DECLARATION_BYTES: Final = 4 * PRESCAN_BYTES

_LABEL: Final = rb"([a-zA-Z0-9_:.+-]{2,40})"
_XML_DECLARATION: Final = re.compile(
    rb"""[\s\0]*<\?xml[^>]{0,200}?encoding\s*=\s*["']""" + _LABEL, re.IGNORECASE
)
_META_START: Final = re.compile(rb"<meta[\s/]", re.IGNORECASE)
_COMMON_META: Final = re.compile(
    rb"""<meta\s+(?:http-equiv\s*=\s*["']?content-type["']?\s+content\s*=\s*["']?[\w./+-]{3,40};?\s*)?charset\s*=\s*["']?\s*"""
    + _LABEL,
    re.IGNORECASE,
)
_WITHIN: Final = rb"""(?>(?:[^>"']|"[^"]*"|'[^']*')*)"""
_TOKEN: Final = re.compile(
    rb"<!--.*?(?:-->|\Z)|<meta(?=[\s/])(?P<meta>" + _WITHIN + rb")>|</?[a-z]" + _WITHIN + rb">|<[!/?][^>]*>",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(rb"""([^\s"'>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_CONTENT_CHARSET: Final = re.compile(
    rb"""\s*[\w.+-]{1,40}/[\w.+-]{1,40}\s*[;,]?\s*charset\s*=\s*["']?\s*""" + _LABEL, re.IGNORECASE
)
_CHARSET_VALUE: Final = re.compile(rb"\s*" + _LABEL)


def declared_encoding(content: bytes) -> str:
    """Give the label that a document declares; empty where it declares none."""
    head = content[:DECLARATION_BYTES]
    if match := _XML_DECLARATION.match(head):
        return match[1].decode("ascii")
    first = _META_START.search(head)
    if first is None:
        return ""
    before = head[: first.start()].rstrip()
    is_plain = b"<!--" not in before and (not before or before.endswith(b">"))
    if is_plain and (match := _COMMON_META.match(head, first.start())):
        return match[1].decode("ascii")  # as on most pages
    for token in _TOKEN.finditer(head):
        if token["meta"] and (label := _label_of(token["meta"])):
            return label
    return ""


def _label_of(attributes: bytes) -> str:
    """Hear one meta element: its charset, or what its content says beside a type."""
    said = {name.lower(): one or other or bare for name, one, other, bare in _ATTRIBUTE.findall(attributes)}
    match = _CHARSET_VALUE.match(said.get(b"charset", b"")) or _CONTENT_CHARSET.match(
        said.get(b"content", b"")
    )
    return match[1].decode("ascii") if match else ""

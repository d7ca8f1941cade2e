"""Rewrite XHTML as HTML before it is parsed.

XML closes an element with `/>`, which HTML ignores: a `<title/>` or `<script src="a.js"/>` would contain
everything after it. CDATA sections are text in XML and comments in HTML. Both are rewritten; other
differences do not affect the extracted content.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

_VOID_ELEMENTS: Final = frozenset(
    b"area base basefont br col embed frame hr img input keygen link meta param source track wbr".split()
)
_ATTRIBUTES: Final = rb"(?>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)"
# A section without an end extends to the end of the text: searching for the end repeatedly would take
# quadratic time.
_MARKUP: Final = re.compile(
    rb"<!--.*?(?:-->|\Z)"
    rb"|<(?P<raw>script|style)\b" + _ATTRIBUTES + rb"(?<!/)>(?P<code>.*?)(?:</(?P=raw)\s*>|\Z)"
    rb"|<!\[CDATA\[(?P<text>.*?)(?:\]\]>|\Z)"
    rb"|<(?P<name>[A-Za-z][\w.:-]*)(?P<attributes>" + _ATTRIBUTES + rb")>",
    re.DOTALL,
)
_CDATA_DELIMITERS: Final = re.compile(rb"<!\[CDATA\[|\]\]>")
_SELF_CLOSED: Final = re.compile(rb"(?:^|[\s\"'])/$")


def is_xml_content_type(content_type: str) -> bool:
    """Whether a page is sent as XML, and so parsed as XML by browsers."""
    return "xml" in content_type.partition(";")[0].lower()


def xhtml_to_html(content: bytes) -> bytes:
    """Return XHTML (in UTF-8) as equivalent HTML."""
    if b"/>" not in content and b"<![CDATA[" not in content:
        return content
    return _MARKUP.sub(_rewrite_markup, content)


def _rewrite_markup(part: re.Match[bytes]) -> bytes:
    if part["text"] is not None:
        return escape(part["text"].decode("utf-8", "surrogateescape"), quote=False).encode(
            "utf-8", "surrogateescape"
        )
    if part["raw"]:
        return part[0] if b"<![CDATA[" not in part["code"] else _CDATA_DELIMITERS.sub(b"", part[0])
    name, attributes = part["name"], part["attributes"] or b""
    if name is None or name.lower() in _VOID_ELEMENTS or _SELF_CLOSED.search(attributes) is None:
        return part[0]
    return b"<" + name + attributes[:-1] + b"></" + name + b">"

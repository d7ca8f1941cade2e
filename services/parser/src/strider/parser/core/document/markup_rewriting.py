"""Rewrite XHTML and shadow DOM templates, which an HTML parser would misread.

XML closes an element with `/>`, which HTML ignores: a `<title/>` or `<script src="a.js"/>` would contain
everything after it. CDATA sections are text in XML and comments in HTML. Both are rewritten; other
differences do not affect the extracted content.

A browser shows the template of a declared shadow root in place of its host element. An HTML parser keeps
every template outside the tree, so that its text and links would be lost. Here such a template becomes an
unknown element, which closes no open element. Scripts, styles, comments and other templates stay as they are.
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


_ATTRIBUTE_NAME: Final = b"shadowrootmode"

_OPEN_TAG: Final = b"<shadow-root>"
_CLOSE_TAG: Final = b"</shadow-root>"

_TEMPLATE_MARKUP: Final = re.compile(
    rb"<!--(?:.*?-->|.*)|<(script|style|textarea|title)\b(?:.*?</\1\s*>|.*)"
    rb"|<template(?=[\s/>])(?>[^<>\"']|\"[^\"]*\"|'[^']*')*>|</template\s*>",
    re.DOTALL | re.IGNORECASE,
)
_DECLARES_SHADOW_ROOT: Final = re.compile(
    rb"\sshadowrootmode\s*=\s*[\"']?\s*(?:open|closed)\s*[\"'\s/>]", re.IGNORECASE
)


def inline_shadow_roots(content: bytes) -> bytes:
    """Return a document with its declared shadow roots inlined; the same object if it has none."""
    if _ATTRIBUTE_NAME not in content:
        return content
    open_templates: list[bool] = []

    def replace_tag(match: re.Match[bytes]) -> bytes:
        tag = match[0]
        if tag[:10].lower().startswith(b"<template"):
            open_templates.append(_DECLARES_SHADOW_ROOT.search(tag) is not None)
            return _OPEN_TAG if open_templates[-1] else tag
        if tag.startswith(b"</") and open_templates and open_templates.pop():
            return _CLOSE_TAG
        return tag

    inlined = _TEMPLATE_MARKUP.sub(replace_tag, content)
    return content if inlined == content else inlined

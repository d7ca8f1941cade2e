"""How is a page to be written for a reader of HTML that was sent as XML?

XML ends an element with `/>`, which HTML does not know: a `<title/>` or `<script src="a.js"/>` would take all
that follows into itself. Sections of CDATA are text in XML, and comments in HTML. Both are written anew; what
else differs makes no difference to what a page says.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

_VOID_ELEMENTS: Final = frozenset(
    b"area base basefont br col embed frame hr img input keygen link meta param source track wbr".split()
)
_SAID: Final = rb"(?>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)"
# What has no end goes on to the end of the text: to look for its end again and again would take for ever.
_MARKUP: Final = re.compile(
    rb"<!--.*?(?:-->|\Z)"
    rb"|<(?P<raw>script|style)\b" + _SAID + rb"(?<!/)>(?P<code>.*?)(?:</(?P=raw)\s*>|\Z)"
    rb"|<!\[CDATA\[(?P<text>.*?)(?:\]\]>|\Z)"
    rb"|<(?P<name>[A-Za-z][\w.:-]*)(?P<said>" + _SAID + rb")>",
    re.DOTALL,
)
_MARKS: Final = re.compile(rb"<!\[CDATA\[|\]\]>")
_SELF_CLOSED: Final = re.compile(rb"(?:^|[\s\"'])/$")


def is_xml_content_type(content_type: str) -> bool:
    """Say whether a page is sent as XML, and so read as such by browsers."""
    return "xml" in content_type.partition(";")[0].lower()


def xhtml_to_html(content: bytes) -> bytes:
    """Write XHTML, in UTF-8, as HTML says the same."""
    if b"/>" not in content and b"<![CDATA[" not in content:
        return content
    return _MARKUP.sub(_written, content)


def _written(part: re.Match[bytes]) -> bytes:
    if part["text"] is not None:
        return escape(part["text"].decode("utf-8", "surrogateescape"), quote=False).encode(
            "utf-8", "surrogateescape"
        )
    if part["raw"]:
        return part[0] if b"<![CDATA[" not in part["code"] else _MARKS.sub(b"", part[0])
    name, said = part["name"], part["said"] or b""
    if name is None or name.lower() in _VOID_ELEMENTS or _SELF_CLOSED.search(said) is None:
        return part[0]
    return b"<" + name + said[:-1] + b"></" + name + b">"

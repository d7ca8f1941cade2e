"""Which templates does a reader see?

Those that declare the shadow tree of the element they stand in: a browser shows them in its place. A parser
of HTML keeps every template beside the tree, so that its text and links would be nobody's. Here such a
template becomes an element that means nothing, which closes none that is open. Scripts, styles and remarks
are passed over, and so are templates that are none of these.
"""

from __future__ import annotations

import re
from typing import Final

_ATTRIBUTE_NAME: Final = b"shadowrootmode"

_OPENED: Final = b"<shadow-root>"
_CLOSED: Final = b"</shadow-root>"

_PLACES: Final = re.compile(
    rb"<!--(?:.*?-->|.*)|<(script|style|textarea|title)\b(?:.*?</\1\s*>|.*)"
    rb"|<template(?=[\s/>])(?>[^<>\"']|\"[^\"]*\"|'[^']*')*>|</template\s*>",
    re.DOTALL | re.IGNORECASE,
)
_SHOWN: Final = re.compile(rb"\sshadowrootmode\s*=\s*[\"']?\s*(?:open|closed)\s*[\"'\s/>]", re.IGNORECASE)


def inline_shadow_roots(content: bytes) -> bytes:
    """Give a document whose declared shadow trees are part of it; the very same where it has none."""
    if _ATTRIBUTE_NAME not in content:
        return content
    open_templates: list[bool] = []

    def place(match: re.Match[bytes]) -> bytes:
        said = match[0]
        if said[:10].lower().startswith(b"<template"):
            open_templates.append(_SHOWN.search(said) is not None)
            return _OPENED if open_templates[-1] else said
        if said.startswith(b"</") and open_templates and open_templates.pop():
            return _CLOSED
        return said

    shown = _PLACES.sub(place, content)
    return content if shown == content else shown

"""Replace declarative shadow DOM templates by elements, so that their content is parsed.

A browser shows the template of a declared shadow root in place of its host element. An HTML parser keeps
every template outside the tree, so that its text and links would be lost. Here such a template becomes an
unknown element, which closes no open element. Scripts, styles, comments and other templates stay as they are.
"""

from __future__ import annotations

import re
from typing import Final

_ATTRIBUTE_NAME: Final = b"shadowrootmode"

_OPEN_TAG: Final = b"<shadow-root>"
_CLOSE_TAG: Final = b"</shadow-root>"

_MARKUP: Final = re.compile(
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

    inlined = _MARKUP.sub(replace_tag, content)
    return content if inlined == content else inlined

"""What is said by a text that may be markup, or packed into letters?

Takes a field of a feed or of structured data, gives the words that a person would see. Time grows with the
number of characters alone.
"""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape
from typing import Final

_MARKUP: Final = re.compile(r"</?[A-Za-z!][^<>]*>")
_PARTING: Final = re.compile(
    r"</?(?:p|div|br|li|[uod]l|d[dt]|h[1-6]|t[dhr]|table|blockquote|section|article|hr|pre)\b[^<>]*>",
    re.IGNORECASE,
)
"""Markup between whose sides nobody reads one word."""

_SILENT: Final = re.compile(r"<(script|style)\b[^<>]*>[^<]*</\1\s*>", re.IGNORECASE)
_ENTITY: Final = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|\w+);")


def strip_markup(text: str, kind: str = "") -> str:
    """Give a text without markup; of type `text` it has none to begin with."""
    if kind == "base64" or _is_base64_type(kind):
        text, kind = _decode_base64(text), ""
    if kind not in {"text", "text/plain"} and ("<" in text or "&" in text):
        text = _MARKUP.sub("", _PARTING.sub(" ", _SILENT.sub("", _without_comments(text))))
        if _ENTITY.search(text):
            text = unescape(text)
    return " ".join(text.replace("\0", "").split())


def _is_base64_type(kind: str) -> bool:
    """Say whether Atom packs a type into letters: all that is no text."""
    return "/" in kind and not kind.startswith("text/") and not kind.endswith(("xml", "html"))


def _without_comments(text: str) -> str:
    first, *others = text.split("<!--")
    return first + "".join(rest.partition("-->")[2] for rest in others)


def _decode_base64(text: str) -> str:
    try:
        return b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except ValueError:
        return text

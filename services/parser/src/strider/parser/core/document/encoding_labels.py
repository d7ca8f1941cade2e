"""Find the encoding that a document declares, and resolve encoding labels.

Labels resolve as in the WHATWG Encoding Standard (`latin1` is windows-1252), others by the codecs of Python.
Declarations are searched as browsers do: only in elements of their own, with comments skipped and text within
the values of other attributes ignored.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Final

from webencodings import PYTHON_NAMES
from webencodings.labels import LABELS

MAX_LABEL_CHARS: Final = 40

_NAME_OF_EQUIVALENT: Final = {
    "gbk": "gb18030",
    "iso-8859-8-i": "iso-8859-8",
    "x-user-defined": "windows-1252",
}
"""Encodings of the standard that decode like another one, or are not used by pages."""

_NONSTANDARD_LABELS: Final = {
    "ansi": "windows-1252",
    "latin-1": "windows-1252",
    "tis620": "windows-874",
    "utf-8-sig": "utf-8",
    "utf8mb4": "utf-8",
}
_REPLACEMENT: Final = "replacement"
"""The standard's name for what browsers refuse to decode; Python decodes some of it."""

_NOT_ENCODINGS: Final = frozenset(
    {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "mbcs", "oem"}
)
"""Text encodings of Python that no page is written in."""

_SHORT_ISO: Final = re.compile(r"^iso-?8859-?(\d{1,2})$")


@lru_cache(maxsize=256)
def canonical_encoding(label: str) -> str:
    """Return the canonical name for a label; empty if it is unknown or cannot be decoded."""
    lower = label.strip().lower()
    if not lower or len(lower) > MAX_LABEL_CHARS or "utf-7" in lower or "utf7" in lower:
        return ""  # UTF-7 smuggles markup past filters, and no browser decodes it.
    full = _SHORT_ISO.sub(r"iso-8859-\1", lower)
    standard = LABELS.get(_NONSTANDARD_LABELS.get(full, full), _REPLACEMENT)
    name = full if standard == _REPLACEMENT else _NAME_OF_EQUIVALENT.get(standard, standard)
    try:
        found = codecs.lookup(python_codec(name))
    except (LookupError, ValueError):
        return ""
    # Python has codecs that are not character encodings (rot13, hex, idna, punycode).
    is_text = found._is_text_encoding  # noqa: SLF001  # nothing public says it
    return name if is_text and found.name.replace("_", "-") not in _NOT_ENCODINGS else ""


def python_codec(name: str) -> str:
    """Return the name of the Python codec for a canonical encoding name."""
    return PYTHON_NAMES.get(name, name)


PRESCAN_BYTES: Final = 1024
"""Search range of the standard; some pages declare a little later, so the range used is longer."""


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


_TAG_BODY: Final = rb"""(?>(?:[^>"']|"[^"]*"|'[^']*')*)"""


# A tag without an end extends to its unpaired quote or to the end of the text: searching for the end
# repeatedly would take quadratic time.
_TOKEN: Final = re.compile(
    rb"<!--.*?(?:-->|\Z)|<meta(?=[\s/])(?P<meta>"
    + _TAG_BODY
    + rb")>|</?[a-z]"
    + _TAG_BODY
    + rb"(?:[>\"']|\Z)|<[!/?][^>]*(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)


_ATTRIBUTE: Final = re.compile(rb"""([^\s"'>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


_CONTENT_CHARSET: Final = re.compile(
    rb"""\s*[\w.+-]{1,40}/[\w.+-]{1,40}\s*[;,]?\s*charset\s*=\s*["']?\s*""" + _LABEL, re.IGNORECASE
)


_CHARSET_VALUE: Final = re.compile(rb"\s*" + _LABEL)


def declared_encoding(content: bytes) -> str:
    """Return the encoding label that a document declares; empty if there is none."""
    head = content[:DECLARATION_BYTES]
    if match := _XML_DECLARATION.match(head):
        return match[1].decode("ascii")
    first = _META_START.search(head)
    if first is None:
        return ""
    before = head[: first.start()].rstrip()
    is_plain = b"<!--" not in before and (not before or before.endswith(b">"))
    if is_plain and (match := _COMMON_META.match(head, first.start())):
        return match[1].decode("ascii")  # The form that most pages use.
    for token in _TOKEN.finditer(head):
        if token["meta"] and (label := _meta_encoding(token["meta"])):
            return label
    return ""


def _meta_encoding(attributes: bytes) -> str:
    """Return the encoding of one meta element: its charset, or the one in its content."""
    values = {name.lower(): one or other or bare for name, one, other, bare in _ATTRIBUTE.findall(attributes)}
    match = _CHARSET_VALUE.match(values.get(b"charset", b"")) or _CONTENT_CHARSET.match(
        values.get(b"content", b"")
    )
    return match[1].decode("ascii") if match else ""

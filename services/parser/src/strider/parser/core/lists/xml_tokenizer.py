"""Tokenize XML leniently into tags and texts, however broken it is.

One pass in linear time; tolerates unclosed tags, stray ampersands, HTML entities and missing end tags, which
are common in feeds. Entity declarations are ignored, so that nothing is expanded or fetched. Knows no format;
names get the usual prefix of their namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from typing import Final, NamedTuple

START: Final = 0
END: Final = 1
TEXT: Final = 2

_TAG: Final = re.compile(
    r"""<(/?)([A-Za-z_][\w.-]*(?::[\w.-]+)?)((?>[^<>"']|"[^"<]*"|'[^'<]*')*)>"""
    r"""|<(/?)([A-Za-z_][\w.-]*(?::[\w.-]+)?)([^<>]*)>"""
)
_ATTRIBUTE: Final = re.compile(r"""([A-Za-z_][\w.:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>/]+))""")
_SUBSET_END: Final = re.compile(r"\]\s*>")

_PREFIX_OF_NAMESPACE: Final = {
    "http://purl.org/dc/elements/1.1": "dc",
    "http://purl.org/dc/elements/1.0": "dc",
    "http://purl.org/dc/terms": "dcterms",
    "http://purl.org/rss/1.0/modules/content": "content",
    "http://purl.org/rss/1.0": "",
    "http://my.netscape.com/rdf/simple/0.9": "",
    "http://channel.netscape.com/rdf/simple/0.9": "",
    "http://backend.userland.com/rss2": "",
    "http://www.w3.org/2005/atom": "atom",
    "http://purl.org/atom/ns#": "atom",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns": "rdf",
    "http://search.yahoo.com/mrss": "media",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://www.w3.org/1999/xhtml": "xhtml",
    "http://www.google.com/schemas/sitemap-image/1.1": "image",
    "http://www.google.com/schemas/sitemap-video/1.1": "video",
    "http://www.google.com/schemas/sitemap-news/0.9": "news",
}
"""The prefix used here for a namespace, whatever prefix a document declares."""


class XmlToken(NamedTuple):
    """One tag or text."""

    kind: int
    name: str
    """Name of a tag in lower case, without the prefix of the document's root element."""
    value: str
    """The decoded text; of a start tag its unparsed attributes."""


def tokenize(text: str, names: XmlNames | None = None) -> Iterator[XmlToken]:
    """Yield tags and texts in order; an empty element yields a start and an end.

    For a document in pieces, pass the names of the previous pieces.
    """
    names = names or XmlNames()
    at, size = 0, len(text)
    while at < size:
        opening = text.find("<", at)
        if opening != at:
            piece = text[at:] if opening < 0 else text[at:opening]
            yield XmlToken(TEXT, "", decode_references(piece) if "&" in piece else piece)
            if opening < 0:
                return
        match = _TAG.match(text, opening)
        if match is None:
            at, literal = _skip_non_tag(text, opening)
            if literal:
                yield XmlToken(TEXT, "", literal)
            continue
        at = match.end()
        is_end, raw, rest = match.group(1, 2, 3) if match[2] else match.group(4, 5, 6)
        name = names.normalize(raw, rest)
        if is_end:
            yield XmlToken(END, name, "")
            continue
        yield XmlToken(START, name, rest)
        if rest.endswith("/"):
            yield XmlToken(END, name, "")


def parse_attributes(raw: str) -> dict[str, str]:
    """Parse the attributes of a start tag; names in lower case."""
    return {
        name.lower(): decode_references(one or other or bare)
        for name, one, other, bare in _ATTRIBUTE.findall(raw)
    }


_REFERENCE: Final = re.compile(r"&(?:#(?:[0-9]{1,9}|[xX][0-9a-fA-F]{1,8});?|([A-Za-z][A-Za-z0-9]{1,31};))")


def decode_references(text: str) -> str:
    """Decode character references; named ones only with their semicolon.

    URLs often contain unescaped ampersands: `&copy=2` and `&region=eu` are parameters, not references.
    """
    return _REFERENCE.sub(_decode_reference, text)


def _decode_reference(match: re.Match[str]) -> str:
    name: str | None = match[1]
    return unescape(match[0]) if name is None else html5.get(name, match[0])


def _skip_non_tag(text: str, opening: int) -> tuple[int, str]:
    """Skip what starts with < and is not a tag; return its end, and which part of it is text."""
    if text.startswith("<![CDATA[", opening):
        end = text.find("]]>", opening)
        return (len(text), text[opening + 9 :]) if end < 0 else (end + 3, text[opening + 9 : end])
    for begin, finish in (("<!--", "-->"), ("<?", "?>")):
        if text.startswith(begin, opening):
            end = text.find(finish, opening + len(begin))
            return (len(text) if end < 0 else end + len(finish)), ""
    if text.startswith("<!", opening):
        return _after_declaration(text, opening), ""
    return opening + 1, "<"


def _after_declaration(text: str, opening: int) -> int:
    end = text.find(">", opening)
    subset = text.find("[", opening, end if end >= 0 else len(text))
    if subset >= 0:
        closing = _SUBSET_END.search(text, subset)
        return len(text) if closing is None else closing.end()
    return len(text) if end < 0 else end + 1


class XmlNames:
    """Maps the namespace prefixes of a document to the usual ones."""

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}
        self._root = ""
        self._cache: dict[str, str] = {}

    def normalize(self, raw: str, rest: str) -> str:
        """Return the usual name of an element."""
        if "xmlns:" in rest:
            self._add_namespaces(rest)
        name = self._cache.get(raw)
        if name is None:
            name = self._cache[raw] = self._usual_name(raw)
        return name

    def _add_namespaces(self, rest: str) -> None:
        for name, uri in parse_attributes(rest).items():
            if name.startswith("xmlns:"):
                usual = _PREFIX_OF_NAMESPACE.get(
                    uri.strip().lower().rstrip("/"), _PREFIX_OF_NAMESPACE.get(uri.strip().lower())
                )
                if usual is not None and self._prefixes.get(name[6:]) != usual:
                    self._prefixes[name[6:]] = usual
                    self._cache.clear()

    def _usual_name(self, raw: str) -> str:
        prefix, colon, local = raw.lower().partition(":")
        is_root = not self._root
        if is_root:
            self._root = prefix if colon else " "
        if not colon:
            return prefix
        if prefix == self._root and local != "rdf":
            return local
        usual = self._prefixes.get(prefix, prefix)
        return f"{usual}:{local}" if usual else local

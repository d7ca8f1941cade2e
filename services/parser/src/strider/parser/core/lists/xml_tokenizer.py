"""What tags and texts does XML consist of, however broken it is?

Walks over characters once, in time that grows with their number alone: unclosed tags, stray ampersands,
HTML's entities and missing ends are what feeds are made of. Declarations of entities are never looked at,
so there is nothing to expand and nothing to fetch. Knows no format; says names by their usual prefix.
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
"""The usual prefix of a namespace; whatever a document calls it, it is called so here."""


class XmlToken(NamedTuple):
    """One tag or text."""

    kind: int
    name: str
    """Of a tag, in lower case; the prefix of the document's own root is left out."""
    value: str
    """A text without entities; of a start, its attributes as they stand."""


def tokenize(text: str, names: Names | None = None) -> Iterator[XmlToken]:
    """Give tags and texts in their order; an empty element is a start and an end.

    Of a document in pieces each is read with the names that were heard in those before.
    """
    names = names or Names()
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
        name = names.of(raw, rest)
        if is_end:
            yield XmlToken(END, name, "")
            continue
        yield XmlToken(START, name, rest)
        if rest.endswith("/"):
            yield XmlToken(END, name, "")


def attributes(raw: str) -> dict[str, str]:
    """Read the attributes of a start; names in lower case."""
    return {
        name.lower(): decode_references(one or other or bare)
        for name, one, other, bare in _ATTRIBUTE.findall(raw)
    }


def decode_references(text: str) -> str:
    """Give the characters that references stand for; a name counts with its semicolon alone.

    Of addresses whose ampersands nobody wrote as such, `&copy=2` and `&region=eu` are parts, and no signs.
    """
    return _REFERENCE.sub(_meant, text)


_REFERENCE: Final = re.compile(r"&(?:#(?:[0-9]{1,9}|[xX][0-9a-fA-F]{1,8});?|([A-Za-z][A-Za-z0-9]{1,31};))")


def _meant(match: re.Match[str]) -> str:
    name: str | None = match[1]
    return unescape(match[0]) if name is None else html5.get(name, match[0])


def _skip_non_tag(text: str, opening: int) -> tuple[int, str]:
    """Pass over what begins with < and is no tag; gives where it ends, and what of it is text."""
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


class Names:
    """What a document calls its namespaces."""

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}
        self._root = ""
        self._known: dict[str, str] = {}

    def of(self, raw: str, rest: str) -> str:
        """Give the usual name of an element."""
        if "xmlns:" in rest:
            self._learn(rest)
        name = self._known.get(raw)
        if name is None:
            name = self._known[raw] = self._find(raw)
        return name

    def _learn(self, rest: str) -> None:
        for name, uri in attributes(rest).items():
            if name.startswith("xmlns:"):
                usual = _PREFIX_OF_NAMESPACE.get(
                    uri.strip().lower().rstrip("/"), _PREFIX_OF_NAMESPACE.get(uri.strip().lower())
                )
                if usual is not None and self._prefixes.get(name[6:]) != usual:
                    self._prefixes[name[6:]] = usual
                    self._known.clear()

    def _find(self, raw: str) -> str:
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

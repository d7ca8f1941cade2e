"""What does a page say of itself in `Link` headers (RFC 8288)? The canonical of a PDF stands nowhere else.

Takes the values of all such headers, gives link elements: whoever reads those of the page reads these behind
them. Addresses are those of the page as it was asked for, whatever base its elements have. Read as far as it
can be; what is no link is passed over. Relations that nobody asks for (preload, preconnect) are never
looked into, though most headers have nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from .metadata import resolve_url
from .models import LinkTag

LINK_HEADER: Final = "link"
MAX_LINKS: Final = 200
"""Of one page."""

USED_RELS: Final = frozenset({"canonical", "alternate", "next", "prev", "previous"})
_ASKED: Final = re.compile("canonical|alternate|next|prev", re.IGNORECASE)
_PARAMETER: Final = re.compile(
    r"""\s*;\s*([^\s=;,"<>]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*+)"|'([^',;]*)'|([^\s;,]*)))?""", re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def read_link_headers(values: Iterable[str], url: str) -> list[LinkTag]:
    """Give the links about the page itself, of relations that somebody asks for."""
    found: list[LinkTag] = []
    for value in values:
        if _ASKED.search(value):
            for href, said in _links(value):
                if len(found) >= MAX_LINKS:
                    return found
                if (tag := _link_tag(href, said, url)) is not None:
                    found.append(tag)
    return found


def _link_tag(href: str, said: dict[str, str], url: str) -> LinkTag | None:
    rel = " ".join(said.get("rel", "").lower().split())
    if USED_RELS.isdisjoint(rel.split()):
        return None
    if "anchor" in said and resolve_url(said["anchor"] or url, url) != resolve_url(url, url):
        return None  # it is about something else
    target = resolve_url(href, url)
    language, kind = said.get("hreflang", ""), said.get("type", "")
    return LinkTag(rel, target, language.strip(), kind.strip().lower()) if target else None


def _links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Cut a value into targets with their parameters, of which the first of a name counts."""
    at = 0
    while (start := value.find("<", at)) >= 0 and (end := value.find(">", start)) >= 0:
        href, at = value[start + 1 : end].strip(), end + 1
        said: dict[str, str] = {}
        while match := _PARAMETER.match(value, at):
            name, quoted, other, bare = match.groups()
            text = _ESCAPED.sub(r"\1", quoted) if quoted else other or (bare or "").strip('"')
            said.setdefault(name.lower(), text)
            at = match.end()
        yield href, said

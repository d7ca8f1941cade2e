"""Parse `Link` response headers (RFC 8288) into link elements.

Callers append them to the link elements of the page. URLs resolve against the requested URL, whatever base
element the page has. Invalid parts are skipped. Headers with unused relations only (preload, preconnect),
which are most, are not parsed at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from .metadata import resolve_url
from .models import LinkTag

LINK_HEADER: Final = "link"
MAX_LINKS: Final = 200
"""Maximum number of links per page."""

USED_RELS: Final = frozenset({"canonical", "alternate", "next", "prev", "previous"})
_MENTIONS_USED_REL: Final = re.compile("canonical|alternate|next|prev", re.IGNORECASE)
_PARAMETER: Final = re.compile(
    r"""\s*;\s*([^\s=;,"<>]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*+)"|'([^',;]*)'|([^\s;,]*)))?""", re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def read_link_headers(values: Iterable[str], url: str) -> list[LinkTag]:
    """Return the links about the page itself whose relations are used."""
    found: list[LinkTag] = []
    for value in values:
        if _MENTIONS_USED_REL.search(value):
            for href, parameters in _split_links(value):
                if len(found) >= MAX_LINKS:
                    return found
                if (tag := _link_tag(href, parameters, url)) is not None:
                    found.append(tag)
    return found


def _link_tag(href: str, parameters: dict[str, str], url: str) -> LinkTag | None:
    rel = " ".join(parameters.get("rel", "").lower().split())
    if USED_RELS.isdisjoint(rel.split()):
        return None
    if "anchor" in parameters and resolve_url(parameters["anchor"] or url, url) != resolve_url(url, url):
        return None  # describes another resource
    target = resolve_url(href, url)
    language, kind = parameters.get("hreflang", ""), parameters.get("type", "")
    return LinkTag(rel, target, language.strip(), kind.strip().lower()) if target else None


def _split_links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Split a header value into targets with their parameters; the first value of a parameter counts."""
    at = 0
    while (start := value.find("<", at)) >= 0 and (end := value.find(">", start)) >= 0:
        href, at = value[start + 1 : end].strip(), end + 1
        parameters: dict[str, str] = {}
        while match := _PARAMETER.match(value, at):
            name, quoted, other, bare = match.groups()
            text = _ESCAPED.sub(r"\1", quoted) if quoted else other or (bare or "").strip('"')
            parameters.setdefault(name.lower(), text)
            at = match.end()
        yield href, parameters

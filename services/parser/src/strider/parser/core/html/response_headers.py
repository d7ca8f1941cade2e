"""Read links (RFC 8288) and robots directives from response headers.

Links in headers are the only place where a PDF can name its canonical URL. Callers append them to the link
elements of the page. URLs resolve against the requested URL, whatever base element the page has. Invalid
parts are skipped. Headers with unused relations only (preload, preconnect), which are most, are not parsed at
all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from strider.contracts.generated.events import PageFetched
from strider.parser.core.parser_ports import ParseLimits
from strider.parser.core.unreadable_pages import header_values

from .metadata import find_alternates, find_canonical, resolve_url
from .models import NO_ANCHORS, HtmlExtract, LinkTag
from .pagination import find_pagination
from .robots_directives import collect_directives

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


HEADER_CANONICAL_KEY: Final = "link:canonical"
"""Key in `meta` for the canonical URL of the header, if an element names a different one."""


def header_links(page: PageFetched) -> list[LinkTag]:
    """Return the links that the `Link` response headers declare for the page."""
    values = header_values(page, LINK_HEADER)
    return read_link_headers(values, page.url) if values else []


def header_link_fields(page: PageFetched) -> dict[str, Any]:
    """Return event fields from headers, for documents without link elements."""
    if not (links := header_links(page)):
        return {}
    pagination = find_pagination(page.url, base=page.url, links=links, anchors=NO_ANCHORS)
    return {
        "canonical_url": find_canonical(links, page.url),
        **alternate_fields(links, page.url),
        "next_url": pagination.next_url,
        "previous_url": pagination.previous_url,
    }


def alternate_fields(links: Sequence[LinkTag], base: str) -> dict[str, Any]:
    """Return event fields for alternate versions of a document and its feeds."""
    alternates = find_alternates(links, base)
    return {
        "alternate_urls": alternates.urls,
        "alternate_languages": alternates.languages,
        "alternate_types": alternates.types,
        "feed_urls": alternates.feeds,
    }


def directive_fields(html: HtmlExtract, page: PageFetched, limits: ParseLimits) -> dict[str, Any]:
    """Return event fields for the robots directives of a document."""
    headers = zip(page.header_names, page.header_values, strict=False)
    directives = collect_directives(html.metas, headers, robot_name=limits.robot_name)
    return {
        "robots_directives": directives.names,
        "noindex": directives.noindex,
        "nofollow": directives.nofollow,
        "noarchive": directives.noarchive,
    }

"""Read robots directives and links from response headers into event fields.

Links in headers (RFC 8288) are the only place where a PDF can name its canonical URL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from strider.contracts.generated.events import PageFetched
from strider.parser.core.parser_ports import ParseLimits
from strider.parser.core.unreadable_pages import header_values

from .link_headers import LINK_HEADER, read_link_headers
from .metadata import find_alternates, find_canonical
from .models import NO_ANCHORS, HtmlExtract, LinkTag
from .pagination import find_pagination
from .robots_directives import collect_directives

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

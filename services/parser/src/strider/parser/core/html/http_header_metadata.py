"""What do the headers of a response say of its document?

Robots directives, which stand in elements as well, and links (RFC 8288): a PDF names its canonical nowhere
else.
Writes fields of the event.
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
"""Among the further properties: what the header names where an element names something else."""


def header_links(page: PageFetched) -> list[LinkTag]:
    """Give what the response's `Link` headers say of the page."""
    values = header_values(page, LINK_HEADER)
    return read_link_headers(values, page.url) if values else []


def header_link_fields(page: PageFetched) -> dict[str, Any]:
    """Write what headers say of a document that has no elements to say so."""
    if not (stated := header_links(page)):
        return {}
    pagination = find_pagination(page.url, base=page.url, links=stated, anchors=NO_ANCHORS)
    return {
        "canonical_url": find_canonical(stated, page.url),
        **alternate_fields(stated, page.url),
        "next_url": pagination.next_url,
        "previous_url": pagination.previous_url,
    }


def alternate_fields(links: Sequence[LinkTag], base: str) -> dict[str, Any]:
    """Write other forms of a document, and its feeds."""
    alternates = find_alternates(links, base)
    return {
        "alternate_urls": alternates.urls,
        "alternate_languages": alternates.languages,
        "alternate_types": alternates.types,
        "feed_urls": alternates.feeds,
    }


def directive_fields(html: HtmlExtract, page: PageFetched, limits: ParseLimits) -> dict[str, Any]:
    """Write what a document asks of us."""
    headers = zip(page.header_names, page.header_values, strict=False)
    heard = collect_directives(html.metas, headers, robot_name=limits.robot_name)
    return {
        "robots_directives": heard.names,
        "noindex": heard.noindex,
        "nofollow": heard.nofollow,
        "noarchive": heard.noarchive,
    }

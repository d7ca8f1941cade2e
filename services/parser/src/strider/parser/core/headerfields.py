"""What do the headers of a response say of its document?

Robots directives, which stand in elements as well, and links (RFC 8288): a PDF names its canonical nowhere
else.
Writes fields of the event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from strider.contracts.generated.events import PageFetched

from .directives import hear_directives
from .linkheaders import HEADER, read_link_headers
from .metadata import find_alternates, find_canonical
from .outcomes import headers_named
from .pagination import find_pagination
from .readings import NO_ANCHORS, HtmlReading, LinkTag
from .tools import Limits

OTHER_CANONICAL: Final = "link:canonical"
"""Among the further properties: what the header names where an element names something else."""


def stated_links(page: PageFetched) -> list[LinkTag]:
    """Give what the response's `Link` headers say of the page."""
    values = headers_named(page, HEADER)
    return read_link_headers(values, page.url) if values else []


def of_stated(page: PageFetched) -> dict[str, Any]:
    """Write what headers say of a document that has no elements to say so."""
    if not (stated := stated_links(page)):
        return {}
    pagination = find_pagination(page.url, base=page.url, links=stated, anchors=NO_ANCHORS)
    return {
        "canonical_url": find_canonical(stated, page.url),
        **of_alternates(stated, page.url),
        "next_url": pagination.next_url,
        "previous_url": pagination.previous_url,
    }


def of_alternates(links: Sequence[LinkTag], base: str) -> dict[str, Any]:
    """Write other forms of a document, and its feeds."""
    alternates = find_alternates(links, base)
    return {
        "alternate_urls": alternates.urls,
        "alternate_languages": alternates.languages,
        "alternate_types": alternates.types,
        "feed_urls": alternates.feeds,
    }


def of_directives(reading: HtmlReading, page: PageFetched, limits: Limits) -> dict[str, Any]:
    """Write what a document asks of us."""
    headers = zip(page.header_names, page.header_values, strict=False)
    heard = hear_directives(reading.metas, headers, robot=limits.robot)
    return {
        "robots_directives": heard.words,
        "noindex": heard.noindex,
        "nofollow": heard.nofollow,
        "noarchive": heard.noarchive,
    }

"""What a page says beyond `basic`: main text, kind, how its list goes on, dates and author.

Writes fields of the event. Each is decided in a file of its own; here they meet.
"""

from __future__ import annotations

import re
from typing import Any, Final

from strider.contracts.generated.words import PageKind

from .blocks import Blocks
from .dates import find_dates
from .fingerprints import simhash
from .maintext import as_markdown, as_text, main_blocks
from .metadata import Properties
from .pagekinds import Signs, find_page_kind, says_nothing
from .pagination import find_pagination
from .readings import HtmlReading
from .wordcounts import count_words

MAX_AUTHOR_CHARS: Final = 200
_TYPES: Final = re.compile(r'"@type"\s*:\s*\[?\s*"([A-Za-z]{1,60})"')
_AUTHOR: Final = re.compile(
    r'"author"\s*:\s*\[?\s*(?:"([^"]{1,200})"|\{[^{}]{0,500}?"name"\s*:\s*"([^"]{1,200})")'
)


def of_main(
    url: str, reading: HtmlReading, properties: Properties, *, base: str, extraction: str
) -> dict[str, Any]:
    """Decide all of it."""
    blocks = main_blocks(reading.blocks or Blocks())
    text = as_text(blocks)
    pagination = find_pagination(url, base=base, links=reading.links, anchors=reading.anchors)
    known = {**properties.plain, **properties.open_graph}
    published, modified = find_dates(known, reading.data, reading.times, url)
    signs = Signs(
        url,
        _types(reading, properties),
        properties.say("generator"),
        has_pages=bool(pagination.next_url or pagination.page_urls),
        is_dated=bool(published[0]),
    )
    kind, confidence = find_page_kind(signs, blocks, text)
    return {
        "extraction": extraction,
        "main_text": text,
        "main_text_chars": len(text),
        "markdown": as_markdown(blocks) if any(block.markdown for block in blocks) else "",
        "word_count": count_words(text.encode("utf-8", "replace")),
        "simhash": simhash(text),
        "page_kind": kind,
        "page_kind_confidence": confidence,
        "no_results": kind != PageKind.ARTICLE and says_nothing(text),
        "next_url": pagination.next_url,
        "previous_url": pagination.previous_url,
        "page_urls": pagination.page_urls,
        "pagination_style": pagination.style,
        "pagination_pattern": pagination.pattern,
        "pagination_number": pagination.number,
        "pagination_last": pagination.last,
        "published_at": published[0],
        "published_evidence": published[1],
        "modified_at": modified[0],
        "modified_evidence": modified[1],
        "author": _author(reading, properties),
    }


def _types(reading: HtmlReading, properties: Properties) -> tuple[str, ...]:
    said = (*_TYPES.findall(reading.data), *(name.rpartition("/")[2] for name in reading.item_types))
    return tuple(name.lower() for name in (*said, properties.say("og:type")) if name)


def _author(reading: HtmlReading, properties: Properties) -> str:
    said = properties.say("author", "article:author", "parsely-author", "dc.creator", "twitter:creator")
    if not said or said.startswith(("http://", "https://", "@")):
        match = _AUTHOR.search(reading.data)
        in_data = (match[1] or match[2]) if match else ""
        said = in_data or next((name for name in reading.authors if name), "") or said
    return said.strip()[:MAX_AUTHOR_CHARS]

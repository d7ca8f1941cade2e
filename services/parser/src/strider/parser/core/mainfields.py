"""What a page says beyond `basic`: main text, kind, how its list goes on, dates and author.

Writes fields of the event. Each is decided in a file of its own; here they meet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from strider.contracts.generated.enums import PageKind

from .authors import find_author
from .blocks import Block, Blocks
from .dates import find_dates
from .fingerprints import simhash
from .maintext import as_text, main_blocks
from .markdown import as_markdown
from .metadata import Properties, resolve
from .pagekinds import Signs, find_page_kind, says_nothing
from .pageobjects import PageObjects, names_of
from .pagination import find_pagination
from .plaintexts import plain
from .readings import HtmlReading
from .wordcounts import count_words

MAX_NAME_CHARS: Final = 300
_TYPES: Final = re.compile(r'"@type"\s*:\s*\[?\s*"(?:[\w:./\\]{0,40}[/:#])?([A-Za-z]{1,60})"')
_AFTER_VOCABULARY: Final = re.compile("[/:#]")


def of_main(
    url: str, reading: HtmlReading, properties: Properties, *, base: str, extraction: str, stated: str
) -> dict[str, Any]:
    """Decide all of it; `stated` is the author that meta elements name."""
    shown = main_blocks(reading.blocks or Blocks())
    blocks = [block for block in shown if block.text]
    text = as_text(blocks)
    pagination = find_pagination(url, base=base, links=reading.links, anchors=reading.anchors)
    known = {**properties.plain, **properties.open_graph}
    objects = PageObjects(reading.data)
    published, modified = find_dates(known, reading, url, objects)
    signs = Signs(
        url,
        _types(reading, properties),
        properties.say("generator"),
        has_pages=bool(pagination.next_url or pagination.page_urls),
        is_dated=bool(published[0]),
    )
    kind, confidence = find_page_kind(signs, blocks, text)
    site_name = _site_name(properties, objects)
    return {
        "extraction": extraction,
        "main_text": text,
        "main_text_chars": len(text),
        "markdown": as_markdown(shown, lambda said: resolve(said, base)) if _has_markdown(shown) else "",
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
        "author": find_author(reading, objects, stated=stated, kind=kind, site_name=site_name),
        "site_name": site_name,
    }


def _has_markdown(blocks: Sequence[Block]) -> bool:
    return any(block.markdown for block in blocks)


def _types(reading: HtmlReading, properties: Properties) -> tuple[str, ...]:
    said = (
        *_TYPES.findall(reading.data),
        *(_AFTER_VOCABULARY.split(name)[-1] for name in reading.item_types),
    )
    return tuple(name.lower() for name in (*said, properties.say("og:type")) if name)


def _site_name(properties: Properties, objects: PageObjects) -> str:
    said = properties.say("og:site_name", "application-name")
    names = (name for value in objects.said("publisher") for name in names_of(value, objects))
    return (said or next(filter(None, map(plain, names)), "")).strip()[:MAX_NAME_CHARS]

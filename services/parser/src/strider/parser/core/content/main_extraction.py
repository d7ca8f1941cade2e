"""What a page says beyond `basic`: main text, kind, how its list goes on, dates and author.

Writes fields of the event. Each is decided in a file of its own; here they meet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from strider.contracts.generated.enums import PageKind
from strider.parser.core.html.authors import find_author
from strider.parser.core.html.dates import find_dates
from strider.parser.core.html.metadata import MetaProperties, resolve_url
from strider.parser.core.html.models import HtmlExtract
from strider.parser.core.html.page_kind import PageKindSignals, classify_page, is_empty_result_list
from strider.parser.core.html.pagination import find_pagination
from strider.parser.core.structured.page_entities import PageEntities, names_of

from .main_text import as_text, select_main_blocks
from .markdown import blocks_to_markdown
from .plain_text import strip_markup
from .simhash import simhash
from .text_blocks import PageBlocks, TextBlock
from .word_count import count_words

MAX_NAME_CHARS: Final = 300
_TYPES: Final = re.compile(r'"@type"\s*:\s*\[?\s*"(?:[\w:./\\]{0,40}[/:#])?([A-Za-z]{1,60})"')
_VOCABULARY_SEPARATOR: Final = re.compile("[/:#]")


def main_content_fields(
    url: str, html: HtmlExtract, properties: MetaProperties, *, base: str, extraction: str, meta_author: str
) -> dict[str, Any]:
    """Decide all of it; `stated` is the author that meta elements name."""
    shown = select_main_blocks(html.blocks or PageBlocks())
    blocks = [block for block in shown if block.text]
    text = as_text(blocks)
    pagination = find_pagination(url, base=base, links=html.links, anchors=html.anchors)
    known = {**properties.plain, **properties.open_graph}
    objects = PageEntities(html.structured_text)
    published, modified = find_dates(known, html, url, objects)
    signs = PageKindSignals(
        url,
        _types(html, properties),
        properties.first_of("generator"),
        is_paginated=bool(pagination.next_url or pagination.page_urls),
        is_dated=bool(published[0]),
    )
    kind, confidence = classify_page(signs, blocks, text)
    site_name = _site_name(properties, objects)
    return {
        "extraction": extraction,
        "main_text": text,
        "main_text_chars": len(text),
        "markdown": blocks_to_markdown(shown, lambda said: resolve_url(said, base))
        if _has_markdown(shown)
        else "",
        "word_count": count_words(text.encode("utf-8", "replace")),
        "simhash": simhash(text),
        "page_kind": kind,
        "page_kind_confidence": confidence,
        "no_results": kind != PageKind.ARTICLE and is_empty_result_list(text),
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
        "author": find_author(html, objects, from_meta=meta_author, kind=kind, site_name=site_name),
        "site_name": site_name,
    }


def _has_markdown(blocks: Sequence[TextBlock]) -> bool:
    return any(block.markdown for block in blocks)


def _types(reading: HtmlExtract, properties: MetaProperties) -> tuple[str, ...]:
    said = (
        *_TYPES.findall(reading.structured_text),
        *(_VOCABULARY_SEPARATOR.split(name)[-1] for name in reading.item_types),
    )
    return tuple(name.lower() for name in (*said, properties.first_of("og:type")) if name)


def _site_name(properties: MetaProperties, objects: PageEntities) -> str:
    said = properties.first_of("og:site_name", "application-name")
    names = (name for value in objects.values_of("publisher") for name in names_of(value, objects))
    return (said or next(filter(None, map(strip_markup, names)), "")).strip()[:MAX_NAME_CHARS]

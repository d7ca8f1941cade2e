"""Collect the event fields beyond `basic`: main text, page kind, pagination, dates, author.

Each is decided in a module of its own; this one combines them.
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
from strider.parser.core.html.pagination import Pagination, find_pagination
from strider.parser.core.structured.page_entities import PageEntities, collect_names

from .main_text import blocks_to_text, select_main_blocks
from .markdown import blocks_to_markdown
from .plain_text import count_words, strip_markup
from .simhash import simhash
from .text_blocks import PageBlocks, TextBlock

MAX_NAME_CHARS: Final = 300
_JSON_LD_TYPE: Final = re.compile(r'"@type"\s*:\s*\[?\s*"(?:[\w:./\\]{0,40}[/:#])?([A-Za-z]{1,60})"')
_VOCABULARY_SEPARATOR: Final = re.compile("[/:#]")


def main_content_fields(
    url: str, html: HtmlExtract, properties: MetaProperties, *, base: str, extraction: str, meta_author: str
) -> dict[str, Any]:
    """Return these fields; `meta_author` is the author that meta elements name."""
    shown = select_main_blocks(html.blocks or PageBlocks())
    blocks = [block for block in shown if block.text]
    text = blocks_to_text(blocks)
    pagination = find_pagination(url, base=base, links=html.links, anchors=html.anchors)
    meta_values = {**properties.plain, **properties.open_graph}
    entities = PageEntities(html.structured_text)
    published, modified = find_dates(meta_values, html, url, entities)
    signals = PageKindSignals(
        url,
        _declared_types(html, properties),
        properties.first_of("generator"),
        is_paginated=bool(pagination.next_url or pagination.page_urls),
        is_dated=bool(published[0]),
    )
    kind, confidence = classify_page(signals, blocks, text)
    site_name = _site_name(properties, entities)
    return {
        "extraction": extraction,
        "main_text": text,
        "main_text_chars": len(text),
        "markdown": _markdown(shown, base),
        "word_count": count_words(text.encode("utf-8", "replace")),
        "simhash": simhash(text),
        "page_kind": kind,
        "page_kind_confidence": confidence,
        "no_results": kind != PageKind.ARTICLE and is_empty_result_list(text),
        **_pagination_fields(pagination),
        "published_at": published[0],
        "published_evidence": published[1],
        "modified_at": modified[0],
        "modified_evidence": modified[1],
        "author": find_author(html, entities, from_meta=meta_author, kind=kind, site_name=site_name),
        "site_name": site_name,
    }


def _pagination_fields(pagination: Pagination) -> dict[str, Any]:
    return {
        "next_url": pagination.next_url,
        "previous_url": pagination.previous_url,
        "page_urls": pagination.page_urls,
        "pagination_style": pagination.style,
        "pagination_pattern": pagination.pattern,
        "pagination_number": pagination.number,
        "pagination_last": pagination.last,
    }


def _markdown(blocks: Sequence[TextBlock], base: str) -> str:
    if not any(block.markdown for block in blocks):
        return ""
    return blocks_to_markdown(blocks, lambda href: resolve_url(href, base))


def _declared_types(html: HtmlExtract, properties: MetaProperties) -> tuple[str, ...]:
    declared = (
        *_JSON_LD_TYPE.findall(html.structured_text),
        *(_VOCABULARY_SEPARATOR.split(name)[-1] for name in html.item_types),
    )
    return tuple(name.lower() for name in (*declared, properties.first_of("og:type")) if name)


def _site_name(properties: MetaProperties, entities: PageEntities) -> str:
    from_meta = properties.first_of("og:site_name", "application-name")
    names = (name for value in entities.values_of("publisher") for name in collect_names(value, entities))
    return (from_meta or next(filter(None, map(strip_markup, names)), "")).strip()[:MAX_NAME_CHARS]

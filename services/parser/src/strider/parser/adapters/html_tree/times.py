"""Read dates that may be the page's: time elements, item properties, and class names.

A date with another property, such as the end of a price or of an event, is left out; a date named as a
modification is not a publication date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from .text import collapse_spaces
from .traversal import Attributes

_PUBLISHED_PROPERTIES: Final = frozenset(
    [
        *("datepublished", "datecreated", "schema:datepublished", "schema:datecreated", "dc:date"),
        "dcterms:created",
    ]
)
_MODIFIED_PROPERTIES: Final = frozenset(["datemodified", "schema:datemodified", "dcterms:modified"])
_DATE_SELECTOR: Final = (
    '[itemprop="datePublished"],[itemprop="dateModified"],[itemprop="datePublished dateModified"],'
    '[property="datePublished"],[property="dateModified"],[property="schema:datePublished"],'
    '[property="schema:dateModified"]'
)
_MODIFIED_CLASS: Final = re.compile(r"updat|modif|edited|revis")
_PUBLISHED_CLASS: Final = re.compile(r"publi|entry-?date|posted|post-?date|dt-published|created")
MAX_TIME_CHARS: Final = 80


MAX_PROPERTIES: Final = 20

MAX_ANCESTORS: Final = 12

_SIDE_TAGS: Final = frozenset({"aside", "footer", "nav"})

_COMMENT_NAMES: Final = re.compile(r"(?<![a-z])(?:comment(?:s|list|-list)?|respond|sidebar)(?![a-z])")

_PAGE_TAGS: Final = frozenset({"body", "main"})


class PageTimes(NamedTuple):
    """Dates of publication and of modification, best first."""

    published: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()


def read_times(body: LexborNode, nodes: Sequence[LexborNode], *, has_properties: bool) -> PageTimes:
    """Read time elements, and elements with date properties where a page has any."""
    called: list[str] = []
    plain: list[str] = []
    beside: list[str] = []
    changed: list[str] = []
    properties = body.css(_DATE_SELECTOR)[: len(nodes) + MAX_PROPERTIES] if has_properties else []
    for node in (*properties, *nodes):
        attrs = node.attributes
        names = (attrs.get("itemprop") or attrs.get("property") or "").lower().split()
        if not _PUBLISHED_PROPERTIES.isdisjoint(names):
            called += _time_values(node, attrs)
        elif not _MODIFIED_PROPERTIES.isdisjoint(names):
            changed += _time_values(node, attrs)
        elif not names:
            words = (attrs.get("class") or "").lower()
            kept = plain
            if words and _PUBLISHED_CLASS.search(words):
                kept = called
            elif words and _MODIFIED_CLASS.search(words):
                kept = changed
            if kept is plain and not plain and _is_in_side_content(node):
                kept = beside
            kept += _time_values(node, attrs)
    return PageTimes((*called, *plain, *beside), tuple(changed))


def _is_in_side_content(node: LexborNode) -> bool:
    """Whether a date stands in comments, or in content beside the main one."""
    above = node.parent
    for _ in range(MAX_ANCESTORS):
        if above is None or above.tag in _PAGE_TAGS:
            return False
        attrs = above.attributes
        names = f"{attrs.get('class') or ''} {attrs.get('id') or ''}".lower()
        if above.tag in _SIDE_TAGS or _COMMENT_NAMES.search(names):
            return True
        above = above.parent
    return False


def _time_values(node: LexborNode, attrs: Attributes) -> Iterator[str]:
    value = attrs.get("datetime") or attrs.get("content") or attrs.get("title") or ""
    value = value.strip() or collapse_spaces(node.text())[:MAX_TIME_CHARS]
    if value:
        yield value

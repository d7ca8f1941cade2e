"""Dates of elements that may be those of the page: time elements, properties of items, and by their names.

One that says what else it dates, such as the end of a price or of an event, is left out; what calls itself a
change is no publication.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from .text import collapse_spaces

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
MAX_CHARS: Final = 80


class PageTimes(NamedTuple):
    """What elements say, best first."""

    published: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()


def read_times(body: LexborNode, nodes: Sequence[LexborNode], *, has_properties: bool) -> PageTimes:
    """Read time elements, and where a page has such the elements of properties that are dates."""
    called: list[str] = []
    plain: list[str] = []
    beside: list[str] = []
    changed: list[str] = []
    properties = body.css(_DATE_SELECTOR)[: len(nodes) + MAX_PROPERTIES] if has_properties else []
    for node in (*properties, *nodes):
        said = node.attributes
        names = (said.get("itemprop") or said.get("property") or "").lower().split()
        if not _PUBLISHED_PROPERTIES.isdisjoint(names):
            called += _values(node, said)
        elif not _MODIFIED_PROPERTIES.isdisjoint(names):
            changed += _values(node, said)
        elif not names:
            words = (said.get("class") or "").lower()
            kept = plain
            if words and _PUBLISHED_CLASS.search(words):
                kept = called
            elif words and _MODIFIED_CLASS.search(words):
                kept = changed
            if kept is plain and not plain and _is_in_side_content(node):
                kept = beside
            kept += _values(node, said)
    return PageTimes((*called, *plain, *beside), tuple(changed))


MAX_PROPERTIES: Final = 20
MAX_ANCESTORS: Final = 12
_BESIDE: Final = frozenset({"aside", "footer", "nav"})
_REMARKS: Final = re.compile(r"(?<![a-z])(?:comment(?:s|list|-list)?|respond|sidebar)(?![a-z])")


def _is_in_side_content(node: LexborNode) -> bool:
    """Say whether a date stands in remarks on the page, or in what is beside it."""
    above = node.parent
    for _ in range(MAX_ANCESTORS):
        if above is None or above.tag in _PAGE:
            return False
        said = above.attributes
        names = f"{said.get('class') or ''} {said.get('id') or ''}".lower()
        if above.tag in _BESIDE or _REMARKS.search(names):
            return True
        above = above.parent
    return False


_PAGE: Final = frozenset({"body", "main"})


def _values(node: LexborNode, said: dict[str, str | None]) -> Iterator[str]:
    value = said.get("datetime") or said.get("content") or said.get("title") or ""
    value = value.strip() or collapse_spaces(node.text())[:MAX_CHARS]
    if value:
        yield value

"""Dates of elements that may be those of the page: time elements, properties of items, and by their names.

One that says what else it dates, such as the end of a price or of an event, is left out; what calls itself a
change is no publication.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from .lexbor_text import spaced

_OF_THE_PAGE: Final = frozenset(
    [
        *("datepublished", "datecreated", "schema:datepublished", "schema:datecreated", "dc:date"),
        "dcterms:created",
    ]
)
_OF_CHANGES: Final = frozenset(["datemodified", "schema:datemodified", "dcterms:modified"])
_PROPERTIES: Final = (
    '[itemprop="datePublished"],[itemprop="dateModified"],[itemprop="datePublished dateModified"],'
    '[property="datePublished"],[property="dateModified"],[property="schema:datePublished"],'
    '[property="schema:dateModified"]'
)
_CHANGED: Final = re.compile(r"updat|modif|edited|revis")
_PUBLISHED: Final = re.compile(r"publi|entry-?date|posted|post-?date|dt-published|created")
MAX_CHARS: Final = 80


class Times(NamedTuple):
    """What elements say, best first."""

    published: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()


def read_times(body: LexborNode, nodes: Sequence[LexborNode], *, has_properties: bool) -> Times:
    """Read time elements, and where a page has such the elements of properties that are dates."""
    called: list[str] = []
    plain: list[str] = []
    beside: list[str] = []
    changed: list[str] = []
    properties = body.css(_PROPERTIES)[: len(nodes) + MAX_PROPERTIES] if has_properties else []
    for node in (*properties, *nodes):
        said = node.attributes
        names = (said.get("itemprop") or said.get("property") or "").lower().split()
        if not _OF_THE_PAGE.isdisjoint(names):
            called += _values(node, said)
        elif not _OF_CHANGES.isdisjoint(names):
            changed += _values(node, said)
        elif not names:
            words = (said.get("class") or "").lower()
            kept = plain
            if words and _PUBLISHED.search(words):
                kept = called
            elif words and _CHANGED.search(words):
                kept = changed
            if kept is plain and not plain and _is_beside(node):
                kept = beside
            kept += _values(node, said)
    return Times((*called, *plain, *beside), tuple(changed))


MAX_PROPERTIES: Final = 20
MAX_ABOVE: Final = 12
_BESIDE: Final = frozenset({"aside", "footer", "nav"})
_REMARKS: Final = re.compile(r"(?<![a-z])(?:comment(?:s|list|-list)?|respond|sidebar)(?![a-z])")


def _is_beside(node: LexborNode) -> bool:
    """Say whether a date stands in remarks on the page, or in what is beside it."""
    above = node.parent
    for _ in range(MAX_ABOVE):
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
    value = value.strip() or spaced(node.text())[:MAX_CHARS]
    if value:
        yield value

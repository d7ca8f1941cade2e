"""Dates of time elements that may be those of the page.

One that says what else it dates, such as the end of a price or of an event, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from selectolax.lexbor import LexborNode

_OF_THE_PAGE: Final = frozenset(
    [
        *("datepublished", "datecreated", "schema:datepublished", "schema:datecreated", "dc:date"),
        "dcterms:created",
    ]
)


def read_times(nodes: Sequence[LexborNode]) -> tuple[str, ...]:
    """Give them in the order of the page."""
    return tuple(
        (said.get("datetime") or "").strip()
        for said in (node.attributes for node in nodes)
        if _OF_THE_PAGE.issuperset((said.get("itemprop") or said.get("property") or "").lower().split())
    )

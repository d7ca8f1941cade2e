"""Where in a shop does a page stand, as its structured data says?

Takes objects in the shape of JSON-LD, gives the first trail of several places, broad to narrow.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from strider.parser.core.structured.structured_data import types_of

from .offers import text_of

MAX_PLACES: Final = 20
MIN_CRUMBS: Final = 2
"""Places from which on a trail says more than that there is a front page."""


def structured_breadcrumbs(nodes: Iterable[tuple[str, dict[str, Any]]]) -> tuple[str, tuple[str, ...]]:
    """Give the format and the names of the first trail that has several places; nothing where none has."""
    for form, node in nodes:
        if any(name.lower() == "breadcrumblist" for name in types_of(node)):
            names = _names(node.get("itemListElement"))
            if len(names) >= MIN_CRUMBS:
                return form, names
    return "", ()


def _names(value: Any) -> tuple[str, ...]:
    places = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    ordered = sorted(places[:MAX_PLACES], key=_position)
    said = (text_of(one.get("name")) or text_of(_item(one), "name") for one in ordered)
    return tuple(name for name in said if name and not name.startswith("http"))


def _item(place: dict[str, Any]) -> dict[str, Any]:
    item = place.get("item")
    return {"name": item.get("name")} if isinstance(item, dict) else {}


def _position(place: dict[str, Any]) -> int:
    text = text_of(place.get("position"))
    return int(text) if text.isdecimal() and len(text) < MAX_PLACES else MAX_PLACES

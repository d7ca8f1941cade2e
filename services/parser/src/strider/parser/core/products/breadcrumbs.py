"""Find the breadcrumbs of a product page in structured data.

Takes objects in JSON-LD shape; the first trail with several items counts, from broad to narrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from strider.parser.core.structured.structured_data import types_of

from .offers import value_text

MAX_CRUMBS: Final = 20
MIN_CRUMBS: Final = 2
"""A shorter trail contains no more than the home page."""


def structured_breadcrumbs(nodes: Iterable[tuple[str, dict[str, Any]]]) -> tuple[str, tuple[str, ...]]:
    """Return format and names of the first trail with several items; empty if there is none."""
    for form, node in nodes:
        if any(name.lower() == "breadcrumblist" for name in types_of(node)):
            names = _crumb_names(node.get("itemListElement"))
            if len(names) >= MIN_CRUMBS:
                return form, names
    return "", ()


def _crumb_names(value: Any) -> tuple[str, ...]:
    crumbs = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    ordered = sorted(crumbs[:MAX_CRUMBS], key=_position)
    names = (value_text(one.get("name")) or value_text(_item_name(one), "name") for one in ordered)
    return tuple(name for name in names if name and not name.startswith("http"))


def _item_name(crumb: dict[str, Any]) -> dict[str, Any]:
    item = crumb.get("item")
    return {"name": item.get("name")} if isinstance(item, dict) else {}


def _position(crumb: dict[str, Any]) -> int:
    text = value_text(crumb.get("position"))
    return int(text) if text.isdecimal() and len(text) < MAX_CRUMBS else MAX_CRUMBS


def category_path(crumbs: Sequence[str], name: str) -> str:
    """Return the category path of a page, without its own name and the home page."""
    return " > ".join(_category_crumbs(crumbs, name))


_HOME: Final = re.compile(
    r"home(?:page)?|start(?:seite)?|accueil|inicio|início|shop|hem|hjem|strona główna|главная|domů"
    r"|etusivu|kezdőlap"
    r"|anasayfa|ana sayfa|ホーム|首页|首頁|홈",
    re.IGNORECASE,
)


def _category_crumbs(crumbs: Sequence[str], name: str) -> Iterator[str]:
    for number, crumb in enumerate(crumbs):
        is_home = number == 0 and _HOME.fullmatch(crumb) is not None
        if not is_home and crumb.casefold() != name.casefold():
            yield crumb

"""Find prices that no class name marks: elements whose text is an amount with a currency.

Many shops generate class names, or write them in their own language. Decides which elements contain money,
what was struck out, and which label stands before; what it means is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.products.prices import mentions_currency

from .price_amounts import MAX_PRICE_CHARS, clipped_text, read_amounts

MAX_MONEY_TEXTS: Final = 400
"""Texts that are examined."""
MAX_NODES: Final = 60_000
MAX_LABEL_CHARS: Final = 40
MAX_MONEY_CHARS: Final = 120
MAX_SIGN_CHARS: Final = 5
MAX_ANCESTORS: Final = 3
"""Ancestors of an amount whose names and line-through styles are read."""

_DIGIT: Final = re.compile(r"\d")
_PERCENTAGE: Final = re.compile(
    r"(?:[^\W\d]{2,12}\s){0,2}\(?\s*[-\u2212\u2013]?\s?\d{1,2}(?:[.,]\d+)?\s?%[\s\w!)]{0,20}"
)
_STRUCK_TAGS: Final = frozenset({"s", "del", "strike"})
_STRUCK_NAMES: Final = re.compile(r"strike|line-?through|crossed|durchgestrichen")
_UNRENDERED_TAGS: Final = frozenset(
    {"script", "style", "option", "select", "noscript", "template", "textarea", "title", "svg", "label"}
)
_CELL_TAGS: Final = frozenset({"td", "dd"})


@dataclass(frozen=True, slots=True)
class MoneyText:
    """A text that names money, or a percentage that was taken off."""

    text: str
    names: str
    is_struck: bool
    is_percentage: bool = False


def find_money_texts(
    body: LexborNode, known_elements: frozenset[int], *, with_money: bool = True
) -> Iterator[tuple[LexborNode, MoneyText | None]]:
    """Yield elements in document order: the known ones without money, and those whose text names it."""
    seen: set[int] = set()
    tries = 0
    nodes = body.traverse(include_text=with_money)
    for node in islice(nodes, MAX_NODES):
        if node.tag != "-text":
            if node.mem_id in known_elements:
                yield node, None
            continue
        text = node.text_content or ""
        if len(text) > MAX_MONEY_CHARS or tries >= MAX_MONEY_TEXTS or not _may_name_money(text):
            continue
        tries += 1
        if (found := _money_text(node, text.strip())) is None:
            continue
        element, money = found
        if element.mem_id not in seen and element.mem_id not in known_elements:
            seen.add(element.mem_id)
            yield element, money


def _may_name_money(text: str) -> bool:
    """Whether a text may name money; a cheap check, because a page may have very many texts."""
    is_piece = len(text) <= MAX_SIGN_CHARS or _DIGIT.search(text) is not None
    return is_piece and (mentions_currency(text) or "%" in text)


def _money_text(node: LexborNode, text: str) -> tuple[LexborNode, MoneyText] | None:
    has_digit = _DIGIT.search(text) is not None
    if not text or not (has_digit or len(text) <= MAX_SIGN_CHARS):
        return None
    element = node.parent
    if element is None or element.tag in _UNRENDERED_TAGS:
        return None
    if "%" in text and _PERCENTAGE.fullmatch(text):
        return element, MoneyText(text, "", is_struck=False, is_percentage=True)
    if not has_digit:
        whole = _element_with_amount(element)
        if whole is None:
            return None
        element = whole
    names, is_struck = _element_names(element)
    own = clipped_text(element, MAX_PRICE_CHARS)
    if not has_digit:  # an amount that is split over elements is joined as in every price
        own = next((amount.text for amount in read_amounts(element, names)), own)
    elif len(own) > MAX_MONEY_CHARS:
        own = " ".join(text.split())
    return element, MoneyText(f"{_preceding_label(element)} {own}".strip(), names, is_struck)


def _element_with_amount(element: LexborNode) -> LexborNode | None:
    """Return the element with the number that belongs to a currency sign standing alone."""
    above: LexborNode | None = element
    for _ in range(2):
        if above is None or above.tag in {"body", "html"}:
            return None
        own = clipped_text(above, MAX_LABEL_CHARS)
        if _DIGIT.search(own):
            return above if len(own) < MAX_LABEL_CHARS else None
        above = above.parent
    return None


def _element_names(element: LexborNode) -> tuple[str, bool]:
    """Return the names of an element and its tight ancestors, and whether it is struck out."""
    all_names: list[str] = []
    is_struck = False
    above: LexborNode | None = element
    for _ in range(MAX_ANCESTORS):
        if above is None or len(clipped_text(above, MAX_MONEY_CHARS)) >= MAX_MONEY_CHARS:
            break
        attrs = above.attributes
        names = " ".join(filter(None, (attrs.get(name) for name in ("class", "id", "data-testid")))).lower()
        style = (attrs.get("style") or "").lower()
        is_struck = is_struck or above.tag in _STRUCK_TAGS or "line-through" in style
        is_struck = is_struck or _STRUCK_NAMES.search(names) is not None
        all_names.append(names)
        above = above.parent
    return " ".join(reversed(all_names)), is_struck


def _preceding_label(element: LexborNode) -> str:
    """Return the label before an amount: from the cell before, or the element before it."""
    cell: LexborNode | None = element
    while (
        cell is not None and cell.tag not in _CELL_TAGS and cell.tag not in {"body", "html", "div", "p", "li"}
    ):
        cell = cell.parent
    before = element.prev if cell is None or cell.tag not in _CELL_TAGS else cell.prev
    while before is not None and before.tag == "-text" and not (before.text_content or "").strip():
        before = before.prev
    if before is None or before.tag in _UNRENDERED_TAGS - {"label"} or before.tag == "h1":
        return ""
    text = (before.text_content or "") if before.tag == "-text" else clipped_text(before, MAX_LABEL_CHARS)
    text = " ".join(text.split())
    return text if len(text) < MAX_LABEL_CHARS and not _DIGIT.search(text) else ""

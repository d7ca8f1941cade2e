"""Split the text of a price element into its amounts: now, before, from, to.

Decides where one amount ends and another begins, by what is struck out and by the names of elements; joins
amounts that are split over elements (`$`, `39`, `99`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.products.prices import mentions_currency

MAX_PRICE_CHARS: Final = 400
MAX_AMOUNTS: Final = 20
MAX_FRAGMENTS: Final = 10 * MAX_AMOUNTS
"""Texts that are collected before those without a digit are dropped."""

MAX_DEPTH: Final = 16
MAX_NODES: Final = 200
"""Nodes that are read for one text."""

_STRUCK_TAGS: Final = frozenset({"s", "del", "strike"})
_BLOCK_TAGS: Final = frozenset({"div", "p", "li", "td", "dd", "tr"})
_UNRENDERED_TAGS: Final = frozenset({"script", "style", "svg", "noscript", "template", "select"})
_AMOUNT_PART_NAMES: Final = re.compile(r"integer|decimal|fraction|cents?\b|currency|symbol|whole|digits|sign")
_DIGIT: Final = re.compile(r"\d")
_AMOUNT_NAMES: Final = re.compile(
    r"price|amount|old|was\b|sale|special|regular|compare|final|current|discount|save|unit"
    r"|preis|precio|prezzo|preco|prix|prijs|anterior|actual|antes|ancien|prix-?barr|vecchio|statt|valor|\borg\b"
)
_CENT_NAMES: Final = re.compile(r"cents?\b|fraction|decimal|\bsup\b")
_NAME_ATTRIBUTES: Final = ("class", "id", "data-testid")


MAX_LABEL_CHARS: Final = 30


@dataclass(slots=True)
class PriceAmount:
    """A text that may name an amount."""

    names: str
    is_struck: bool
    text: str = ""


def clipped_text(node: LexborNode, max_chars: int) -> str:
    """Return the text of an element up to `max_chars`, whatever its size."""
    pieces: list[str] = []
    left = max_chars
    for number, element in enumerate(node.traverse(include_text=True)):
        above = element.parent if element.tag == "-text" else None
        if above is not None and above.tag not in _UNRENDERED_TAGS:
            pieces.append((element.text_content or "")[:left])
            left -= len(pieces[-1])
        if left <= 0 or number >= MAX_NODES:
            break
    return " ".join(" ".join(pieces).split())[:max_chars]


def read_amounts(node: LexborNode, names: str) -> list[PriceAmount]:
    """Return the amounts of a price in their order; texts without a digit are dropped."""
    found: list[PriceAmount] = [PriceAmount(names, node.tag in _STRUCK_TAGS)]
    _read_children(node, found, found[0], depth=0)
    for amount in found:
        amount.text = " ".join(amount.text.split())
    return [amount for amount in found[:MAX_AMOUNTS] if _DIGIT.search(amount.text)]


def _read_children(node: LexborNode, found: list[PriceAmount], into: PriceAmount, *, depth: int) -> None:
    for child in islice(node.iter(include_text=True), MAX_NODES):
        tag = child.tag or ""
        if tag == "-text":
            if len(into.text) < MAX_PRICE_CHARS:
                into.text += (child.text_content or "")[:MAX_PRICE_CHARS]
            continue
        if len(found) >= MAX_FRAGMENTS:
            return
        if tag in _UNRENDERED_TAGS or tag.startswith("-") or depth >= MAX_DEPTH:
            continue
        attrs = child.attributes
        names = " ".join(filter(None, (attrs.get(name) for name in _NAME_ATTRIBUTES))).lower()
        if _begins_amount(child, tag, names):
            own = PriceAmount(
                f"{into.names} {names}", into.is_struck or tag in _STRUCK_TAGS, _label_before(into)
            )
            found.append(own)
            _read_children(child, found, own, depth=depth + 1)
            into = PriceAmount(into.names, into.is_struck)
            found.append(into)
        else:
            if (tag == "sup" or _CENT_NAMES.search(names)) and re.search(r"\d\s*$", into.text):
                into.text = into.text.rstrip() + ("." if re.fullmatch(r"\s*\d\d\s*", child.text()) else "")
            _read_children(child, found, into, depth=depth + 1)


def _label_before(into: PriceAmount) -> str:
    """Return the label before an amount in the same box, such as `List price:`."""
    label = " ".join(into.text.split())
    return f"{label} " if label and len(label) <= MAX_LABEL_CHARS and not _DIGIT.search(label) else ""


def _begins_amount(child: LexborNode, tag: str, names: str) -> bool:
    if tag in _STRUCK_TAGS or tag == "ins":
        return True
    if (
        tag in _BLOCK_TAGS
        and _DIGIT.search(text := clipped_text(child, MAX_PRICE_CHARS))
        and mentions_currency(text)
    ):
        return True
    return bool(
        _AMOUNT_NAMES.search(names) and not _AMOUNT_PART_NAMES.search(names) and _DIGIT.search(child.text())
    )

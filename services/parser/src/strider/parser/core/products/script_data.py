"""What do a page's scripts say about the product that it shows?

Shops hand their scripts what they show: as JSON of its own, or within code. Takes the texts of scripts and
the page's heading, gives the attributes of the one object that bears the heading's name and has a price.
Reads what is written down; runs nothing, and looks at each text once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from strider.parser.core.structured.js_object_literals import parse_object, parse_string

from .script_objects import NAMES, is_same_name, name_words, script_object_attributes

MAX_CHARS: Final = 2 * 1024 * 1024
MAX_OBJECTS: Final = 5_000
MAX_NAMES: Final = 2_000
"""Names within code that are looked at."""
MAX_MATCHING: Final = 20
"""Objects within code that are read because their name is the page's."""
MAX_OBJECT_CHARS: Final = 20_000
MAX_READ_OBJECTS: Final = 100
"""Objects of the page's name that are asked what they say."""
FEW: Final = 20
"""Quoted quotes that a script may have without having data in a string."""

_ESCAPED_QUOTE: Final = '\\"'
_NAME_KEYS: Final = (
    "name|title|productName|product_name|item_name|displayName|productTitle|product_title|prodName|Name"
)
_NAME_PROPERTY: Final = re.compile(
    rf"""(?<![\w$])["']?(?:{_NAME_KEYS})["']?\s*:\s*("(?>[^"\\]|\\.){{1,300}}"|'(?>[^'\\]|\\.){{1,300}}')"""
)
_SUFFICIENT_ATTRIBUTES: Final = ("currency", "availability", "sku", "brand")
_CURRENCY: Final = re.compile(
    r"""["']?(?:price_?)?currency(?:_?(?:code|iso))?["']?\s*[:=]\s*"""
    r"""(?:\{\s*["']active["']\s*:\s*)?["']([A-Z]{3})["']""",
    re.IGNORECASE,
)


def find_script_product(
    scripts: Sequence[str], name: str, *, url: str = "", page_text: str = ""
) -> dict[str, Any]:
    """Give what is said of the product of this name; empty where nothing is.

    What the first object that has a price leaves open is taken from others of the same name and price. Of
    forms the one counts that `url` names; a number that is a mere identity counts where `text` says it.
    """
    wanted = name_words(name)
    said: dict[str, Any] = {}
    for found in islice(_matching_objects(scripts, wanted, name), MAX_READ_OBJECTS) if wanted else ():
        told = script_object_attributes(found, url=url, page_text=page_text)
        if not said:
            said = told if told["price"] else {}
        elif told["price"] in ("", said["price"]):
            said |= {each: value for each, value in told.items() if value and not said[each]}
        if said and all(said[each] for each in _SUFFICIENT_ATTRIBUTES):
            break
    return said


def find_script_currency(scripts: Sequence[str]) -> str:
    """Give the one currency that all scripts speak of; empty where they name none, or several."""
    found = {match[1].upper() for text in scripts for match in _CURRENCY.finditer(text[:MAX_CHARS])}
    return found.pop() if len(found) == 1 else ""


def _matching_objects(scripts: Sequence[str], wanted: frozenset[str], name: str) -> Iterator[dict[str, Any]]:
    left = MAX_CHARS
    for text in scripts:
        left -= len(text)
        if left < 0:
            return
        yield from _objects(text, wanted, name)
        if text.count(_ESCAPED_QUOTE) >= FEW:  # data within a string of code
            yield from _objects(text.replace("\\\\", "\\").replace(_ESCAPED_QUOTE, '"'), wanted, name)


def _objects(text: str, wanted: frozenset[str], name: str) -> Iterator[dict[str, Any]]:
    """Give objects of this name: of a text that is JSON, else of what in it is written down as one."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if value is not None:
            yield from (one for one in _within(value) if _has_name(one, wanted))
            return
    fitting = 0
    for number, match in enumerate(_NAME_PROPERTY.finditer(text)):
        if number >= MAX_NAMES or fitting >= MAX_MATCHING:
            return
        said = parse_string(match[1])
        is_form = said.casefold().startswith(f"{name.casefold()} - ")
        if not is_form and not is_same_name(said, wanted):
            continue
        fitting += 1
        begins = _enclosing_objects(text, match.start())
        # The name of a form of a product: what holds the forms is the product.
        for begin in begins[1:] if is_form else begins[:1]:
            if (value := _object_at(text, begin)) is not None:
                yield value


def _object_at(text: str, begin: int) -> dict[str, Any] | None:
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, begin)
    except (ValueError, RecursionError):
        value = parse_object(text, begin)
    return value if isinstance(value, dict) else None


def _within(value: Any) -> Iterator[dict[str, Any]]:
    waiting, left = [value], MAX_OBJECTS
    while waiting and left > 0:
        one = waiting.pop()
        if isinstance(one, dict):
            left -= 1
            yield one
            waiting.extend(inner for inner in one.values() if isinstance(inner, dict | list))
        elif isinstance(one, list):
            waiting.extend(inner for inner in one[:MAX_OBJECTS] if isinstance(inner, dict | list))


def _enclosing_objects(text: str, at: int) -> list[int]:
    """Find where the object begins in which this stands, and the one around it; not those too far away."""
    depth, found = 0, []
    for place in range(at - 1, max(-1, at - MAX_OBJECT_CHARS), -1):
        char = text[place]
        if char in "}]":
            depth += 1
        elif char in "{[":
            if depth == 0 and char == "{":
                found.append(place)
                if len(found) > 1:
                    break
            elif depth == 0 and not found:
                return []  # a name in a list is no object's
            depth = max(0, depth - 1)
    return found


def _has_name(one: dict[str, Any], wanted: frozenset[str]) -> bool:
    return any(
        isinstance(value, str) and key.lower().replace("_", "") in NAMES and is_same_name(value, wanted)
        for key, value in one.items()
    )

"""Find the product of a page in the data of its scripts.

Shops pass product data to their scripts as JSON or in code. Takes the scripts and the page's heading; finds
the object with the heading's name and a price. Executes nothing and scans each script once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from strider.parser.core.structured.js_object_literals import parse_object, parse_string

from .script_objects import NAME_KEYS, is_same_name, name_words, script_object_attributes

MAX_CHARS: Final = 2 * 1024 * 1024
MAX_OBJECTS: Final = 5_000
MAX_NAMES: Final = 2_000
"""Name properties within code that are inspected."""
MAX_MATCHING: Final = 20
"""Objects within code that are parsed because their name matches."""
MAX_OBJECT_CHARS: Final = 20_000
MAX_READ_OBJECTS: Final = 100
"""Matching objects whose attributes are read."""
MIN_ESCAPED_QUOTES: Final = 20
"""Escaped quotes from which a script is taken to contain data in a string."""

_ESCAPED_QUOTE: Final = '\\"'
_NAME_KEYS: Final = (
    "name|title|productName|product_name|item_name|displayName|productTitle|product_title|prodName|Name"
)
_NAME_PROPERTY: Final = re.compile(
    rf"""(?<![\w$])["']?(?:{_NAME_KEYS})["']?\s*:\s*("(?>[^"\\]|\\.){{1,300}}"|'(?>[^'\\]|\\.){{1,300}}')"""
)
_SUFFICIENT_ATTRIBUTES: Final = ("currency", "availability", "sku", "brand")
_CURRENCY_PROPERTY: Final = re.compile(
    r"""["']?(?:price_?)?currency(?:_?(?:code|iso))?["']?\s*[:=]\s*"""
    r"""(?:\{\s*["']active["']\s*:\s*)?["']([A-Z]{3})["']""",
    re.IGNORECASE,
)


def find_script_product(
    scripts: Sequence[str], name: str, *, url: str = "", page_text: str = ""
) -> dict[str, Any]:
    """Return the attributes of the product with this name; empty if there is none.

    Attributes missing in the first object with a price are taken from others with the same name and price. Of
    variants, the one in `url` counts; an internal id counts only if `page_text` contains it.
    """
    expected_words = name_words(name)
    attributes: dict[str, Any] = {}
    for found in (
        islice(_matching_objects(scripts, expected_words, name), MAX_READ_OBJECTS) if expected_words else ()
    ):
        candidate = script_object_attributes(found, url=url, page_text=page_text)
        if not attributes:
            attributes = candidate if candidate["price"] else {}
        elif candidate["price"] in ("", attributes["price"]):
            attributes |= {each: value for each, value in candidate.items() if value and not attributes[each]}
        if attributes and all(attributes[each] for each in _SUFFICIENT_ATTRIBUTES):
            break
    return attributes


def find_script_currency(scripts: Sequence[str]) -> str:
    """Return the currency that all scripts mention; empty if there is none or several."""
    found = {match[1].upper() for text in scripts for match in _CURRENCY_PROPERTY.finditer(text[:MAX_CHARS])}
    return found.pop() if len(found) == 1 else ""


def _matching_objects(
    scripts: Sequence[str], expected_words: frozenset[str], name: str
) -> Iterator[dict[str, Any]]:
    left = MAX_CHARS
    for text in scripts:
        left -= len(text)
        if left < 0:
            return
        yield from _objects_in_script(text, expected_words, name)
        if text.count(_ESCAPED_QUOTE) >= MIN_ESCAPED_QUOTES:  # Data within a string of code.
            yield from _objects_in_script(
                text.replace("\\\\", "\\").replace(_ESCAPED_QUOTE, '"'), expected_words, name
            )


def _objects_in_script(text: str, expected_words: frozenset[str], name: str) -> Iterator[dict[str, Any]]:
    """Yield objects with this name, of a JSON script or within code."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if value is not None:
            yield from (one for one in _iterate_objects(value) if _has_name(one, expected_words))
            return
    fitting = 0
    for number, match in enumerate(_NAME_PROPERTY.finditer(text)):
        if number >= MAX_NAMES or fitting >= MAX_MATCHING:
            return
        found_name = parse_string(match[1])
        is_form = found_name.casefold().startswith(f"{name.casefold()} - ")
        if not is_form and not is_same_name(found_name, expected_words):
            continue
        fitting += 1
        begins = _enclosing_objects(text, match.start())
        # The name of a variant: the object around its variants is the product.
        for begin in begins[1:] if is_form else begins[:1]:
            if (value := _object_at(text, begin)) is not None:
                yield value


def _object_at(text: str, start: int) -> dict[str, Any] | None:
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        value = parse_object(text, start)
    return value if isinstance(value, dict) else None


def _iterate_objects(value: Any) -> Iterator[dict[str, Any]]:
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
    """Return the starts of the object around a position and of the next outer one, within a limit."""
    depth, found = 0, []
    for position in range(at - 1, max(-1, at - MAX_OBJECT_CHARS), -1):
        char = text[position]
        if char in "}]":
            depth += 1
        elif char in "{[":
            if depth == 0 and char == "{":
                found.append(position)
                if len(found) > 1:
                    break
            elif depth == 0 and not found:
                return []  # A name within a list is not that of an object.
            depth = max(0, depth - 1)
    return found


def _has_name(candidate: dict[str, Any], expected_words: frozenset[str]) -> bool:
    return any(
        isinstance(value, str)
        and key.lower().replace("_", "") in NAME_KEYS
        and is_same_name(value, expected_words)
        for key, value in candidate.items()
    )

"""What do a page's scripts say about the product that it shows?

Shops hand their scripts what they show: as JSON of its own, or within code. Takes the texts of scripts and
the page's heading, gives the attributes of the one object that bears the heading's name and has a price.
Reads only what is JSON; runs nothing, and looks at each text once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from .offers import amount_of, as_gtin, state_named, text_of

MAX_CHARS: Final = 2 * 1024 * 1024
MAX_OBJECTS: Final = 5_000
MAX_NAMES: Final = 50
"""Objects within code that are read because their name is the page's."""
MAX_OBJECT_CHARS: Final = 20_000
ALIKE: Final = 0.8
CENTS: Final = 100

_NAMES: Final = ("name", "title", "productName", "product_name", "item_name", "displayName")
_PRICES: Final = ("salePrice", "sale_price", "finalPrice", "final_price", "currentPrice", "price", "amount")
_CURRENCIES: Final = ("currency", "currencyCode", "priceCurrency", "currency_code", "currencyIso")
_SKUS: Final = ("sku", "productSku", "product_sku", "skuId", "itemNumber")
_STOCKS: Final = (
    "availability",
    "stockStatus",
    "stock_status",
    "inStock",
    "in_stock",
    "isInStock",
    "available",
)
_IN_CENTS: Final = frozenset({"compare_at_price", "public_title", "price_min", "price_varies"})
_NAMED: Final = re.compile(rf'"(?:{"|".join(_NAMES)})"\s*:\s*("(?>[^"\\]|\\.){{1,300}}")')


def read_shop_data(scripts: Sequence[str], name: str) -> dict[str, Any]:
    """Give what is said of the product of this name; empty where nothing is.

    What the first object that has a price leaves open is taken from others of the same name and price.
    """
    wanted = set(name.casefold().split())
    said: dict[str, Any] = {}
    for found in _of_name(scripts, wanted) if wanted else ():
        told = _said(found)
        if not said:
            said = told if told["price"] else {}
        elif told["price"] in ("", said["price"]):
            said |= {each: value for each, value in told.items() if value and not said[each]}
        if said and all(said[each] for each in _ENOUGH):
            break
    return said


_ENOUGH: Final = ("currency", "availability", "sku", "brand")


def _of_name(scripts: Sequence[str], wanted: set[str]) -> Iterator[dict[str, Any]]:
    left = MAX_CHARS
    for text in scripts:
        left -= len(text)
        if left < 0:
            return
        yield from _objects(text, wanted)
        if text.count(_QUOTED) >= FEW:  # data within a string of code
            yield from _objects(text.replace("\\\\", "\\").replace(_QUOTED, '"'), wanted)


_QUOTED: Final = '\\"'
FEW: Final = 20
"""Quoted quotes that a script may have without having data in a string."""


def _objects(text: str, wanted: set[str]) -> Iterator[dict[str, Any]]:
    """Give objects of this name: of a text that is JSON, else of what in it is."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if value is not None:
            yield from (one for one in _within(value) if _is_named(one, wanted))
            return
    decoder = json.JSONDecoder(strict=False)
    for number, match in enumerate(_NAMED.finditer(text)):
        if number >= MAX_NAMES:
            return
        if not _alike(_unquoted(match[1]), wanted):
            continue
        begin = _opening(text, match.start())
        try:
            value, _ = decoder.raw_decode(text, begin) if begin >= 0 else (None, 0)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


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


def _opening(text: str, at: int) -> int:
    """Find where the object begins in which this stands; -1 where that is too far away."""
    depth = 0
    for place in range(at - 1, max(-1, at - MAX_OBJECT_CHARS), -1):
        char = text[place]
        if char in "}]":
            depth += 1
        elif char in "{[":
            if depth == 0:
                return place if char == "{" else -1
            depth -= 1
    return -1


def _is_named(one: dict[str, Any], wanted: set[str]) -> bool:
    return any(isinstance(one.get(name), str) and _alike(one[name], wanted) for name in _NAMES)


def _alike(name: str, wanted: set[str]) -> bool:
    words = set(name.casefold().split())
    return len(words & wanted) >= ALIKE * max(len(words), len(wanted))


def _said(one: dict[str, Any]) -> dict[str, Any]:
    variants = one.get("variants")
    first = variants[0] if isinstance(variants, list) and variants and isinstance(variants[0], dict) else {}
    return {
        "name": _first(one, _NAMES),
        "price": _price(one) or _price(first),
        "currency": (_first(one, _CURRENCIES) or _first(_inner(one), _CURRENCIES)).upper()[:3],
        "availability": _state(one) or _state(first),
        "sku": _first(one, _SKUS) or _first(first, _SKUS),
        "brand": text_of(one.get("brand")) or text_of(one.get("vendor")),
        "gtin": as_gtin(
            _first(one, ("gtin", "gtin13", "ean", "upc", "barcode")) or _first(first, ("barcode",))
        ),
        "mpn": _first(one, ("mpn", "manufacturerPartNumber")),
    }


def _price(one: dict[str, Any]) -> str:
    """Give the price; one large shop software says whole numbers of cents, and is known by other names."""
    for name in _PRICES:
        value = one.get(name)
        if isinstance(value, dict):
            value = next((value[inner] for inner in ("value", "amount", "price") if inner in value), None)
        if isinstance(value, int) and not isinstance(value, bool) and not _IN_CENTS.isdisjoint(one):
            value = f"{value // CENTS}.{value % CENTS:02}"
        amount = amount_of(value) if isinstance(value, str | int | float) else ""
        if amount and float(amount) > 0:
            return amount
    return ""


def _inner(one: dict[str, Any]) -> dict[str, Any]:
    return next((value for name in _PRICES if isinstance(value := one.get(name), dict)), {})


def _state(one: dict[str, Any]) -> str:
    for name in _STOCKS:
        value = one.get(name)
        if isinstance(value, bool):
            return "in_stock" if value else "out_of_stock"
        if isinstance(value, str) and (state := state_named(value)):
            return state
    return ""


def _first(one: dict[str, Any], names: Sequence[str]) -> str:
    values = (one.get(name) for name in names)
    return next((text for value in values if isinstance(value, str | int) and (text := text_of(value))), "")


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text

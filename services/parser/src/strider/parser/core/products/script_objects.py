"""Read product attributes from one object of a shop's script data.

Recognizes the property names of common shop software. Among variants, the one in the URL counts, else the
first in stock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from strider.contracts.generated.enums import Availability

from .offers import map_availability, normalize_gtin, parse_amount, value_text
from .prices import parse_currency_field

MIN_NAME_OVERLAP: Final = 0.8
CENTS_PER_UNIT: Final = 100
MAX_DEPTH: Final = 3
MAX_VARIANTS: Final = 500
MIN_ID_CHARS: Final = 4

NAME_KEYS: Final = frozenset(
    {"name", "title", "productname", "itemname", "displayname", "producttitle", "prodname", "fullname"}
)
_PRICE_KEYS: Final = (
    *(
        "saleprice",
        "specialprice",
        "finalprice",
        "currentprice",
        "discountedprice",
        "discountprice",
        "offerprice",
    ),
    *(
        "sellingprice",
        "nowprice",
        "bestprice",
        "price",
        "prices",
        "pricing",
        "priceinfo",
        "pricevalue",
        "priceamount",
    ),
    *("displayprice", "unitprice", "pricerange", "minprice", "lowprice", "regularprice"),
)
_NESTED_PRICE_KEYS: Final = (
    *(
        "sale",
        "special",
        "final",
        "finalprice",
        "current",
        "currentprice",
        "now",
        "saleprice",
        "discounted",
        "selling",
    ),
    *(
        "value",
        "amount",
        "price",
        "centamount",
        "min",
        "minimumprice",
        "minvariantprice",
        "withouttax",
        "withtax",
    ),
    *("gross", "default", "regular", "regularprice"),
)
_FORMER_PRICE_KEYS: Final = (
    *("compareatprice", "regularprice", "listprice", "originalprice", "wasprice", "oldprice", "msrp", "rrp"),
    *(
        "strikethroughprice",
        "strikeprice",
        "priceold",
        "pricebefore",
        "recommendedprice",
        "regularpriceamount",
    ),
)
_NESTED_FORMER_PRICE_KEYS: Final = (
    "regular",
    "list",
    "was",
    "original",
    "old",
    "before",
    "msrp",
    "compareat",
)
_CURRENCY_KEYS: Final = ("currency", "currencycode", "pricecurrency", "currencyiso", "currencyisocode")
_SKU_KEYS: Final = (
    *(
        "sku",
        "productsku",
        "skuid",
        "itemnumber",
        "articlenumber",
        "articleno",
        "artno",
        "itemno",
        "productcode",
    ),
    *("itemcode", "reference", "productreference", "stylenumber", "itemsku", "variantsku"),
)
_ID_KEYS: Final = ("id", "itemid", "productid", "pid", "articleid", "code", "masterid", "productnumber")
_STOCK_KEYS: Final = (
    *("availability", "stockstatus", "instock", "isinstock", "available", "isavailable", "stocklevelstatus"),
    *("availabilitystatus", "inventorystatus", "stock", "instockstatus", "isbuyable", "availableforsale"),
)
_SOLD_OUT_KEYS: Final = ("soldout", "issoldout", "outofstock", "isoutofstock")
_STOCK_COUNT_KEYS: Final = (
    "qtyinstock",
    "stockquantity",
    "inventoryquantity",
    "stocklevel",
    "quantityavailable",
)
_BRAND_KEYS: Final = (
    *(
        "brand",
        "brandname",
        "itembrand",
        "productbrand",
        "vendor",
        "manufacturer",
        "manufacturername",
        "branddesc",
    ),
)
_GTIN_KEYS: Final = (
    "gtin",
    "gtin13",
    "gtin14",
    "gtin12",
    "ean",
    "ean13",
    "eancode",
    "upc",
    "barcode",
    "isbn",
)
_MPN_KEYS: Final = ("mpn", "manufacturerpartnumber", "mfrpartnumber", "manufacturersku", "manufacturernumber")
_VARIANT_LIST_KEYS: Final = (
    "variants",
    "variations",
    "skus",
    "offers",
    "children",
    "items",
    "productvariants",
    "nodes",
)
_SELECTED_VARIANT_KEYS: Final = (
    *("selectedvariant", "selectedorfirstavailablevariant", "defaultvariant", "currentvariant", "variant"),
    *("selectedsku", "defaultsku", "mastervariant", "firstvariant", "offer", "offers", "product", "details"),
)
_CENTS_MARKER_KEYS: Final = frozenset(
    {
        "compareatprice",
        "publictitle",
        "pricemin",
        "pricevaries",
        "qtyinstock",
        "centamount",
        "inventorymanagement",
    }
)
"""Names used only by shop software that has prices in integer cents."""

FoldedObject = Mapping[str, Any]
"""An object by its names in lower case without separators."""


def name_words(name: str) -> frozenset[str]:
    """Return the words of a name."""
    return frozenset(name.casefold().split())


def is_same_name(name: str, expected_words: frozenset[str]) -> bool:
    """Whether a name is the expected one, with a tolerance of a word or two."""
    words = name_words(name)
    return len(words & expected_words) >= MIN_NAME_OVERLAP * max(len(words), len(expected_words))


def script_object_attributes(source: dict[str, Any], *, url: str, page_text: str) -> dict[str, Any]:
    """Return the attributes of an object."""
    sources = list(_attribute_sources(source, url))
    own = _fold_keys(source)
    in_cents = not _CENTS_MARKER_KEYS.isdisjoint(own)
    price = next(
        (
            amount
            for folded in sources
            if (amount := _find_price(folded, _PRICE_KEYS, _NESTED_PRICE_KEYS, in_cents=in_cents))
        ),
        "",
    )
    before = next((amount for folded in sources if (amount := _former_price(folded, in_cents=in_cents))), "")
    inner = [
        _fold_keys(value)
        for folded in sources
        for name in _PRICE_KEYS
        if isinstance(value := folded.get(name), dict)
    ]
    inner += [_fold_keys(value) for folded in inner for value in folded.values() if isinstance(value, dict)]
    gtin = next(
        (number for folded in sources if (number := normalize_gtin(_first_text(folded, _GTIN_KEYS)))), ""
    )
    return {
        "name": _first_text(own, tuple(NAME_KEYS)),
        "price": price,
        "old_price": before if price and before and float(before) > float(price) else "",
        "currency": parse_currency_field(
            next((code for folded in (*sources, *inner) if (code := _first_text(folded, _CURRENCY_KEYS))), "")
        ),
        "availability": _find_availability(sources, _variants(own)),
        "sku": _find_sku(sources, page_text),
        "brand": next(
            (brand for folded in sources for name in _BRAND_KEYS if (brand := value_text(folded.get(name)))),
            "",
        ),
        "gtin": gtin,
        "mpn": next((number for folded in sources if (number := _first_text(folded, _MPN_KEYS))), ""),
    }


def _fold_keys(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key.lower().replace("_", "").replace("-", ""): value for key, value in one.items()}


def _attribute_sources(source: dict[str, Any], url: str) -> Iterator[FoldedObject]:
    """Yield the selected variant, the object itself and the objects within it that have its attributes."""
    own = _fold_keys(source)
    variants = _variants(own)
    if (variant := _variant_in_url(variants, url)) is not None:
        yield variant
    yield own
    for name in _SELECTED_VARIANT_KEYS:
        if isinstance(value := own.get(name), dict):
            yield _fold_keys(value)
    if variants:
        free = (each for each in variants if _stock_state(each) == Availability.IN_STOCK)
        yield next(free, variants[0])


def _variants(own: FoldedObject) -> list[dict[str, Any]]:
    for name in _VARIANT_LIST_KEYS:
        value = own.get(name)
        if isinstance(value, dict):
            value = value.get("nodes") or value.get("edges")
        if isinstance(value, list) and value and isinstance(value[0], dict):
            found = (one.get("node", one) for one in value[:MAX_VARIANTS] if isinstance(one, dict))
            return [_fold_keys(one) for one in found if isinstance(one, dict)]
    return []


def _variant_in_url(variants: Sequence[FoldedObject], url: str) -> FoldedObject | None:
    """Return the variant that the page's URL names."""
    values = set(re.findall(r"=([\w-]{2,40})", url.partition("?")[2]))
    return next(
        (one for one in variants if not values.isdisjoint({str(one.get("id")), str(one.get("sku"))})), None
    )


def _find_price(
    source: FoldedObject, keys: Sequence[str], nested_keys: Sequence[str], *, in_cents: bool, depth: int = 0
) -> str:
    """Return the price; software with prices in integer cents is recognized by other names."""
    in_cents = in_cents or not _CENTS_MARKER_KEYS.isdisjoint(source)
    for name in keys:
        value = source.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict) and depth < MAX_DEPTH:
            amount = _find_price(
                _fold_keys(value), nested_keys, nested_keys, in_cents=in_cents, depth=depth + 1
            )
        else:
            amount = _parse_script_amount(value, in_cents=in_cents)
        if amount:
            return amount
    return ""


def _parse_script_amount(value: Any, *, in_cents: bool) -> str:
    if isinstance(value, int | float) and value < 0:
        return ""  # a placeholder for no price
    if isinstance(value, int) and not isinstance(value, bool) and in_cents:
        value = f"{value // CENTS_PER_UNIT}.{value % CENTS_PER_UNIT:02}"
    if isinstance(value, float) and not value.is_integer():
        value = f"{value:.2f}"
    amount = parse_amount(value) if isinstance(value, str | int | float) else ""
    return amount if amount and float(amount) > 0 else ""


def _former_price(source: FoldedObject, *, in_cents: bool) -> str:
    """Return the former price, which stands beside the price or within it."""
    if amount := _find_price(source, _FORMER_PRICE_KEYS, _NESTED_PRICE_KEYS, in_cents=in_cents):
        return amount
    within = (_fold_keys(value) for name in _PRICE_KEYS if isinstance(value := source.get(name), dict))
    return next(
        (
            amount
            for one in within
            if (
                amount := _find_price(
                    one,
                    (*_FORMER_PRICE_KEYS, *_NESTED_FORMER_PRICE_KEYS),
                    _NESTED_PRICE_KEYS,
                    in_cents=in_cents,
                )
            )
        ),
        "",
    )


def _find_availability(sources: Sequence[FoldedObject], variants: Sequence[FoldedObject]) -> str:
    state_text = next((state for folded in sources if (state := _stock_state(folded))), "")
    counts = [count for each in variants if isinstance(count := _first_value(each, _STOCK_COUNT_KEYS), int)]
    if not state_text and counts and not any(each.get("unlimited") for each in variants):
        return (
            Availability.IN_STOCK.value
            if any(count > 0 for count in counts)
            else Availability.OUT_OF_STOCK.value
        )
    return state_text


def _stock_state(source: FoldedObject) -> str:
    for name in _STOCK_KEYS:
        value = source.get(name)
        if isinstance(value, dict):
            value = _first_value(_fold_keys(value), _STOCK_KEYS)
        if isinstance(value, bool):
            return (Availability.IN_STOCK if value else Availability.OUT_OF_STOCK).value
        if isinstance(value, str) and (state := map_availability(value)):
            return state
    gone = _first_value(source, _SOLD_OUT_KEYS)
    return Availability.OUT_OF_STOCK.value if gone is True else ""


def _find_sku(sources: Sequence[FoldedObject], page_text: str) -> str:
    """Return the SKU; an internal id counts only if the page shows it."""
    if sku := next((number for folded in sources if (number := _first_text(folded, _SKU_KEYS))), ""):
        return sku
    ids = (number for folded in sources for name in _ID_KEYS if (number := _first_text(folded, (name,))))
    return next((number for number in ids if _is_visible(number, page_text)), "")


def _is_visible(number: str, page_text: str) -> bool:
    is_long = len(number) >= MIN_ID_CHARS and any(char.isdigit() for char in number)
    is_there = is_long and number in page_text  # A cheap test that excludes most ids.
    return is_there and re.search(rf"(?<!\w){re.escape(number)}(?!\w)", page_text) is not None


def _first_text(source: FoldedObject, keys: Sequence[str]) -> str:
    values = (source.get(name) for name in keys)
    found = (
        value_text(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)
    )
    return next((text for text in found if text), "")


def _first_value(source: FoldedObject, keys: Sequence[str]) -> Any:
    return next((source[name] for name in keys if source.get(name) is not None), None)

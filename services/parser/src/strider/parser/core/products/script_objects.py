"""What does one object of a shop's own data say about a product?

Takes an object whatever its maker calls things, gives attributes. Of forms in which it comes the shown one
counts: that which the address names, else the first that can be bought.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from strider.contracts.generated.enums import Availability

from .offers import map_availability, normalize_gtin, parse_amount, text_of
from .prices import parse_currency_field

MIN_NAME_OVERLAP: Final = 0.8
CENTS: Final = 100
MAX_DEPTH: Final = 3
MAX_VARIANTS: Final = 500
MIN_ID_CHARS: Final = 4

NAMES: Final = frozenset(
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
_BEFORE: Final = (
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
_CURRENCIES: Final = ("currency", "currencycode", "pricecurrency", "currencyiso", "currencyisocode")
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
_FORMS: Final = ("variants", "variations", "skus", "offers", "children", "items", "productvariants", "nodes")
_SHOWN: Final = (
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
"""Names that only shop software uses which says whole numbers of cents."""

FoldedObject = Mapping[str, Any]
"""An object by its names without capitals and lines."""


def name_words(name: str) -> frozenset[str]:
    """Give the words of a name."""
    return frozenset(name.casefold().split())


def is_same_name(name: str, expected_words: frozenset[str]) -> bool:
    """Say whether a name is the wanted one, but for a word or two."""
    words = name_words(name)
    return len(words & expected_words) >= MIN_NAME_OVERLAP * max(len(words), len(expected_words))


def script_object_attributes(source: dict[str, Any], *, url: str, page_text: str) -> dict[str, Any]:
    """Give the attributes that an object states."""
    faces = list(_attribute_sources(source, url))
    own = _fold_keys(source)
    in_cents = not _CENTS_MARKER_KEYS.isdisjoint(own)
    price = next(
        (
            amount
            for face in faces
            if (amount := _price(face, _PRICE_KEYS, _NESTED_PRICE_KEYS, in_cents=in_cents))
        ),
        "",
    )
    before = next((amount for face in faces if (amount := _former_price(face, in_cents=in_cents))), "")
    inner = [
        _fold_keys(value)
        for face in faces
        for name in _PRICE_KEYS
        if isinstance(value := face.get(name), dict)
    ]
    inner += [_fold_keys(value) for face in inner for value in face.values() if isinstance(value, dict)]
    gtin = next((number for face in faces if (number := normalize_gtin(_first_text(face, _GTIN_KEYS)))), "")
    return {
        "name": _first_text(own, tuple(NAMES)),
        "price": price,
        "old_price": before if price and before and float(before) > float(price) else "",
        "currency": parse_currency_field(
            next((code for face in (*faces, *inner) if (code := _first_text(face, _CURRENCIES))), "")
        ),
        "availability": _find_availability(faces, _variants(own)),
        "sku": _number(faces, page_text),
        "brand": next(
            (brand for face in faces for name in _BRAND_KEYS if (brand := text_of(face.get(name)))), ""
        ),
        "gtin": gtin,
        "mpn": next((number for face in faces if (number := _first_text(face, _MPN_KEYS))), ""),
    }


def _fold_keys(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key.lower().replace("_", "").replace("-", ""): value for key, value in one.items()}


def _attribute_sources(one: dict[str, Any], url: str) -> Iterator[FoldedObject]:
    """Give an object, and what in it speaks of the form that is shown."""
    own = _fold_keys(one)
    forms = _variants(own)
    if (asked := _asked(forms, url)) is not None:
        yield asked
    yield own
    for name in _SHOWN:
        if isinstance(value := own.get(name), dict):
            yield _fold_keys(value)
    if forms:
        free = (form for form in forms if _state(form) == Availability.IN_STOCK)
        yield next(free, forms[0])


def _variants(own: FoldedObject) -> list[dict[str, Any]]:
    for name in _FORMS:
        value = own.get(name)
        if isinstance(value, dict):
            value = value.get("nodes") or value.get("edges")
        if isinstance(value, list) and value and isinstance(value[0], dict):
            found = (one.get("node", one) for one in value[:MAX_VARIANTS] if isinstance(one, dict))
            return [_fold_keys(one) for one in found if isinstance(one, dict)]
    return []


def _asked(forms: Sequence[FoldedObject], url: str) -> FoldedObject | None:
    """Give the form that the page's address names."""
    asked = set(re.findall(r"=([\w-]{2,40})", url.partition("?")[2]))
    return next(
        (one for one in forms if not asked.isdisjoint({str(one.get("id")), str(one.get("sku"))})), None
    )


def _price(
    face: FoldedObject, names: Sequence[str], inner: Sequence[str], *, in_cents: bool, depth: int = 0
) -> str:
    """Give the price; some software says whole numbers of cents, and is known by other names."""
    in_cents = in_cents or not _CENTS_MARKER_KEYS.isdisjoint(face)
    for name in names:
        value = face.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict) and depth < MAX_DEPTH:
            amount = _price(_fold_keys(value), inner, inner, in_cents=in_cents, depth=depth + 1)
        else:
            amount = _parse_script_amount(value, in_cents=in_cents)
        if amount:
            return amount
    return ""


def _parse_script_amount(value: Any, *, in_cents: bool) -> str:
    if isinstance(value, int | float) and value < 0:
        return ""  # what programs say for none
    if isinstance(value, int) and not isinstance(value, bool) and in_cents:
        value = f"{value // CENTS}.{value % CENTS:02}"
    if isinstance(value, float) and not value.is_integer():
        value = f"{value:.2f}"
    amount = parse_amount(value) if isinstance(value, str | int | float) else ""
    return amount if amount and float(amount) > 0 else ""


def _former_price(face: FoldedObject, *, in_cents: bool) -> str:
    """Give what it cost before, which stands beside the price or within the prices."""
    if amount := _price(face, _BEFORE, _NESTED_PRICE_KEYS, in_cents=in_cents):
        return amount
    within = (_fold_keys(value) for name in _PRICE_KEYS if isinstance(value := face.get(name), dict))
    return next(
        (
            amount
            for one in within
            if (
                amount := _price(
                    one, (*_BEFORE, *_NESTED_FORMER_PRICE_KEYS), _NESTED_PRICE_KEYS, in_cents=in_cents
                )
            )
        ),
        "",
    )


def _find_availability(faces: Sequence[FoldedObject], forms: Sequence[FoldedObject]) -> str:
    said = next((state for face in faces if (state := _state(face))), "")
    counts = [count for form in forms if isinstance(count := _first_value(form, _STOCK_COUNT_KEYS), int)]
    if not said and counts and not any(form.get("unlimited") for form in forms):
        return (
            Availability.IN_STOCK.value
            if any(count > 0 for count in counts)
            else Availability.OUT_OF_STOCK.value
        )
    return said


def _state(face: FoldedObject) -> str:
    for name in _STOCK_KEYS:
        value = face.get(name)
        if isinstance(value, dict):
            value = _first_value(_fold_keys(value), _STOCK_KEYS)
        if isinstance(value, bool):
            return (Availability.IN_STOCK if value else Availability.OUT_OF_STOCK).value
        if isinstance(value, str) and (state := map_availability(value)):
            return state
    gone = _first_value(face, _SOLD_OUT_KEYS)
    return Availability.OUT_OF_STOCK.value if gone is True else ""


def _number(faces: Sequence[FoldedObject], text: str) -> str:
    """Give the shop's number; a mere identity is one where people are told it as well."""
    if said := next((number for face in faces if (number := _first_text(face, _SKU_KEYS))), ""):
        return said
    told = (number for face in faces for name in _ID_KEYS if (number := _first_text(face, (name,))))
    return next((number for number in told if _is_visible(number, text)), "")


def _is_visible(number: str, text: str) -> bool:
    is_long = len(number) >= MIN_ID_CHARS and any(char.isdigit() for char in number)
    is_there = is_long and number in text  # most are not, and this look is cheap
    return is_there and re.search(rf"(?<!\w){re.escape(number)}(?!\w)", text) is not None


def _first_text(face: FoldedObject, names: Sequence[str]) -> str:
    values = (face.get(name) for name in names)
    found = (
        text_of(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)
    )
    return next((text for text in found if text), "")


def _first_value(face: FoldedObject, names: Sequence[str]) -> Any:
    return next((face[name] for name in names if face.get(name) is not None), None)

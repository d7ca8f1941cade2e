"""What does one object of a shop's own data say about a product?

Takes an object whatever its maker calls things, gives attributes. Of forms in which it comes the shown one
counts: that which the address names, else the first that can be bought.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from strider.contracts.generated.enums import Availability

from .offers import amount_of, as_gtin, state_named, text_of
from .prices import as_currency

ALIKE: Final = 0.8
CENTS: Final = 100
MAX_DEPTH: Final = 3
MAX_FORMS: Final = 500
LEAST_ID_CHARS: Final = 4

NAMES: Final = frozenset(
    {"name", "title", "productname", "itemname", "displayname", "producttitle", "prodname", "fullname"}
)
_PRICES: Final = (
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
_INNER_PRICES: Final = (
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
_INNER_BEFORE: Final = ("regular", "list", "was", "original", "old", "before", "msrp", "compareat")
_CURRENCIES: Final = ("currency", "currencycode", "pricecurrency", "currencyiso", "currencyisocode")
_SKUS: Final = (
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
_IDENTITIES: Final = ("id", "itemid", "productid", "pid", "articleid", "code", "masterid", "productnumber")
_STOCKS: Final = (
    *("availability", "stockstatus", "instock", "isinstock", "available", "isavailable", "stocklevelstatus"),
    *("availabilitystatus", "inventorystatus", "stock", "instockstatus", "isbuyable", "availableforsale"),
)
_GONE: Final = ("soldout", "issoldout", "outofstock", "isoutofstock")
_COUNTS: Final = ("qtyinstock", "stockquantity", "inventoryquantity", "stocklevel", "quantityavailable")
_BRANDS: Final = (
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
_GTINS: Final = ("gtin", "gtin13", "gtin14", "gtin12", "ean", "ean13", "eancode", "upc", "barcode", "isbn")
_MPNS: Final = ("mpn", "manufacturerpartnumber", "mfrpartnumber", "manufacturersku", "manufacturernumber")
_FORMS: Final = ("variants", "variations", "skus", "offers", "children", "items", "productvariants", "nodes")
_SHOWN: Final = (
    *("selectedvariant", "selectedorfirstavailablevariant", "defaultvariant", "currentvariant", "variant"),
    *("selectedsku", "defaultsku", "mastervariant", "firstvariant", "offer", "offers", "product", "details"),
)
_IN_CENTS: Final = frozenset(
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

Face = Mapping[str, Any]
"""An object by its names without capitals and lines."""


def words_of(name: str) -> frozenset[str]:
    """Give the words of a name."""
    return frozenset(name.casefold().split())


def named_as(name: str, wanted: frozenset[str]) -> bool:
    """Say whether a name is the wanted one, but for a word or two."""
    words = words_of(name)
    return len(words & wanted) >= ALIKE * max(len(words), len(wanted))


def read_shop_object(one: dict[str, Any], *, url: str, text: str) -> dict[str, Any]:
    """Give the attributes that an object states."""
    faces = list(_faces(one, url))
    own = _folded(one)
    in_cents = not _IN_CENTS.isdisjoint(own)
    price = next(
        (amount for face in faces if (amount := _price(face, _PRICES, _INNER_PRICES, in_cents=in_cents))), ""
    )
    before = next((amount for face in faces if (amount := _former(face, in_cents=in_cents))), "")
    inner = [
        _folded(value) for face in faces for name in _PRICES if isinstance(value := face.get(name), dict)
    ]
    inner += [_folded(value) for face in inner for value in face.values() if isinstance(value, dict)]
    gtin = next((number for face in faces if (number := as_gtin(_first(face, _GTINS)))), "")
    return {
        "name": _first(own, tuple(NAMES)),
        "price": price,
        "old_price": before if price and before and float(before) > float(price) else "",
        "currency": as_currency(
            next((code for face in (*faces, *inner) if (code := _first(face, _CURRENCIES))), "")
        ),
        "availability": _availability(faces, _forms(own)),
        "sku": _number(faces, text),
        "brand": next(
            (brand for face in faces for name in _BRANDS if (brand := text_of(face.get(name)))), ""
        ),
        "gtin": gtin,
        "mpn": next((number for face in faces if (number := _first(face, _MPNS))), ""),
    }


def _folded(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key.lower().replace("_", "").replace("-", ""): value for key, value in one.items()}


def _faces(one: dict[str, Any], url: str) -> Iterator[Face]:
    """Give an object, and what in it speaks of the form that is shown."""
    own = _folded(one)
    forms = _forms(own)
    if (asked := _asked(forms, url)) is not None:
        yield asked
    yield own
    for name in _SHOWN:
        if isinstance(value := own.get(name), dict):
            yield _folded(value)
    if forms:
        free = (form for form in forms if _state(form) == Availability.IN_STOCK)
        yield next(free, forms[0])


def _forms(own: Face) -> list[dict[str, Any]]:
    for name in _FORMS:
        value = own.get(name)
        if isinstance(value, dict):
            value = value.get("nodes") or value.get("edges")
        if isinstance(value, list) and value and isinstance(value[0], dict):
            found = (one.get("node", one) for one in value[:MAX_FORMS] if isinstance(one, dict))
            return [_folded(one) for one in found if isinstance(one, dict)]
    return []


def _asked(forms: Sequence[Face], url: str) -> Face | None:
    """Give the form that the page's address names."""
    asked = set(re.findall(r"=([\w-]{2,40})", url.partition("?")[2]))
    return next(
        (one for one in forms if not asked.isdisjoint({str(one.get("id")), str(one.get("sku"))})), None
    )


def _price(face: Face, names: Sequence[str], inner: Sequence[str], *, in_cents: bool, depth: int = 0) -> str:
    """Give the price; some software says whole numbers of cents, and is known by other names."""
    in_cents = in_cents or not _IN_CENTS.isdisjoint(face)
    for name in names:
        value = face.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict) and depth < MAX_DEPTH:
            amount = _price(_folded(value), inner, inner, in_cents=in_cents, depth=depth + 1)
        else:
            amount = _amount(value, in_cents=in_cents)
        if amount:
            return amount
    return ""


def _amount(value: Any, *, in_cents: bool) -> str:
    if isinstance(value, int | float) and value < 0:
        return ""  # what programs say for none
    if isinstance(value, int) and not isinstance(value, bool) and in_cents:
        value = f"{value // CENTS}.{value % CENTS:02}"
    if isinstance(value, float) and not value.is_integer():
        value = f"{value:.2f}"
    amount = amount_of(value) if isinstance(value, str | int | float) else ""
    return amount if amount and float(amount) > 0 else ""


def _former(face: Face, *, in_cents: bool) -> str:
    """Give what it cost before, which stands beside the price or within the prices."""
    if amount := _price(face, _BEFORE, _INNER_PRICES, in_cents=in_cents):
        return amount
    within = (_folded(value) for name in _PRICES if isinstance(value := face.get(name), dict))
    return next(
        (
            amount
            for one in within
            if (amount := _price(one, (*_BEFORE, *_INNER_BEFORE), _INNER_PRICES, in_cents=in_cents))
        ),
        "",
    )


def _availability(faces: Sequence[Face], forms: Sequence[Face]) -> str:
    said = next((state for face in faces if (state := _state(face))), "")
    counts = [count for form in forms if isinstance(count := _first_of(form, _COUNTS), int)]
    if not said and counts and not any(form.get("unlimited") for form in forms):
        return (
            Availability.IN_STOCK.value
            if any(count > 0 for count in counts)
            else Availability.OUT_OF_STOCK.value
        )
    return said


def _state(face: Face) -> str:
    for name in _STOCKS:
        value = face.get(name)
        if isinstance(value, dict):
            value = _first_of(_folded(value), _STOCKS)
        if isinstance(value, bool):
            return (Availability.IN_STOCK if value else Availability.OUT_OF_STOCK).value
        if isinstance(value, str) and (state := state_named(value)):
            return state
    gone = _first_of(face, _GONE)
    return Availability.OUT_OF_STOCK.value if gone is True else ""


def _number(faces: Sequence[Face], text: str) -> str:
    """Give the shop's number; a mere identity is one where people are told it as well."""
    if said := next((number for face in faces if (number := _first(face, _SKUS))), ""):
        return said
    told = (number for face in faces for name in _IDENTITIES if (number := _first(face, (name,))))
    return next((number for number in told if _is_shown(number, text)), "")


def _is_shown(number: str, text: str) -> bool:
    is_long = len(number) >= LEAST_ID_CHARS and any(char.isdigit() for char in number)
    is_there = is_long and number in text  # most are not, and this look is cheap
    return is_there and re.search(rf"(?<!\w){re.escape(number)}(?!\w)", text) is not None


def _first(face: Face, names: Sequence[str]) -> str:
    values = (face.get(name) for name in names)
    found = (
        text_of(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)
    )
    return next((text for text in found if text), "")


def _first_of(face: Face, names: Sequence[str]) -> Any:
    return next((face[name] for name in names if face.get(name) is not None), None)

"""Read product attributes from one object of structured data.

Takes an object in JSON-LD shape. Its offers, including those of variants, are combined into one price, a
price range and one availability.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from strider.contracts.generated.enums import Availability
from strider.parser.core.content.plain_text import strip_markup
from strider.parser.core.html.metadata import resolve_url

from .commerce_vocabulary import is_gtin, parse_availability
from .images import NO_IMAGE_METADATA, ImageMetadata, parse_pixels
from .prices import parse_currency, parse_currency_field, parse_price

MAX_IMAGES: Final = 50
MAX_TEXT_CHARS: Final = 4_000
MAX_OFFERS: Final = 500
MAX_DEPTH: Final = 4
MAX_AMOUNT: Final = 1e15
BEST_RATING: Final = 5.0
MAX_EXTRA: Final = 32
MAX_EXTRA_NAME_CHARS: Final = 100
MAX_EXTRA_CHARS: Final = 300

_GTIN_PROPERTIES: Final = ("gtin13", "gtin", "gtin14", "gtin12", "gtin8", "isbn", "ean")
_FORMER_PRICE_TYPES: Final = ("listprice", "strikethroughprice", "msrp", "srp", "regularprice")
_EXTRA_PROPERTIES: Final = (
    *("color", "material", "pattern", "size", "weight", "width", "height", "depth", "releaseDate"),
    *("productionDate", "countryOfOrigin"),
)
_STATES: Final = {
    "instock": Availability.IN_STOCK,
    "available": Availability.IN_STOCK,
    "availablefororder": Availability.IN_STOCK,
    "onlineonly": Availability.IN_STOCK,
    "outofstock": Availability.OUT_OF_STOCK,
    "soldout": Availability.OUT_OF_STOCK,
    "reserved": Availability.OUT_OF_STOCK,
    "oos": Availability.OUT_OF_STOCK,
    "preorder": Availability.PREORDER,
    "presale": Availability.PREORDER,
    "backorder": Availability.BACKORDER,
    "madetoorder": Availability.BACKORDER,
    "limitedavailability": Availability.LIMITED,
    "discontinued": Availability.DISCONTINUED,
    "instoreonly": Availability.IN_STORE_ONLY,
}

NodesById = Mapping[str, dict[str, Any]]
"""Objects by their @id, to resolve references."""


IMAGE_METADATA: Final = "images_told"
"""Key for image properties by URL; not an attribute of the product."""


def product_attributes(node: dict[str, Any], base: str, by_id: NodesById) -> dict[str, Any]:
    """Return the attributes of one product; its URLs are resolved against `base`."""
    rating = _first_object(node.get("aggregateRating"), by_id)
    images = [_first_object(one, by_id) or one for one in _as_list(node.get("image"))[:MAX_IMAGES]]
    urls = [resolve_url(value_text(one, "url", "contentUrl"), base) for one in images]
    number = next(filter(None, (value_text(node.get(name)) for name in _GTIN_PROPERTIES)), "")
    shown = _priced_variant(node, by_id)
    return {
        "name": value_text(node.get("name")),
        "description": value_text(node.get("description")),
        "url": resolve_url(value_text(node.get("url")), base),
        "brand": _entity_name(node.get("brand"), by_id) or _entity_name(node.get("manufacturer"), by_id),
        "category": " > ".join(filter(None, map(_name_text, _as_list(node.get("category"))))),
        "sku": _sku(node) or _sku(shown),
        "gtin": normalize_gtin(number)
        or normalize_gtin(value_text([shown.get(name) for name in _GTIN_PROPERTIES])),
        "mpn": value_text(node.get("mpn")) or value_text(shown.get("mpn")),
        "rating": _parse_rating(rating),
        "review_count": _parse_review_count(rating),
        "image_urls": tuple(dict.fromkeys(filter(None, urls))),
        IMAGE_METADATA: {url: _image_metadata(one) for url, one in zip(urls, images, strict=True) if url},
        "extra": _extra_properties(node, by_id) or None,
        **_combine_offers(_collect_offers(node, by_id), base),
    }


def _sku(node: dict[str, Any]) -> str:
    return value_text(node.get("sku")) or value_text(node.get("productID")).rpartition(":")[2]


def _priced_variant(node: dict[str, Any], by_id: NodesById) -> dict[str, Any]:
    """Return the variant whose price is used for the product: the first with an offer."""
    variants = (_first_object(one, by_id) for one in product_variants(node)[:MAX_OFFERS])
    return next((one for one in variants if one.get("offers")), {})


def _image_metadata(image: Any) -> ImageMetadata:
    if not isinstance(image, dict):
        return NO_IMAGE_METADATA
    width, height = (_pixels(image.get(name)) for name in ("width", "height"))
    return ImageMetadata(width, height, value_text(image.get("caption")) or value_text(image.get("name")))


def _pixels(value: Any) -> int:
    text = value.get("value") if isinstance(value, dict) else value
    return parse_pixels(value_text(text))


def _extra_properties(node: dict[str, Any], by_id: NodesById) -> dict[str, str]:
    """Return named properties without an attribute of their own, including those the shop defines."""
    candidates = [(name, _value_with_unit(node.get(name), by_id)) for name in _EXTRA_PROPERTIES]
    for one in _as_list(node.get("additionalProperty"))[:MAX_OFFERS]:
        own = _first_object(one, by_id)
        if "value" in own:
            candidates.append(
                (
                    value_text(own.get("name")) or value_text(own.get("propertyID")),
                    _value_with_unit(own, by_id),
                )
            )
    found: dict[str, str] = {}
    for name, text in candidates:
        if name and text and len(found) < MAX_EXTRA:
            found.setdefault(name[:MAX_EXTRA_NAME_CHARS], text[:MAX_EXTRA_CHARS])
    return found


def _value_with_unit(value: Any, by_id: NodesById) -> str:
    """Return a value with its unit, if it has one."""
    one = _first_object(value, by_id)
    if "value" not in one:
        return value_text(value)
    unit = value_text(one.get("unitText")) or value_text(one.get("unitCode"))
    text = value_text(one["value"])
    return f"{text} {unit}" if text and unit else text


def normalize_gtin(text: str) -> str:
    """Return the digits of a GTIN; empty if its check digit is invalid."""
    digits = "".join(char for char in text if char.isdigit())
    return digits if is_gtin(digits) else ""


def map_availability(text: str) -> str:
    """Map a schema.org term or a phrase to an availability; empty if unknown."""
    last = re.split(r"[/#:]", text.rstrip("/"))[-1]
    word = "".join(char for char in last.lower() if char.isalpha())
    return _STATES[word].value if word in _STATES else parse_availability(text)


def parse_amount(value: Any) -> str:
    """Return an amount as a decimal number; JSON numbers are used as they are, regardless of locale."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < MAX_AMOUNT:
            return ""  # includes NaN
        return f"{value:.2f}" if isinstance(value, float) and value != round(value, 2) else str(value)
    price = parse_price(value_text(value))
    return price.amount if price else ""


def product_variants(node: dict[str, Any]) -> list[Any]:
    """Return the variants of a product."""
    return [*_as_list(node.get("hasVariant")), *_as_list(node.get("model"))]


MAX_VISITED: Final = 4 * MAX_OFFERS
"""Bounds the products, variants and offers that are visited."""


def _collect_offers(node: dict[str, Any], by_id: NodesById) -> list[dict[str, Any]]:
    """Return the offers of a product, of its variants and of aggregates, each once.

    Objects are visited once, since references may be circular.
    """
    found: list[dict[str, Any]] = []
    looked_at: set[int] = set()
    waiting = [(node, 0, False)]
    while waiting and len(found) < MAX_OFFERS and len(looked_at) < MAX_VISITED:
        one, depth, is_offer = waiting.pop()
        if not one or id(one) in looked_at:
            continue
        looked_at.add(id(one))
        found += [one] * is_offer
        if depth <= MAX_DEPTH:  # Aggregate offers may contain products as well.
            variants = [
                (_first_object(variant, by_id), depth + 1, False)
                for variant in product_variants(one)[:MAX_OFFERS]
            ]
            waiting += variants[::-1]
            offers = [
                (_first_object(offer, by_id), depth + 1, True)
                for offer in _as_list(one.get("offers"))[:MAX_OFFERS]
            ]
            waiting += offers[::-1]
    return found


def _combine_offers(offers: list[dict[str, Any]], base: str) -> dict[str, Any]:
    """Combine offers: the one of this page, else the first with a price, and the range of all."""
    if not offers:
        return {}
    attributes = [_offer_attributes(offer) for offer in offers]
    own_offers = [
        one for offer, one in zip(offers, attributes, strict=True) if _is_offer_of_page(offer, base)
    ] or attributes
    first = next((one for one in own_offers if one["price"]), None) or next(
        (one for one in attributes if one["price"]), attributes[0]
    )
    amounts = [(float(one["price"]), one["price"]) for one in attributes if one["price"]]
    low, high = (min(amounts)[1], max(amounts)[1]) if amounts else ("", "")
    is_range = bool(amounts) and float(low) < float(high)
    states = [one["availability"] for one in own_offers if one["availability"]]
    in_stock = Availability.IN_STOCK.value
    return {
        **first,
        "price_low": first["price_low"] or (low if is_range else ""),
        "price_high": first["price_high"] or (high if is_range else ""),
        "availability": in_stock if in_stock in states else next(iter(states), ""),
    }


def _is_offer_of_page(offer: dict[str, Any], base: str) -> bool:
    """Whether the offer is that of this URL: among variants, the selected one."""
    url = value_text(offer.get("url"))
    return bool(url) and resolve_url(url, base) == base


def _offer_attributes(offer: dict[str, Any]) -> dict[str, Any]:
    further = [one for one in _as_list(offer.get("priceSpecification")) if isinstance(one, dict)]
    before = next((one for one in further if _price_type(one).endswith(_FORMER_PRICE_TYPES)), {})
    now = min((one for one in further if one is not before), key=_count_conditions, default={})
    own = {name: value for name, value in offer.items() if value is not None and value != ""}
    merged = {**now, **own}
    currency = parse_currency_field(value_text(merged.get("priceCurrency"))) or parse_currency(
        value_text(merged.get("price"))
    )
    low = _parse_offer_amount(merged.get("lowPrice"), currency)
    price = _parse_offer_amount(merged.get("price"), currency) or low
    old = _parse_offer_amount(before.get("price"), currency)
    return {
        "price": price,
        "price_low": low,
        "price_high": _parse_offer_amount(merged.get("highPrice"), currency),
        "old_price": old if old and price and float(old) > float(price) else "",
        "currency": currency,
        "availability": map_availability(value_text(merged.get("availability"))),
        "condition": value_text(merged.get("itemCondition")).rpartition("/")[2],
        "seller": _name_text(merged.get("seller")),
    }


_CONDITION_PROPERTIES: Final = (
    *("referenceQuantity", "validForMemberTier", "eligibleQuantity", "eligibleTransactionVolume"),
    *("billingIncrement", "eligibleCustomerType"),
)
"""Properties of conditional prices (per unit, for members, for quantities), which are a last resort."""


def _count_conditions(specification: dict[str, Any]) -> int:
    return sum(specification.get(name) is not None for name in _CONDITION_PROPERTIES)


_THREE_DECIMAL_CURRENCIES: Final = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})
_THREE_DECIMALS: Final = re.compile(r"\d{1,9}\.\d{3}")


def _parse_offer_amount(value: Any, currency: str) -> str:
    """Parse an amount, with three decimals for currencies that have them."""
    text = value_text(value)
    if currency in _THREE_DECIMAL_CURRENCIES and _THREE_DECIMALS.fullmatch(text):
        return text
    return parse_amount(value)


def _price_type(specification: dict[str, Any]) -> str:
    return value_text(specification.get("priceType")).lower()


def _parse_rating(rating: dict[str, Any]) -> float | None:
    value, best = (
        _parse_number(rating.get("ratingValue")),
        _parse_number(rating.get("bestRating")) or BEST_RATING,
    )
    if value is None or not 0 <= value <= best:
        return None
    return round(value * BEST_RATING / best, 2)


def _parse_review_count(rating: dict[str, Any]) -> int | None:
    value = _parse_number(rating.get("reviewCount"))
    value = _parse_number(rating.get("ratingCount")) if value is None else value
    return None if value is None or value < 0 else int(value)


def _parse_number(value: Any) -> float | None:
    amount = parse_amount(value)
    return float(amount) if amount else None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _first_object(value: Any, by_id: NodesById) -> dict[str, Any]:
    """Return the first object in a value, with its reference resolved."""
    one = next((one for one in _as_list(value) if isinstance(one, dict)), {})
    name = one.get("@id")
    return by_id.get(name, one) if len(one) == 1 and isinstance(name, str) else one


def _entity_name(value: Any, by_id: NodesById) -> str:
    return _name_text(_first_object(value, by_id)) or _name_text(value)


_URL_START: Final = re.compile(r"(?:https?:/|\.{0,2}/|[#?]|_:)")


def _name_text(value: Any) -> str:
    """Return the name of a thing; empty for a URL, which a link is in microdata."""
    text = value_text(value)
    return "" if _URL_START.match(text) else text


def value_text(value: Any, *names: str) -> str:
    """Return a value as text: of an object its name, of a list the first text."""
    if isinstance(value, list):
        return next((text for one in _flatten(value) if (text := value_text(one, *names))), "")
    if isinstance(value, dict):
        keys = (*names, "name", "@value", "@id")
        found = next((text for name in keys if (text := _literal_text(value.get(name)))), "")
        return strip_markup(found)[:MAX_TEXT_CHARS]
    if isinstance(value, str):
        # Twice, as shops escape entities twice.
        return strip_markup(strip_markup(value[: 4 * MAX_TEXT_CHARS]))[:MAX_TEXT_CHARS]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


MAX_VALUES: Final = 10


MAX_STEPS: Final = 40
"""Bounds the traversal of nested values."""


def _flatten(values: list[Any]) -> Iterator[Any]:
    """Yield the elements of a list and of its nested lists."""
    waiting = values[:MAX_VALUES][::-1]
    for _ in range(MAX_STEPS):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one[:MAX_VALUES][::-1]
        else:
            yield one


def _literal_text(value: Any) -> str:
    """Return a text, also from an object with a language."""
    one = next(iter(value), "") if isinstance(value, list) else value
    text = one.get("@value") if isinstance(one, dict) else one
    return text if isinstance(text, str) else ""

"""What does an object of structured data say about a product?

Takes one object in the shape of JSON-LD, whoever wrote it, gives attributes by name. Its offers, those of its
variants among them, come down to one price, its range and one state.
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

_NUMBERS: Final = ("gtin13", "gtin", "gtin14", "gtin12", "gtin8", "isbn", "ean")
_BEFORE: Final = ("listprice", "strikethroughprice", "msrp", "srp", "regularprice")
_FURTHER: Final = (
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

Known = Mapping[str, dict[str, Any]]
"""Objects by their @id: what is said in one place may be meant in another."""


def product_attributes(node: dict[str, Any], base: str, by_id: Known) -> dict[str, Any]:
    """Give the attributes of one product; `base` is what its addresses are resolved against."""
    rating = _object(node.get("aggregateRating"), by_id)
    images = [_object(one, by_id) or one for one in _many(node.get("image"))[:MAX_IMAGES]]
    urls = [resolve_url(text_of(one, "url", "contentUrl"), base) for one in images]
    number = next(filter(None, (text_of(node.get(name)) for name in _NUMBERS)), "")
    shown = _priced_variant(node, by_id)
    return {
        "name": text_of(node.get("name")),
        "description": text_of(node.get("description")),
        "url": resolve_url(text_of(node.get("url")), base),
        "brand": _entity_name(node.get("brand"), by_id) or _entity_name(node.get("manufacturer"), by_id),
        "category": " > ".join(filter(None, map(_name_text, _many(node.get("category"))))),
        "sku": _sku(node) or _sku(shown),
        "gtin": normalize_gtin(number) or normalize_gtin(text_of([shown.get(name) for name in _NUMBERS])),
        "mpn": text_of(node.get("mpn")) or text_of(shown.get("mpn")),
        "rating": _parse_rating(rating),
        "review_count": _count(rating),
        "image_urls": tuple(dict.fromkeys(filter(None, urls))),
        IMAGE_METADATA: {url: _told_of(one) for url, one in zip(urls, images, strict=True) if url},
        "extra": _further(node, by_id) or None,
        **_combine_offers(_collect_offers(node, by_id), base),
    }


def _sku(node: dict[str, Any]) -> str:
    return text_of(node.get("sku")) or text_of(node.get("productID")).rpartition(":")[2]


def _priced_variant(node: dict[str, Any], known: Known) -> dict[str, Any]:
    """Give the form of a product whose price is its price: the first that has one."""
    variants = (_object(one, known) for one in product_variants(node)[:MAX_OFFERS])
    return next((one for one in variants if one.get("offers")), {})


IMAGE_METADATA: Final = "images_told"
"""What is said of each picture, by its address: no attribute of its own."""


def _told_of(image: Any) -> ImageMetadata:
    if not isinstance(image, dict):
        return NO_IMAGE_METADATA
    width, height = (_pixels(image.get(name)) for name in ("width", "height"))
    return ImageMetadata(width, height, text_of(image.get("caption")) or text_of(image.get("name")))


def _pixels(value: Any) -> int:
    said = value.get("value") if isinstance(value, dict) else value
    return parse_pixels(text_of(said))


def _further(node: dict[str, Any], known: Known) -> dict[str, str]:
    """Give what else is said by name: what has no attribute of its own, and what the shop calls by a name."""
    told = [(name, _measure(node.get(name), known)) for name in _FURTHER]
    for one in _many(node.get("additionalProperty"))[:MAX_OFFERS]:
        own = _object(one, known)
        if "value" in own:
            told.append((text_of(own.get("name")) or text_of(own.get("propertyID")), _measure(own, known)))
    found: dict[str, str] = {}
    for name, text in told:
        if name and text and len(found) < MAX_EXTRA:
            found.setdefault(name[:MAX_EXTRA_NAME_CHARS], text[:MAX_EXTRA_CHARS])
    return found


def _measure(value: Any, known: Known) -> str:
    """Say a value with its unit, where it has one."""
    one = _object(value, known)
    if "value" not in one:
        return text_of(value)
    unit = text_of(one.get("unitText")) or text_of(one.get("unitCode"))
    text = text_of(one["value"])
    return f"{text} {unit}" if text and unit else text


def normalize_gtin(text: str) -> str:
    """Give the digits of a GTIN; empty where its check digit says that it is none."""
    digits = "".join(char for char in text if char.isdigit())
    return digits if is_gtin(digits) else ""


def map_availability(text: str) -> str:
    """Give the state that a word for machines names, or one for people; empty for none."""
    last = re.split(r"[/#:]", text.rstrip("/"))[-1]
    word = "".join(char for char in last.lower() if char.isalpha())
    return _STATES[word].value if word in _STATES else parse_availability(text)


def parse_amount(value: Any) -> str:
    """Give an amount as a decimal number; numbers are taken as they are, whatever a land's habits."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < MAX_AMOUNT:
            return ""  # nor is what is no number at all
        return f"{value:.2f}" if isinstance(value, float) and value != round(value, 2) else str(value)
    price = parse_price(text_of(value))
    return price.amount if price else ""


def product_variants(node: dict[str, Any]) -> list[Any]:
    """Give the forms in which a product comes."""
    return [*_many(node.get("hasVariant")), *_many(node.get("model"))]


def _collect_offers(node: dict[str, Any], known: Known) -> list[dict[str, Any]]:
    """Give the offers of a product, of its forms, and those that others bring together, each once.

    Once, because what is only named may lead back to where it is named.
    """
    found: list[dict[str, Any]] = []
    looked_at: set[int] = set()
    waiting = [(node, 0, False)]
    while waiting and len(found) < MAX_OFFERS and len(looked_at) < MAX_LOOKED_AT:
        one, depth, is_offer = waiting.pop()
        if not one or id(one) in looked_at:
            continue
        looked_at.add(id(one))
        found += [one] * is_offer
        if depth <= MAX_DEPTH:  # what offers are brought together in one say of the goods, too
            variants = [
                (_object(variant, known), depth + 1, False) for variant in product_variants(one)[:MAX_OFFERS]
            ]
            waiting += variants[::-1]
            offers = [
                (_object(offer, known), depth + 1, True) for offer in _many(one.get("offers"))[:MAX_OFFERS]
            ]
            waiting += offers[::-1]
    return found


MAX_LOOKED_AT: Final = 4 * MAX_OFFERS
"""Products, forms and offers, until as many offers are found."""


def _combine_offers(offers: list[dict[str, Any]], base: str) -> dict[str, Any]:
    """Bring offers down to one: the page's own, else the first with a price, and the range of them all."""
    if not offers:
        return {}
    said = [_offer_attributes(offer) for offer in offers]
    at_hand = [one for offer, one in zip(offers, said, strict=True) if _is_offer_of_page(offer, base)] or said
    first = next((one for one in at_hand if one["price"]), None) or next(
        (one for one in said if one["price"]), said[0]
    )
    amounts = [(float(one["price"]), one["price"]) for one in said if one["price"]]
    low, high = (min(amounts)[1], max(amounts)[1]) if amounts else ("", "")
    is_range = bool(amounts) and float(low) < float(high)
    states = [one["availability"] for one in at_hand if one["availability"]]
    in_stock = Availability.IN_STOCK.value
    return {
        **first,
        "price_low": first["price_low"] or (low if is_range else ""),
        "price_high": first["price_high"] or (high if is_range else ""),
        "availability": in_stock if in_stock in states else next(iter(states), ""),
    }


def _is_offer_of_page(offer: dict[str, Any], base: str) -> bool:
    """Say whether it is the offer of this very address: of several forms the one that is shown."""
    said = text_of(offer.get("url"))
    return bool(said) and resolve_url(said, base) == base


def _offer_attributes(offer: dict[str, Any]) -> dict[str, Any]:
    further = [one for one in _many(offer.get("priceSpecification")) if isinstance(one, dict)]
    before = next((one for one in further if _kind(one).endswith(_BEFORE)), {})
    now = min((one for one in further if one is not before), key=_count_conditions, default={})
    own = {name: value for name, value in offer.items() if value is not None and value != ""}
    said = {**now, **own}
    currency = parse_currency_field(text_of(said.get("priceCurrency"))) or parse_currency(
        text_of(said.get("price"))
    )
    low = _parse_offer_amount(said.get("lowPrice"), currency)
    price = _parse_offer_amount(said.get("price"), currency) or low
    old = _parse_offer_amount(before.get("price"), currency)
    return {
        "price": price,
        "price_low": low,
        "price_high": _parse_offer_amount(said.get("highPrice"), currency),
        "old_price": old if old and price and float(old) > float(price) else "",
        "currency": currency,
        "availability": map_availability(text_of(said.get("availability"))),
        "condition": text_of(said.get("itemCondition")).rpartition("/")[2],
        "seller": _name_text(said.get("seller")),
    }


_CONDITION_PROPERTIES: Final = (
    *("referenceQuantity", "validForMemberTier", "eligibleQuantity", "eligibleTransactionVolume"),
    *("billingIncrement", "eligibleCustomerType"),
)
"""With which a price is that of a measure, of members or of many: it is the price where there is no other."""


def _count_conditions(specification: dict[str, Any]) -> int:
    return sum(specification.get(name) is not None for name in _CONDITION_PROPERTIES)


_THREE_DECIMAL_CURRENCIES: Final = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})
_THREE_DECIMALS: Final = re.compile(r"\d{1,9}\.\d{3}")


def _parse_offer_amount(value: Any, currency: str) -> str:
    """Read an amount of data, where a point stands before the thousandths of money that has such."""
    text = text_of(value)
    if currency in _THREE_DECIMAL_CURRENCIES and _THREE_DECIMALS.fullmatch(text):
        return text
    return parse_amount(value)


def _kind(specification: dict[str, Any]) -> str:
    return text_of(specification.get("priceType")).lower()


def _parse_rating(rating: dict[str, Any]) -> float | None:
    value, best = _number(rating.get("ratingValue")), _number(rating.get("bestRating")) or BEST_RATING
    if value is None or not 0 <= value <= best:
        return None
    return round(value * BEST_RATING / best, 2)


def _count(rating: dict[str, Any]) -> int | None:
    value = _number(rating.get("reviewCount"))
    value = _number(rating.get("ratingCount")) if value is None else value
    return None if value is None or value < 0 else int(value)


def _number(value: Any) -> float | None:
    amount = parse_amount(value)
    return float(amount) if amount else None


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _object(value: Any, known: Known) -> dict[str, Any]:
    """Give the first object of a value; one that is only named is looked up."""
    one = next((one for one in _many(value) if isinstance(one, dict)), {})
    name = one.get("@id")
    return known.get(name, one) if len(one) == 1 and isinstance(name, str) else one


def _entity_name(value: Any, known: Known) -> str:
    return _name_text(_object(value, known)) or _name_text(value)


def _name_text(value: Any) -> str:
    """Say in words what a thing is called, which its address is not (what a link says in microdata)."""
    said = text_of(value)
    return "" if _ADDRESS.match(said) else said


_ADDRESS: Final = re.compile(r"(?:https?:/|\.{0,2}/|[#?]|_:)")


def text_of(value: Any, *names: str) -> str:
    """Say a value in words: of an object its name, of several the first."""
    if isinstance(value, list):
        return next((text for one in _flat(value) if (text := text_of(one, *names))), "")
    if isinstance(value, dict):
        wanted = (*names, "name", "@value", "@id")
        said = next((text for name in wanted if (text := _word(value.get(name)))), "")
        return strip_markup(said)[:MAX_TEXT_CHARS]
    if isinstance(value, str):
        # Twice: shops write entities of entities.
        return strip_markup(strip_markup(value[: 4 * MAX_TEXT_CHARS]))[:MAX_TEXT_CHARS]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _flat(values: list[Any]) -> Iterator[Any]:
    """Give the first of several, and of those that are several themselves theirs."""
    waiting = values[:MAX_VALUES][::-1]
    for _ in range(MAX_STEPS):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one[:MAX_VALUES][::-1]
        else:
            yield one


MAX_VALUES: Final = 10
MAX_STEPS: Final = 40
"""Through values that are nested to any depth."""


def _word(value: Any) -> str:
    """Give a text, also where it is said in which language."""
    one = next(iter(value), "") if isinstance(value, list) else value
    said = one.get("@value") if isinstance(one, dict) else one
    return said if isinstance(said, str) else ""

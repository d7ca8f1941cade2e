"""Which products does a page offer, who says so, and how far is that to be believed?

Takes what pages say for machines. Every attribute is from the source that is to be trusted most, and names
it; what no source says stays unknown. Products of one name are one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

from strider.contracts.generated.events import Product
from strider.contracts.generated.words import AttributeSource, Availability, ImageKind

from .metadata import Properties, resolve
from .plaintexts import plain
from .prices import read_currency, read_price
from .rdfa import resolve_subjects
from .readings import HtmlReading
from .structured import JSON_LD, MICRODATA, RDFA, Structured, read_json_ld, types_of

MAX_PRODUCTS: Final = 50
MAX_IMAGES: Final = 50
MAX_TEXT_CHARS: Final = 4_000
BEST_RATING: Final = 5.0

_TYPES: Final = frozenset({"product", "productgroup", "individualproduct", "productmodel", "vehicle", "car"})
_CONFIDENCES: Final = {
    AttributeSource.JSON_LD: 0.95,
    AttributeSource.MICRODATA: 0.9,
    AttributeSource.RDFA: 0.85,
    AttributeSource.OPEN_GRAPH: 0.8,
}
_SOURCES: Final = {
    JSON_LD: AttributeSource.JSON_LD,
    MICRODATA: AttributeSource.MICRODATA,
    RDFA: AttributeSource.RDFA,
}
_STATES: Final = {
    "instock": Availability.IN_STOCK,
    "available": Availability.IN_STOCK,
    "onlineonly": Availability.IN_STOCK,
    "outofstock": Availability.OUT_OF_STOCK,
    "soldout": Availability.OUT_OF_STOCK,
    "oos": Availability.OUT_OF_STOCK,
    "preorder": Availability.PREORDER,
    "presale": Availability.PREORDER,
    "backorder": Availability.BACKORDER,
    "limitedavailability": Availability.LIMITED,
    "discontinued": Availability.DISCONTINUED,
    "instoreonly": Availability.IN_STORE_ONLY,
}


def of_records(reading: HtmlReading, properties: Properties, base: str) -> dict[str, Any]:
    """Write what a page says for machines, and what it offers, as fields of the event."""
    items, errors = read_json_ld(reading.data_blocks)
    rdfa = resolve_subjects(reading.rdfa, base)
    structured = Structured(items, reading.microdata, rdfa, properties.open_graph, errors)
    return {**structured.fields(), "products": find_products(structured, properties, base)}


def find_products(structured: Structured, properties: Properties, base: str) -> tuple[Product, ...]:
    """Give the products of a page; `base` is what their addresses are resolved against."""
    by_name: dict[str, dict[str, tuple[Any, str]]] = {}
    for source, said in _all(structured, properties, base):
        key = " ".join(str(said["name"]).casefold().split())
        if source == AttributeSource.OPEN_GRAPH and by_name:
            if len(by_name) > 1:
                continue  # a page has one Open Graph: of several products it speaks of none
            key = next(iter(by_name))
        if not key:
            continue
        known = by_name.setdefault(key, {})
        for attribute, value in said.items():
            if value not in {"", None, ()}:
                known.setdefault(attribute, (value, source.value))
    return tuple(_product(known) for known in list(by_name.values())[:MAX_PRODUCTS])


def _all(
    structured: Structured, properties: Properties, base: str
) -> Iterator[tuple[AttributeSource, dict[str, Any]]]:
    for form, node in structured.nodes():
        if _TYPES.intersection(name.lower() for name in types_of(node)):
            yield _SOURCES[form], _of_node(node, base)
    say = properties.say
    amount = say("product:price:amount", "og:price:amount", "product:sale_price:amount")
    if amount or say("og:type").startswith("product"):
        yield (
            AttributeSource.OPEN_GRAPH,
            {
                "name": say("og:title"),
                "description": say("og:description")[:MAX_TEXT_CHARS],
                "price": _amount(amount),
                "currency": say("product:price:currency", "og:price:currency").upper()[:3],
                "availability": _state(say("product:availability", "og:availability")),
                "brand": say("product:brand", "og:brand"),
                "sku": say("product:retailer_item_id"),
                "condition": say("product:condition"),
                "image_urls": tuple(filter(None, (resolve(say("og:image"), base),))),
            },
        )


def _of_node(node: dict[str, Any], base: str) -> dict[str, Any]:
    rating = _first(node.get("aggregateRating"))
    category = node.get("category")
    numbers = (node.get(name) for name in ("gtin13", "gtin", "gtin14", "gtin12", "gtin8", "isbn", "ean"))
    images = node.get("image")
    urls = [resolve(_text(one, "url", "contentUrl"), base) for one in _many(images)[:MAX_IMAGES]]
    return {
        "name": _text(node.get("name")),
        "description": _text(node.get("description")),
        "url": resolve(_text(node.get("url")), base),
        "brand": _text(node.get("brand")) or _text(node.get("manufacturer")),
        "category": " > ".join(filter(None, map(_text, _many(category)))),
        "sku": _text(node.get("sku")) or _text(node.get("productID")),
        "gtin": "".join(char for char in next(filter(None, map(_text, numbers)), "") if char.isdigit()),
        "mpn": _text(node.get("mpn")),
        "rating": _rating(rating),
        "review_count": _count(rating),
        "image_urls": tuple(dict.fromkeys(filter(None, urls))),
        **_offer(node),
    }


def _offer(node: dict[str, Any]) -> dict[str, Any]:
    offers = [offer for offer in _many(node.get("offers")) if isinstance(offer, dict)]
    if not offers:
        return {}
    offer = next((one for one in offers if one.get("price") or one.get("lowPrice")), offers[0])
    within = _first(offer.get("priceSpecification"))
    said = {**within, **{name: value for name, value in offer.items() if value != ""}}
    price = _text(said.get("price"))
    currency = _text(said.get("priceCurrency")).upper()[:3] or read_currency(price)
    return {
        "price": _amount(price) or _amount(_text(said.get("lowPrice"))),
        "price_low": _amount(_text(said.get("lowPrice"))),
        "price_high": _amount(_text(said.get("highPrice"))),
        "currency": currency,
        "availability": _state(_text(said.get("availability"))),
        "condition": _text(said.get("itemCondition")).rpartition("/")[2],
        "seller": _text(said.get("seller")),
    }


def _product(known: dict[str, tuple[Any, str]]) -> Product:
    values = {name: value for name, (value, _) in known.items()}
    urls = values.get("image_urls", ())
    told = json.dumps(values, sort_keys=True, default=str, ensure_ascii=False)
    return Product(
        **values,
        image_kinds=(ImageKind.PRIMARY.value, *(ImageKind.GALLERY.value,) * len(urls))[: len(urls)],
        image_alts=("",) * len(urls),
        image_positions=tuple(range(len(urls))),
        image_widths=(0,) * len(urls),
        image_heights=(0,) * len(urls),
        image_bytes=(0,) * len(urls),
        content_hash=sha256(told.encode("utf-8", "replace")).hexdigest(),
        sources={name: source for name, (_, source) in known.items()},
        confidences={name: _CONFIDENCES[AttributeSource(source)] for name, (_, source) in known.items()},
    )


def _amount(text: str) -> str:
    price = read_price(text)
    return price.amount if price else ""


def _state(text: str) -> str:
    word = "".join(char for char in text.rpartition("/")[2].lower() if char.isalpha())
    return _STATES[word].value if word in _STATES else ""


def _rating(rating: dict[str, Any]) -> float | None:
    value, best = _number(rating.get("ratingValue")), _number(rating.get("bestRating")) or BEST_RATING
    if value is None or not 0 <= value <= best:
        return None
    return round(value * BEST_RATING / best, 2)


def _count(rating: dict[str, Any]) -> int | None:
    value = _number(rating.get("reviewCount"))
    value = _number(rating.get("ratingCount")) if value is None else value
    return None if value is None or value < 0 else int(value)


def _number(value: Any) -> float | None:
    price = read_price(_text(value))
    return float(price.amount) if price else None


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _first(value: Any) -> dict[str, Any]:
    return next((one for one in _many(value) if isinstance(one, dict)), {})


def _text(value: Any, *names: str) -> str:
    """Say a value in words: of an object its name, of several the first."""
    if isinstance(value, list):
        return next((text for one in value[:10] if (text := _text(one, *names))), "")
    if isinstance(value, dict):
        wanted = (*names, "name", "@value", "@id")
        said = next((value[name] for name in wanted if isinstance(value.get(name), str)), "")
        return plain(said)[:MAX_TEXT_CHARS]
    if isinstance(value, str):
        return plain(value[: 4 * MAX_TEXT_CHARS])[:MAX_TEXT_CHARS]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""

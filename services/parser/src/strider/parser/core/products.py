"""Which products does a page offer, who says so, and how far is that to be believed?

Takes what pages say for machines, and what their form shows. Every attribute is from the source that is to be
trusted most, and names it; what no source says stays unknown. What the page is about comes first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

from strider.contracts.generated.events import Product
from strider.contracts.generated.words import AttributeSource

from .metadata import Properties, resolve
from .offers import IMAGES_TOLD, MAX_TEXT_CHARS, amount_of, as_gtin, read_product, state_named, variants_of
from .pictures import ToldImage, pixels_in, place_pictures
from .prices import as_currency, country_of
from .rdfa import resolve_subjects
from .readings import HtmlReading
from .shopdata import read_shop_data
from .shopfront import Front, find_offer
from .sitefields import SiteReading, product_of
from .structured import JSON_LD, MICRODATA, RDFA, Structured, read_json_ld, types_of

MAX_PRODUCTS: Final = 50
ALIKE: Final = 0.5
"""Share of words from which on two sources with one product each speak of the same."""

_TYPES: Final = frozenset({"product", "productgroup", "individualproduct", "productmodel", "vehicle", "car"})
_ELSEWHERE: Final = (
    "isRelatedTo",
    "isSimilarTo",
    "isAccessoryOrSparePartFor",
    "isConsumableFor",
    "isVariantOf",
)
_CONFIDENCES: Final = {
    AttributeSource.SITE_PARSER: 0.98,
    AttributeSource.JSON_LD: 0.95,
    AttributeSource.MICRODATA: 0.9,
    AttributeSource.RDFA: 0.85,
    AttributeSource.OPEN_GRAPH: 0.8,
    AttributeSource.META: 0.7,
    AttributeSource.HEURISTIC: 0.5,
}
_SOURCES: Final = {
    JSON_LD: AttributeSource.JSON_LD,
    MICRODATA: AttributeSource.MICRODATA,
    RDFA: AttributeSource.RDFA,
}


@dataclass(slots=True)
class _Known:
    """One product, as far as it is known: attributes with who said them."""

    name: str
    told: dict[str, tuple[Any, AttributeSource]] = field(default_factory=dict)

    def hear(self, source: AttributeSource, said: dict[str, Any]) -> None:
        """Take in what was not known yet; what belongs together is believed together or not at all."""
        has_price = "price" in self.told
        for attribute, value in said.items():
            is_of_price = attribute in {"currency", "price_low", "price_high"} and has_price
            if is_of_price and "price" in said and self.told["price"][0] != said["price"]:
                continue
            if value is not None and value not in ("", (), {}):
                self.told.setdefault(attribute, (value, source))


def of_records(
    reading: HtmlReading, properties: Properties, base: str, *, site: SiteReading | None = None
) -> dict[str, Any]:
    """Write what a page says for machines, and what it offers, as fields of the event."""
    items, errors = read_json_ld(reading.data_blocks)
    rdfa = resolve_subjects(reading.rdfa, base)
    structured = Structured(items, reading.microdata, rdfa, properties.listed_open_graph(), errors)
    if site is not None and site.problem:
        structured = replace(structured, errors=(site.problem, *errors))
    products = find_products(structured, properties, reading, base=base, said=product_of(site, base))
    return {**structured.fields(), "products": products}


def find_products(
    structured: Structured,
    properties: Properties,
    reading: HtmlReading,
    *,
    base: str,
    said: dict[str, Any],
) -> tuple[Product, ...]:
    """Give the products of a page; `said` is what a parser of its site found, and goes before all else."""
    products: list[_Known] = []
    if said:
        _meet(products, AttributeSource.SITE_PARSER, {"name": "", **said})
    for source, known in _said(structured, base):
        _meet(products, source, known)
    title = properties.say("og:title") or reading.title or reading.heading
    beside = [(AttributeSource.OPEN_GRAPH, _of_open_graph(properties, base, title))]
    beside.append((AttributeSource.META, _of_metas(properties)))
    front = Front(
        reading.shop,
        reading.text,
        base,
        title=title,
        is_said=properties.say("og:type").startswith("product") or bool(products),
        country=country_of(base),
    )
    offer = find_offer(front)
    beside.append((AttributeSource.HEURISTIC, offer))
    main = _main(products, title, offer)
    if main is None or not _WANTED.issubset(main.told):
        told = _of_scripts(reading, offer, title)
        # An object of the page's name knows its number better than an element that is somewhere on the page.
        beside.insert(
            -1, (AttributeSource.HEURISTIC, {name: told[name] for name in _NUMBERS if name in told})
        )
        beside.append((AttributeSource.HEURISTIC, told))
    if main is None and not products and any(known.get("name") for _, known in beside):
        main = _Known(title)
        products.append(main)
    for source, known in beside:
        if main is not None:
            main.hear(source, known)
    products.sort(key=lambda known: known is not main)
    return tuple(_product(known, reading, base) for known in products[:MAX_PRODUCTS] if "name" in known.told)


_NUMBERS: Final = ("sku", "gtin", "mpn")
_WANTED: Final = frozenset({"price", "currency", "availability", "sku"})
"""Without one of these scripts are asked as well."""


def _of_scripts(reading: HtmlReading, offer: dict[str, Any], title: str) -> dict[str, Any]:
    names = dict.fromkeys(filter(None, (offer.get("name"), reading.heading, title)))
    found = (read_shop_data(reading.shop_scripts, name) for name in names)
    return next((said for said in found if said), {})


def _said(structured: Structured, base: str) -> Iterator[tuple[AttributeSource, dict[str, Any]]]:
    """Give products as structured data says them; forms of one, and those named beside it, are left out."""
    nodes = list(structured.nodes())
    by_id = {node["@id"]: node for _, node in nodes if isinstance(node.get("@id"), str)}
    beside: set[int] = set()
    offered = _offered(nodes, by_id)
    for form, node in nodes:
        if not _TYPES.intersection(name.lower() for name in types_of(node)):
            continue
        within = [*variants_of(node), *(one for name in _ELSEWHERE for one in _listed(node.get(name)))]
        others = (by_id.get(str(one.get("@id")), one) for one in within if isinstance(one, dict))
        beside.update(id(one) for one in others if one is not node)
        beside.update(id(one) for one in within)
        if id(node) not in beside:
            offers = node.get("offers") or offered.get(id(node))
            yield _SOURCES[form], read_product({**node, "offers": offers}, base, by_id)


def _offered(
    nodes: list[tuple[str, dict[str, Any]]], by_id: dict[str, dict[str, Any]]
) -> dict[int, list[dict[str, Any]]]:
    """Find the offers that name what they offer, instead of standing within it."""
    found: dict[int, list[dict[str, Any]]] = {}
    for _, node in nodes:
        for item in _listed(node.get("itemOffered")):
            if isinstance(item, dict):
                meant = by_id.get(str(item.get("@id")), item)
                found.setdefault(id(meant), []).append({**node, "itemOffered": None})
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _meet(products: list[_Known], source: AttributeSource, said: dict[str, Any]) -> None:
    """Find the product that is spoken of, or make it a new one."""
    key = _key(said["name"])
    if not key:
        if len(products) == 1:
            products[0].hear(source, said)
        return
    known = next((one for one in products if one.name == key), None)
    if known is None and len(products) == 1 and _alike(products[0].name, key) >= ALIKE:
        is_other = all(told[1] == source for told in products[0].told.values())
        known = None if is_other else products[0]
        if is_other and products[0].told.get("price", ("",))[0] == said.get("price"):
            known = None
    if known is None:
        known = _Known(key)
        products.append(known)
    known.hear(source, said)


def _main(products: list[_Known], title: str, offer: dict[str, Any]) -> _Known | None:
    """Say which product the page is about, where one is."""
    if len(products) == 1:
        return products[0]
    wanted = _key(offer.get("name") or title)
    best = max(products, key=lambda known: _alike(known.name, wanted), default=None)
    return best if best is not None and _alike(best.name, wanted) >= ALIKE else None


def _key(name: Any) -> str:
    return " ".join(str(name).casefold().split())


def _alike(one: str, other: str) -> float:
    """Say which share of the words of the shorter name the other one has."""
    words, others = set(one.split()), set(other.split())
    return len(words & others) / (min(len(words), len(others)) or 1)


def _of_open_graph(properties: Properties, base: str, title: str) -> dict[str, Any]:
    say = properties.say
    amount = say("product:sale_price:amount", "product:price:amount", "og:price:amount")
    if not amount and not say("og:type").startswith("product"):
        return {}
    before = say("product:original_price:amount", "og:price:standard_amount", "product:price:amount")
    price, old = amount_of(amount), amount_of(before)
    images = list(dict.fromkeys(filter(None, (resolve(said, base) for said in properties.all("og:image")))))
    image = images[0] if images else ""
    width, height = (pixels_in(say(f"og:image:{side}")) for side in ("width", "height"))
    return {
        "name": title,
        "description": say("og:description")[:MAX_TEXT_CHARS],
        "price": price,
        "old_price": old if price and old and float(old) > float(price) else "",
        "currency": as_currency(
            say("product:price:currency", "og:price:currency", "product:sale_price:currency")
        ),
        "availability": state_named(say("product:availability", "og:availability")),
        "brand": say("product:brand", "og:brand"),
        "category": say("product:category"),
        "sku": say("product:retailer_item_id", "product:sku"),
        "gtin": as_gtin(say("product:gtin", "product:ean", "product:upc", "product:isbn")),
        "mpn": say("product:mfr_part_no"),
        "condition": say("product:condition"),
        "image_urls": tuple(images[:IMAGES_OF_OPEN_GRAPH]),
        IMAGES_TOLD: {image: ToldImage(width, height, say("og:image:alt"))} if image else {},
    }


IMAGES_OF_OPEN_GRAPH: Final = 50


def _of_metas(properties: Properties) -> dict[str, Any]:
    """Read meta elements beside Open Graph: properties of items without their item, and Twitter's labels."""
    say = properties.say
    said: dict[str, Any] = {
        "price": amount_of(say("price", "product_price", "lowprice")),
        "currency": as_currency(say("pricecurrency", "currency", "product_currency")),
        "sku": say("sku", "productid"),
        "gtin": as_gtin(say("gtin13", "gtin", "gtin12")),
        "mpn": say("mpn"),
        "brand": say("brand"),
        "availability": state_named(say("availability")),
    }
    for number in ("1", "2"):
        label, value = say(f"twitter:label{number}").lower(), say(f"twitter:data{number}")
        if label in {"price", "preis", "prix", "precio"}:
            said["price"] = said["price"] or amount_of(value)
        elif label in {"availability", "brand"}:
            said[label] = said[label] or (state_named(value) if label == "availability" else value)
    return said


def _product(known: _Known, reading: HtmlReading, base: str) -> Product:
    of_images, _ = known.told.pop(IMAGES_TOLD, ({}, None))
    values = {name: value for name, (value, _) in known.told.items()}
    named, shown = values.get("image_urls", ()), reading.shop.pictures
    pictures = place_pictures(named, shown, values["name"], base=base, told=of_images)
    told = json.dumps(values, sort_keys=True, default=str, ensure_ascii=False)
    return Product(
        **{**values, **pictures},
        content_hash=sha256(told.encode("utf-8", "replace")).hexdigest(),
        sources={name: source.value for name, (_, source) in known.told.items()},
        confidences={name: _CONFIDENCES[source] for name, (_, source) in known.told.items()},
    )

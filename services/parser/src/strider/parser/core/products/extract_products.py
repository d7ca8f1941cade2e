"""Which products does a page offer, who says so, and how far is that to be believed?

Takes what pages say for machines, and what their form shows. Every attribute is from the source that is to be
trusted most, and names it; what no source says stays unknown. What the page is about comes first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, NamedTuple

from strider.contracts.generated.enums import AttributeSource
from strider.contracts.generated.events import Product
from strider.parser.core.content.plain_text import strip_markup
from strider.parser.core.html.metadata import MetaProperties, resolve_url
from strider.parser.core.html.models import HtmlExtract
from strider.parser.core.html.page_kind import (
    UNKNOWN_PAGE_KIND,
    PageKindEstimate,
    Sight,
    is_product_list,
    reclassify_by_offer,
)
from strider.parser.core.site_parser_fields import SiteParserResult, product_of
from strider.parser.core.structured.rdfa import resolve_subjects
from strider.parser.core.structured.structured_data import (
    JSON_LD,
    MICRODATA,
    RDFA,
    StructuredData,
    read_json_ld,
    types_of,
)

from .attribute_evidence import HEADING_CONFIDENCE, LIKELY, PAGE_CONFIDENCE, SOURCE_CONFIDENCES, Known
from .breadcrumbs import structured_breadcrumbs
from .images import combine_images, image_file_key
from .meta_products import open_graph_attributes, page_meta_attributes, product_meta_attributes
from .offers import IMAGE_METADATA, product_attributes, product_variants
from .prices import country_for_prices
from .script_data import find_script_currency, find_script_product
from .visible_attributes import trail
from .visible_offer import VisibleOffer, VisiblePage, find_visible_offer

MAX_PRODUCTS: Final = 50
SAME_PRODUCT_OVERLAP: Final = 0.5
"""Share of words from which on two sources with one product each speak of the same."""

_TYPES: Final = frozenset({"product", "productgroup", "individualproduct", "productmodel", "vehicle", "car"})
_RELATED_PRODUCT_PROPERTIES: Final = (
    "isRelatedTo",
    "isSimilarTo",
    "isAccessoryOrSparePartFor",
    "isConsumableFor",
    "isVariantOf",
)
_SOURCES: Final = {
    JSON_LD: AttributeSource.JSON_LD,
    MICRODATA: AttributeSource.MICRODATA,
    RDFA: AttributeSource.RDFA,
}


def record_fields(
    html: HtmlExtract,
    properties: MetaProperties,
    base: str,
    *,
    site_result: SiteParserResult | None = None,
    kind: PageKindEstimate = UNKNOWN_PAGE_KIND,
) -> dict[str, Any]:
    """Write what a page says for machines, what it offers, and its kind as far as that hangs on it.

    `kind` is what the page is by all other signs.
    """
    items, errors = read_json_ld(html.json_ld_scripts)
    rdfa = resolve_subjects(html.rdfa, base)
    structured = StructuredData(items, html.microdata, rdfa, properties.open_graph_with_lists(), errors)
    if site_result is not None and site_result.problem:
        structured = replace(structured, errors=(site_result.problem, *errors))
    found = _ProductPage(
        structured, properties, html, base, is_list=is_product_list(kind, html.product_signals.boxes)
    )
    products, offer = _find(found, product_of(site_result, base))
    page_kind, confidence = reclassify_by_offer(
        kind, _offer_evidence(found, offer, has_products=bool(products))
    )
    return {
        **structured.to_event_fields(),
        "products": products,
        "page_kind": page_kind,
        "page_kind_confidence": confidence,
    }


@dataclass(frozen=True, slots=True)
class _ProductPage:
    """What is known of a page when its products are looked for."""

    structured: StructuredData
    properties: MetaProperties
    reading: HtmlExtract
    base: str
    is_list: bool = False

    @property
    def title(self) -> str:
        """Give what names the page."""
        return self.properties.first_of("og:title") or self.reading.title or self.reading.heading

    @property
    def is_said(self) -> bool:
        """Say whether Open Graph calls it a product's."""
        return self.properties.first_of("og:type").startswith("product")


def _offer_evidence(page: _ProductPage, offer: VisibleOffer, *, has_products: bool) -> Sight:
    return Sight(
        evidence=offer.evidence,
        boxes=page.reading.product_signals.boxes,
        is_said=page.is_said or has_products,
        is_empty=len(page.reading.text) < EMPTY_PAGE_CHARS,
    )


EMPTY_PAGE_CHARS: Final = 80
"""A page of fewer characters shows nothing without its scripts."""


PLAIN: Final = 4
"""Kinds of signs from which on what a page shows may correct what its data says."""


def _find(page: _ProductPage, said: dict[str, Any]) -> tuple[tuple[Product, ...], VisibleOffer]:
    """Give the products of a page; `said` is what a parser of its site found, and goes before all else."""
    reading, base, title = page.reading, page.base, page.title
    products: list[Known] = []
    if said:
        _meet(products, AttributeSource.SITE_PARSER, {"name": "", **said})
    for source, known in _said(page.structured, base):
        _meet(products, source, known)
    country = country_for_prices(base, reading.language)
    is_said = page.is_said or bool(products)
    offer = find_visible_offer(
        VisiblePage(
            reading.product_signals,
            reading.text,
            base,
            title=title,
            is_said=is_said,
            country=country,
            is_list=page.is_list,
        )
    )
    main = _main(products, title, offer.attributes)
    beside = _beside(page, offer, main)
    is_own = not products or offer.evidence >= PLAIN  # data may be of other products alone
    if main is None and is_own and any(one.said.get("name") for one in beside):
        main = Known(title)
        products.append(main)
    if main is not None:
        if offer.evidence >= PLAIN and not _is_price_confirmed(main, beside):
            main.correct_price(AttributeSource.HEURISTIC, offer.attributes)
        for one in beside:
            main.hear(one.source, one.said, one.confidence)
    products.sort(key=lambda known: known is not main)
    found = [
        _build_product(known, reading, base) for known in products[:MAX_PRODUCTS] if "name" in known.told
    ]
    return tuple(found), offer


def _is_price_confirmed(main: Known, beside: Sequence[_AttributeClaim]) -> bool:
    """Say whether another source for machines says the same price."""
    price = main.told["price"][0] if "price" in main.told else ""
    others = (one.said.get("price") for one in beside if one.source != AttributeSource.HEURISTIC)
    return any(other and price and float(other) == float(price) != 0 for other in others)


class _AttributeClaim(NamedTuple):
    """What one source says of the page's product."""

    source: AttributeSource
    said: Mapping[str, Any]
    confidence: float


def _beside(page: _ProductPage, offer: VisibleOffer, main: Known | None) -> list[_AttributeClaim]:
    """Give what is said of the page's product beside its structured data, the most trusted first."""
    own, reading = AttributeSource.HEURISTIC, page.reading
    open_graph, metas = (
        open_graph_attributes(page.properties, page.base, page.title),
        product_meta_attributes(page.properties),
    )
    form, names = structured_breadcrumbs(page.structured.typed_nodes())
    is_known = main is not None and _WANTED.issubset(main.told)
    # The object of a list's name is the list: it has the price of something in it.
    is_known = is_known or (main is None and page.is_list and not offer.attributes)
    told = {} if is_known else _script_attributes(reading, offer.attributes, page.title, page.base)
    known = main.told["name"][0] if main is not None and "name" in main.told else ""
    name = known or offer.attributes.get("name") or page.title
    heard = [
        *([_of(_SOURCES[form], {"category": trail(names, name)})] if form else []),
        # What people read as its name above its price is its name: titles are made for search engines.
        _AttributeClaim(own, {"name": offer.attributes.get("name", "")}, HEADING_CONFIDENCE),
        _of(AttributeSource.OPEN_GRAPH, open_graph),
        _of(AttributeSource.META, metas),
        # An object of the page's name knows its number better than an element that is somewhere on the page.
        _of(own, {name: told[name] for name in _NUMBERS if name in told}),
        _of(own, offer.attributes),
        _of(own, told),
    ]
    if "currency" not in offer.attributes and (main is not None or offer.attributes or told):
        heard.append(_of(own, {"currency": find_script_currency(reading.price_scripts)}))
    heard.append(
        _AttributeClaim(
            own, {"description": strip_markup(reading.product_signals.description)}, SOURCE_CONFIDENCES[own]
        )
    )
    heard.append(
        _AttributeClaim(
            AttributeSource.META, page_meta_attributes(page.properties, page.base), PAGE_CONFIDENCE
        )
    )
    heard.append(_AttributeClaim(own, offer.likely, LIKELY))
    return heard


def _of(source: AttributeSource, said: Mapping[str, Any]) -> _AttributeClaim:
    return _AttributeClaim(source, said, SOURCE_CONFIDENCES[source])


_NUMBERS: Final = ("sku", "gtin", "mpn")
_WANTED: Final = frozenset({"price", "currency", "availability", "sku"})
"""Without one of these scripts are asked as well."""


def _script_attributes(
    reading: HtmlExtract, offer: Mapping[str, Any], title: str, base: str
) -> dict[str, Any]:
    names = dict.fromkeys(filter(None, (offer.get("name"), reading.heading, title)))
    found = (
        find_script_product(reading.price_scripts, name, url=base, page_text=reading.text) for name in names
    )
    return next((said for said in found if said), {})


def _said(structured: StructuredData, base: str) -> Iterator[tuple[AttributeSource, dict[str, Any]]]:
    """Give products as structured data says them; forms of one, and those named beside it, are left out."""
    nodes = list(structured.typed_nodes())
    by_id = {node["@id"]: node for _, node in nodes if isinstance(node.get("@id"), str)}
    beside: set[int] = set()
    offered = _offers_by_item(nodes, by_id)
    for form, node in nodes:
        if not _TYPES.intersection(name.lower() for name in types_of(node)):
            continue
        within = [
            *product_variants(node),
            *(one for name in _RELATED_PRODUCT_PROPERTIES for one in _listed(node.get(name))),
        ]
        others = (by_id.get(str(one.get("@id")), one) for one in within if isinstance(one, dict))
        beside.update(id(one) for one in others if one is not node)
        beside.update(id(one) for one in within)
        if id(node) not in beside:
            offers = node.get("offers") or offered.get(id(node))
            yield _SOURCES[form], product_attributes({**node, "offers": offers}, base, by_id)


def _offers_by_item(
    nodes: list[tuple[str, dict[str, Any]]], by_id: dict[str, dict[str, Any]]
) -> dict[int, list[dict[str, Any]]]:
    """Find the offers that name what they offer, instead of standing within it."""
    found: dict[int, list[dict[str, Any]]] = {}
    for _, node in nodes:
        if "itemOffered" not in node:
            continue
        offer = {**node, "itemOffered": None}
        for item in _listed(node["itemOffered"]):
            if isinstance(item, dict):
                meant = by_id.get(str(item.get("@id")), item)
                found.setdefault(id(meant), []).append(offer)
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _meet(products: list[Known], source: AttributeSource, said: dict[str, Any]) -> None:
    """Find the product that is spoken of, or make it a new one."""
    key = _key(said["name"])
    if not key:
        if len(products) == 1:
            products[0].hear(source, said)
        return
    known = next((one for one in products if one.name == key), None)
    if known is None and len(products) == 1 and _word_overlap(products[0].name, key) >= SAME_PRODUCT_OVERLAP:
        is_other = all(told[1] == source for told in products[0].told.values())
        known = None if is_other else products[0]
        if is_other and products[0].told.get("price", ("",))[0] == said.get("price"):
            known = None
    if known is None:
        known = Known(key)
        products.append(known)
    known.hear(source, said)


def _main(products: list[Known], title: str, offer: Mapping[str, Any]) -> Known | None:
    """Say which product the page is about, where one is."""
    if len(products) == 1:
        return products[0]
    wanted = _key(offer.get("name") or title)
    best = max(products, key=lambda known: _word_overlap(known.name, wanted), default=None)
    return best if best is not None and _word_overlap(best.name, wanted) > SAME_PRODUCT_OVERLAP else None


def _key(name: Any) -> str:
    return " ".join(str(name).casefold().split())


def _word_overlap(one: str, other: str) -> float:
    """Say which share of the words of the shorter name the other one has."""
    words, others = set(one.split()), set(other.split())
    return len(words & others) / (min(len(words), len(others)) or 1)


def _build_product(known: Known, reading: HtmlExtract, base: str) -> Product:
    of_images = known.told.pop(IMAGE_METADATA)[0] if IMAGE_METADATA in known.told else {}
    values = {name: told[0] for name, told in known.told.items()}
    named, shown = values.get("image_urls", ()), reading.product_signals.pictures
    if named and known.told["image_urls"][1] == AttributeSource.SITE_PARSER:
        files = {image_file_key(url) for url in named}  # who knows the site has named all of them
        shown = tuple(picture for picture in shown if image_file_key(resolve_url(picture.url, base)) in files)
    pictures = combine_images(named, shown, values["name"], base=base, metadata=of_images)
    told = json.dumps(values, sort_keys=True, default=str, ensure_ascii=False)
    return Product(
        **{**values, **pictures},
        content_hash=sha256(told.encode("utf-8", "replace")).hexdigest(),
        sources={name: source.value for name, (_, source, _) in known.told.items()},
        confidences={name: sure for name, (_, _, sure) in known.told.items()},
    )

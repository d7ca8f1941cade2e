"""Extract the products of a page, each attribute with its source and confidence.

Combines structured data, meta elements, scripts and visible signals. Every attribute is from its most trusted
source; unknown attributes stay empty. The main product of the page comes first.
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
    OfferEvidence,
    PageKindEstimate,
    is_product_list,
    reclassify_by_offer,
)
from strider.parser.core.site_parser_fields import SiteParserResult, site_product_attributes
from strider.parser.core.structured.rdfa import resolve_subjects
from strider.parser.core.structured.structured_data import (
    JSON_LD,
    MICRODATA,
    RDFA,
    StructuredData,
    read_json_ld,
    types_of,
)

from .attribute_evidence import (
    ASSUMED_CONFIDENCE,
    HEADING_CONFIDENCE,
    PAGE_CONFIDENCE,
    SOURCE_CONFIDENCES,
    ProductEvidence,
)
from .breadcrumbs import category_path, structured_breadcrumbs
from .images import combine_images, image_file_key
from .meta_products import open_graph_attributes, page_meta_attributes, product_meta_attributes
from .offers import IMAGE_METADATA, product_attributes, product_variants
from .prices import country_for_prices
from .script_data import find_script_currency, find_script_product
from .visible_offer import VisibleOffer, VisiblePage, find_visible_offer

MAX_PRODUCTS: Final = 50
SAME_PRODUCT_OVERLAP: Final = 0.5
"""Share of common words from which two sources with one product each describe the same product."""

_PRODUCT_TYPES: Final = frozenset(
    {"product", "productgroup", "individualproduct", "productmodel", "vehicle", "car"}
)
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
    """Return the event fields for structured data and products, and the page kind that follows from them.

    `kind` is the classification of the page by all other signals.
    """
    items, errors = read_json_ld(html.json_ld_scripts)
    rdfa = resolve_subjects(html.rdfa, base)
    structured = StructuredData(items, html.microdata, rdfa, properties.open_graph_with_lists(), errors)
    if site_result is not None and site_result.problem:
        structured = replace(structured, errors=(site_result.problem, *errors))
    found = _ProductPage(
        structured, properties, html, base, is_list=is_product_list(kind, html.product_signals.card_count)
    )
    products, offer = _find_products(found, site_product_attributes(site_result, base))
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
    """The inputs for extracting the products of a page."""

    structured: StructuredData
    properties: MetaProperties
    html: HtmlExtract
    base: str
    is_list: bool = False

    @property
    def title(self) -> str:
        """The title of the page."""
        return self.properties.first_of("og:title") or self.html.title or self.html.heading

    @property
    def is_declared_product(self) -> bool:
        """Whether Open Graph declares the page a product."""
        return self.properties.first_of("og:type").startswith("product")


EMPTY_PAGE_CHARS: Final = 80
"""A page with fewer characters shows nothing without its scripts."""


def _offer_evidence(page: _ProductPage, offer: VisibleOffer, *, has_products: bool) -> OfferEvidence:
    return OfferEvidence(
        signal_count=offer.evidence,
        card_count=page.html.product_signals.card_count,
        is_declared=page.is_declared_product or has_products,
        is_empty=len(page.html.text) < EMPTY_PAGE_CHARS,
    )


MIN_CORRECTING_EVIDENCE: Final = 4
"""Kinds of signals from which the visible offer may correct structured data."""


def _find_products(
    page: _ProductPage, site_attributes: dict[str, Any]
) -> tuple[tuple[Product, ...], VisibleOffer]:
    """Return the products and the visible offer; attributes of a site parser precede all others."""
    html, base, title = page.html, page.base, page.title
    products: list[ProductEvidence] = []
    if site_attributes:
        _merge_product(products, AttributeSource.SITE_PARSER, {"name": "", **site_attributes})
    for source, attributes in _structured_products(page.structured, base):
        _merge_product(products, source, attributes)
    offer = find_visible_offer(_visible_page(page, has_products=bool(products)))
    main = _main_product(products, title, offer.attributes)
    claims = _secondary_claims(page, offer, main)
    is_own = (
        not products or offer.evidence >= MIN_CORRECTING_EVIDENCE
    )  # Structured data may describe other products only.
    if main is None and is_own and any(one.values.get("name") for one in claims):
        main = ProductEvidence(title)
        products.append(main)
    if main is not None:
        if offer.evidence >= MIN_CORRECTING_EVIDENCE and not _is_price_confirmed(main, claims):
            main.correct_price(AttributeSource.HEURISTIC, offer.attributes)
        for one in claims:
            main.add(one.source, one.values, one.confidence)
    products.sort(key=lambda evidence: evidence is not main)
    named = (evidence for evidence in products[:MAX_PRODUCTS] if "name" in evidence.attributes)
    return tuple(_build_product(evidence, html, base) for evidence in named), offer


def _visible_page(page: _ProductPage, *, has_products: bool) -> VisiblePage:
    return VisiblePage(
        page.html.product_signals,
        page.html.text,
        page.base,
        title=page.title,
        is_declared_product=page.is_declared_product or has_products,
        country=country_for_prices(page.base, page.html.language),
        is_list=page.is_list,
    )


def _is_price_confirmed(main: ProductEvidence, claims: Sequence[_AttributeClaim]) -> bool:
    """Whether a source other than the visible page states the same price."""
    price = main.attributes["price"][0] if "price" in main.attributes else ""
    others = (one.values.get("price") for one in claims if one.source != AttributeSource.HEURISTIC)
    return any(other and price and float(other) == float(price) != 0 for other in others)


class _AttributeClaim(NamedTuple):
    """Attributes of the page's product by one source."""

    source: AttributeSource
    values: Mapping[str, Any]
    confidence: float


_IDENTIFIERS: Final = ("sku", "gtin", "mpn")


_ESSENTIAL_ATTRIBUTES: Final = frozenset({"price", "currency", "availability", "sku"})
"""If one of these is missing, scripts are searched as well."""


def _secondary_claims(
    page: _ProductPage, offer: VisibleOffer, main: ProductEvidence | None
) -> list[_AttributeClaim]:
    """Return the attributes from sources other than structured data, in order of trust."""
    heuristic, html = AttributeSource.HEURISTIC, page.html
    is_known = main is not None and _ESSENTIAL_ATTRIBUTES.issubset(main.attributes)
    # An object with the name of a list is the list itself; its price is that of some item.
    is_known = is_known or (main is None and page.is_list and not offer.attributes)
    script_values = {} if is_known else _script_attributes(html, offer.attributes, page.title, page.base)
    known_name = main.attributes["name"][0] if main is not None and "name" in main.attributes else ""
    claims = [
        *_breadcrumb_claims(page, known_name or offer.attributes.get("name") or page.title),
        # The heading above the price is the name: titles are optimized for search engines.
        _AttributeClaim(heuristic, {"name": offer.attributes.get("name", "")}, HEADING_CONFIDENCE),
        _claim(AttributeSource.OPEN_GRAPH, open_graph_attributes(page.properties, page.base, page.title)),
        _claim(AttributeSource.META, product_meta_attributes(page.properties)),
        # An object with the page's name has a more reliable identifier than an arbitrary element of the page.
        _claim(heuristic, {name: script_values[name] for name in _IDENTIFIERS if name in script_values}),
        _claim(heuristic, offer.attributes),
        _claim(heuristic, script_values),
    ]
    if "currency" not in offer.attributes and (main is not None or offer.attributes or script_values):
        claims.append(_claim(heuristic, {"currency": find_script_currency(html.price_scripts)}))
    page_attributes = page_meta_attributes(page.properties, page.base)
    claims.append(_claim(heuristic, {"description": strip_markup(html.product_signals.description)}))
    claims.append(_AttributeClaim(AttributeSource.META, page_attributes, PAGE_CONFIDENCE))
    claims.append(_AttributeClaim(heuristic, offer.assumed, ASSUMED_CONFIDENCE))
    return claims


def _breadcrumb_claims(page: _ProductPage, name: str) -> list[_AttributeClaim]:
    source_format, crumbs = structured_breadcrumbs(page.structured.typed_nodes())
    if not source_format:
        return []
    return [_claim(_SOURCES[source_format], {"category": category_path(crumbs, name)})]


def _claim(source: AttributeSource, values: Mapping[str, Any]) -> _AttributeClaim:
    return _AttributeClaim(source, values, SOURCE_CONFIDENCES[source])


def _script_attributes(html: HtmlExtract, offer: Mapping[str, Any], title: str, base: str) -> dict[str, Any]:
    names = dict.fromkeys(filter(None, (offer.get("name"), html.heading, title)))
    found = (find_script_product(html.price_scripts, name, url=base, page_text=html.text) for name in names)
    return next((attributes for attributes in found if attributes), {})


def _structured_products(
    structured: StructuredData, base: str
) -> Iterator[tuple[AttributeSource, dict[str, Any]]]:
    """Yield the products in structured data, without variants and related products."""
    nodes = list(structured.typed_nodes())
    by_id = {node["@id"]: node for _, node in nodes if isinstance(node.get("@id"), str)}
    nested: set[int] = set()
    offered = _offers_by_item(nodes, by_id)
    for form, node in nodes:
        if not _PRODUCT_TYPES.intersection(name.lower() for name in types_of(node)):
            continue
        within = [
            *product_variants(node),
            *(one for name in _RELATED_PRODUCT_PROPERTIES for one in _as_list(node.get(name))),
        ]
        others = (by_id.get(str(one.get("@id")), one) for one in within if isinstance(one, dict))
        nested.update(id(one) for one in others if one is not node)
        nested.update(id(one) for one in within)
        if id(node) not in nested:
            offers = node.get("offers") or offered.get(id(node))
            yield _SOURCES[form], product_attributes({**node, "offers": offers}, base, by_id)


def _offers_by_item(
    nodes: list[tuple[str, dict[str, Any]]], by_id: dict[str, dict[str, Any]]
) -> dict[int, list[dict[str, Any]]]:
    """Return the offers that refer to their item, instead of being nested in it, by the item."""
    found: dict[int, list[dict[str, Any]]] = {}
    for _, node in nodes:
        if "itemOffered" not in node:
            continue
        offer = {**node, "itemOffered": None}
        for item in _as_list(node["itemOffered"]):
            if isinstance(item, dict):
                meant = by_id.get(str(item.get("@id")), item)
                found.setdefault(id(meant), []).append(offer)
    return found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _merge_product(
    products: list[ProductEvidence], source: AttributeSource, attributes: dict[str, Any]
) -> None:
    """Add attributes to the product they describe, or to a new one."""
    key = _name_key(attributes["name"])
    if not key:
        if len(products) == 1:
            products[0].add(source, attributes)
        return
    evidence = next((one for one in products if one.name == key), None)
    if (
        evidence is None
        and len(products) == 1
        and _word_overlap(products[0].name, key) >= SAME_PRODUCT_OVERLAP
    ):
        is_other = all(attribute[1] == source for attribute in products[0].attributes.values())
        evidence = None if is_other else products[0]
        if is_other and products[0].attributes.get("price", ("",))[0] == attributes.get("price"):
            evidence = None
    if evidence is None:
        evidence = ProductEvidence(key)
        products.append(evidence)
    evidence.add(source, attributes)


def _main_product(
    products: list[ProductEvidence], title: str, offer: Mapping[str, Any]
) -> ProductEvidence | None:
    """Return the product that the page is about, if any."""
    if len(products) == 1:
        return products[0]
    wanted_name = _name_key(offer.get("name") or title)
    best = max(products, key=lambda evidence: _word_overlap(evidence.name, wanted_name), default=None)
    return best if best is not None and _word_overlap(best.name, wanted_name) > SAME_PRODUCT_OVERLAP else None


def _name_key(name: Any) -> str:
    return " ".join(str(name).casefold().split())


def _word_overlap(one: str, other: str) -> float:
    """Return the share of the words of the shorter name that the other one contains."""
    words, others = set(one.split()), set(other.split())
    return len(words & others) / (min(len(words), len(others)) or 1)


def _build_product(evidence: ProductEvidence, html: HtmlExtract, base: str) -> Product:
    of_images = evidence.attributes.pop(IMAGE_METADATA)[0] if IMAGE_METADATA in evidence.attributes else {}
    values = {name: attribute[0] for name, attribute in evidence.attributes.items()}
    declared, visible = values.get("image_urls", ()), html.product_signals.images
    if declared and evidence.attributes["image_urls"][1] == AttributeSource.SITE_PARSER:
        files = {image_file_key(url) for url in declared}  # A site parser names all images of the product.
        visible = tuple(image for image in visible if image_file_key(resolve_url(image.url, base)) in files)
    images = combine_images(declared, visible, values["name"], base=base, metadata=of_images)
    canonical = json.dumps(values, sort_keys=True, default=str, ensure_ascii=False)
    return Product(
        **{**values, **images},
        content_hash=sha256(canonical.encode("utf-8", "replace")).hexdigest(),
        sources={name: source.value for name, (_, source, _) in evidence.attributes.items()},
        confidences={name: sure for name, (_, _, sure) in evidence.attributes.items()},
    )

"""Find the offer of a page by its visible signals: heading, prices, buttons, facts.

Returns the attributes of the one product that the page is about, or none if it is not a product page. Signals
in repeated boxes, as in a list, are marked as peripheral. Visible signals are the least certain source;
structured data takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from strider.contracts.generated.enums import Availability

from .breadcrumbs import category_path
from .commerce_vocabulary import (
    BUY_PHRASES,
    CODE_LABEL,
    GTIN_LABEL,
    find_labelled_value,
    parse_availability,
    parse_gtin,
    parse_identifier,
)
from .prices import default_currency
from .shown_attributes import (
    find_brand,
    find_identifiers,
    find_rating,
    identifier_in_url,
    is_heading,
    is_product_fact,
    lines_below_heading,
    visible_availability,
)
from .signal_models import AMOUNT, BUTTON, IDENTIFIER, ITEMPROP, ProductSignal, ProductSignals
from .visible_prices import (
    find_visible_prices,
    has_many_prices,
    is_buy_button,
    price_below_heading,
    price_of_itemprops,
)

MIN_EVIDENCE: Final = 2
MAX_NAME_CHARS: Final = 300

_PRODUCT_PAGE_NAMES: Final = re.compile(
    r"product-(?:page|template|detail|view)|single-product|template-product|catalog-product|pdp|product_page"
    r"|(?:^|\s)(?:page-)?product(?:\s|$)|type-product(?:\s|$)|view-item|is-ctl-product|product-product"
    r"|productpage"
)
_PRODUCT_PATH: Final = re.compile(
    r"/(?:products?|p|dp|item|itm|pr|pd|shop|buy|artikel|article?|produit|produkte?|producto|produto"
    r"|prodotto|tuote|goods"
    r"|listing|detail|buch|tovar|product-page|urun|termek|artikl?|vare|vara|sku|ip|g)/[^/?]"
    r"|[-/]p-?\d{3,}|_p\d{4,}|/[^/?]+[-_/]p(?:\.html?)?$|product_id=\d",
    re.IGNORECASE,
)
_OTHER_PATH: Final = re.compile(
    r"/(?:blog|news|recipes?|rezepte?|recettes?|articles|story|stories|magazine?|guides?|reviews?|best-"
    r"|cart|checkout"
    r"|basket|warenkorb|panier|wishlist|favou?rites|account|login|orders?|compare|search|category"
    r"|categories|collections|pricing|forums?|threads?"
    r"|topics?)(?:/|$|\?)"
    r"(?!.*/products?/)",
    re.IGNORECASE,
)
_OTHER_PAGE_NAMES: Final = re.compile(
    r"page-category|catalog-category|category-(?:page|view)|template-collection|collection-template"
    r"|search-results?-page"
    r"|catalogsearch|page-search|tax-product_cat|post-type-archive|single-post\b|template-(?:article|blog"
    r"|cart|search)"
)
"""Class names that shop software uses on all pages except those of products."""
_OTHER_HEADING: Final = re.compile(
    r"^(?:(?:my|your|shopping|deine?|ihre?|der|mon|votre|mi|tu) )?(?:cart|basket|bag|wish ?list"
    r"|favou?rites|checkout"
    r"|order(?:s| received| history)?|account|warenkorb|merkzettel|wunschliste|kasse|panier|carrito|cesta"
    r"|carrello"
    r"|winkelwagen|koszyk|корзина|sepetim?)$|\b(?:404|not found|nicht gefunden|introuvable|no encontrad[ao]"
    r"|search results|results for|suchergebnis\w*|résultats)\b",
    re.IGNORECASE,
)
"""Headings of shop pages that are not about a product."""
_OFFER_ITEMPROPS: Final = frozenset({"price", "pricecurrency", "availability", "sku"})


@dataclass(frozen=True, slots=True)
class VisiblePage:
    """The inputs for reading a visible offer."""

    signals: ProductSignals
    text: str
    """Visible text, one line per block."""
    url: str
    title: str
    is_declared_product: bool
    """Whether the page declares itself a product page in structured data."""
    country: str = ""
    is_list: bool = False
    """Whether the page is a list by all other signals."""


@dataclass(frozen=True, slots=True)
class VisibleOffer:
    """The offer of a page: its visible attributes, and those to be assumed if no source states them."""

    attributes: Mapping[str, Any] = field(default_factory=dict)
    assumed: Mapping[str, Any] = field(default_factory=dict)
    evidence: int = 0
    """Number of kinds of signals for an offer."""


NO_VISIBLE_OFFER: Final = VisibleOffer()


def find_visible_offer(page: VisiblePage) -> VisibleOffer:
    """Return the offer of a page; empty if it has none."""
    name, signals = _order_from_heading(page)
    found = {**find_visible_prices(signals, page.country), **price_of_itemprops(signals)}
    if not found.get("price"):
        found |= price_below_heading(name, page.text, page.country)
    button = next((signal for signal in signals if is_buy_button(signal)), None)
    lines = lines_below_heading(page.text, name)
    evidence = _count_evidence(page, signals, found, lines)
    is_offer = bool(found.get("price")) or (button is not None and page.is_declared_product)
    if not name or _OTHER_HEADING.search(name) or not is_offer or evidence < MIN_EVIDENCE:
        return NO_VISIBLE_OFFER
    currency = found.pop("likely_currency", "")
    has_way = any(signal.kind == BUTTON and BUY_PHRASES.search(signal.text) for signal in signals)
    below_heading = "\n".join(lines)
    attributes = {
        "name": name[:MAX_NAME_CHARS],
        "availability": visible_availability(signals, lines, has_button=button is not None),
        "category": category_path(page.signals.crumbs, name),
        "brand": find_brand(signals, f"{page.title} {name}", below_heading),
        **find_identifiers(signals, below_heading),
        **find_rating(signals, lines),
        **{name: value for name, value in found.items() if value},
    }
    assumed = {
        # A product that can be bought (possibly once a variant is chosen) and is not stated as sold out is in
        # stock.
        "availability": Availability.IN_STOCK.value if has_way else "",
        "sku": identifier_in_url(page.url, page.text),
        "currency": currency or default_currency(page.country),
    }
    return VisibleOffer(attributes, assumed, evidence)


def _count_evidence(
    page: VisiblePage, signals: Sequence[ProductSignal], prices: Mapping[str, str], lines: Sequence[str]
) -> int:
    """Count the kinds of signals for an offer; a URL of another kind of page counts against it."""
    is_named = any(signal.kind == AMOUNT for signal in signals)
    kinds = (
        bool(prices.get("price")),
        any(signal.kind == BUTTON and BUY_PHRASES.search(signal.text) for signal in signals),
        page.is_declared_product or _PRODUCT_PAGE_NAMES.search(page.signals.page_names) is not None,
        _PRODUCT_PATH.search(page.url) is not None,
        any(signal.kind == ITEMPROP and signal.names in _OFFER_ITEMPROPS for signal in signals)
        and not has_many_prices(signals),
        any(is_product_fact(signal) or _is_state_button(signal) for signal in signals)
        or _has_identifier(page, signals)
        or _has_state_line(lines),
    )
    is_other_page = (
        _OTHER_PATH.search(page.url) is not None
        or _OTHER_PAGE_NAMES.search(page.signals.page_names) is not None
    )
    return (
        sum(kinds)
        - is_other_page
        - (page.is_list and not page.is_declared_product)
        - (not is_named and not kinds[4])
    )


def _is_state_button(signal: ProductSignal) -> bool:
    return signal.kind == BUTTON and bool(parse_availability(signal.text))


STATE_CHARS: Final = 30


STATE_LINES: Final = 20


def _has_state_line(lines: Sequence[str]) -> bool:
    """Whether a line of its own after the heading states the availability."""
    return any(len(line) <= STATE_CHARS and parse_availability(line) for line in lines[:STATE_LINES])


def _has_identifier(page: VisiblePage, signals: Sequence[ProductSignal]) -> bool:
    """Whether the page has a product identifier."""
    if any(signal.kind == IDENTIFIER and parse_identifier(signal.text) for signal in signals):
        return True
    return bool(
        parse_identifier(find_labelled_value(CODE_LABEL, page.text))
        or parse_gtin(find_labelled_value(GTIN_LABEL, page.text))
    )


def _order_from_heading(page: VisiblePage) -> tuple[str, list[ProductSignal]]:
    """Return the heading and the main signals, those after the heading first."""
    signals = page.signals.signals
    title = set(page.title.lower().split())
    headings = [(at, signal) for at, signal in enumerate(signals) if is_heading(signal)]
    if not headings:
        return "", [signal for signal in signals if not signal.is_peripheral]
    at, heading = max(
        headings, key=lambda found: (len(title & set(found[1].text.lower().split())), -found[0])
    )
    after = [signal for signal in signals[at + 1 :] if not signal.is_peripheral]
    return heading.text, after + [signal for signal in signals[:at] if not signal.is_peripheral]

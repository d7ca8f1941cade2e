"""What does a page offer, told by its form alone: heading, prices, buttons, notes?

Takes the signs of a shop, gives the attributes of the one product that the page is about, or none where it is
no product's page. What stands in boxes of one make, as a list does, comes marked as beside the matter.
Nothing here is certain, so everything that says itself in words for machines goes before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from strider.contracts.generated.enums import Availability

from .commerce_vocabulary import (
    BUY,
    CODE_LABEL,
    GTIN_LABEL,
    labelled,
    parse_availability,
    parse_gtin,
    parse_identifier,
)
from .prices import default_currency
from .signal_models import AMOUNT, BUTTON, IDENTIFIER, ITEMPROP, Shop, Sign
from .visible_attributes import (
    find_brand,
    find_identifiers,
    find_rating,
    identifier_in_url,
    is_heading,
    is_product_fact,
    lines_below_heading,
    trail,
    visible_availability,
)
from .visible_prices import (
    find_visible_prices,
    has_many_prices,
    is_buy_button,
    price_below_heading,
    price_of_itemprops,
)

MIN_EVIDENCE: Final = 2
MAX_NAME_CHARS: Final = 300

_PAGE: Final = re.compile(
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
"""Names of pages that shop software gives to all but those of its products."""
_OTHER_HEADING: Final = re.compile(
    r"^(?:(?:my|your|shopping|deine?|ihre?|der|mon|votre|mi|tu) )?(?:cart|basket|bag|wish ?list"
    r"|favou?rites|checkout"
    r"|order(?:s| received| history)?|account|warenkorb|merkzettel|wunschliste|kasse|panier|carrito|cesta"
    r"|carrello"
    r"|winkelwagen|koszyk|корзина|sepetim?)$|\b(?:404|not found|nicht gefunden|introuvable|no encontrad[ao]"
    r"|search results|results for|suchergebnis\w*|résultats)\b",
    re.IGNORECASE,
)
"""Headings of a shop's pages that are about no one thing."""
_OFFER_ITEMPROPS: Final = frozenset({"price", "pricecurrency", "availability", "sku"})


@dataclass(frozen=True, slots=True)
class VisiblePage:
    """What a page's form is read with."""

    signals: Shop
    text: str
    """Its visible text, a line for each block."""
    url: str
    title: str
    is_said: bool
    """Whether the page says in its own words for machines that it is a product's."""
    country: str = ""
    is_list: bool = False
    """Whether all else about the page tells that it is a list."""


@dataclass(frozen=True, slots=True)
class VisibleOffer:
    """What a page offers: what its form says, and what is only likely where nothing says otherwise."""

    attributes: Mapping[str, Any] = field(default_factory=dict)
    likely: Mapping[str, Any] = field(default_factory=dict)
    evidence: int = 0
    """How many kinds of signs there are that something is sold."""


NO_VISIBLE_OFFER: Final = VisibleOffer()


def find_visible_offer(page: VisiblePage) -> VisibleOffer:
    """Give what the page offers; nothing for a page that offers nothing of its own."""
    name, signs = _order_from_heading(page)
    found = {**find_visible_prices(signs, page.country), **price_of_itemprops(signs)}
    if not found.get("price"):
        found |= price_below_heading(name, page.text, page.country)
    button = next((sign for sign in signs if is_buy_button(sign)), None)
    lines = lines_below_heading(page.text, name)
    evidence = _count_evidence(page, signs, found, lines)
    is_offer = bool(found.get("price")) or (button is not None and page.is_said)
    if not name or _OTHER_HEADING.search(name) or not is_offer or evidence < MIN_EVIDENCE:
        return NO_VISIBLE_OFFER
    currency = found.pop("likely_currency", "")
    has_way = any(sign.kind == BUTTON and BUY.search(sign.text) for sign in signs)
    below_heading = "\n".join(lines)
    said = {
        "name": name[:MAX_NAME_CHARS],
        "availability": visible_availability(signs, lines, has_button=button is not None),
        "category": trail(page.signals.crumbs, name),
        "brand": find_brand(signs, f"{page.title} {name}", below_heading),
        **find_identifiers(signs, below_heading),
        **find_rating(signs, lines),
        **{name: value for name, value in found.items() if value},
    }
    likely = {
        # What has a way to be bought (once a form of it is chosen), and is not said to be gone, is there.
        "availability": Availability.IN_STOCK.value if has_way else "",
        "sku": identifier_in_url(page.url, page.text),
        "currency": currency or default_currency(page.country),
    }
    return VisibleOffer(said, likely, evidence)


def _count_evidence(
    front: VisiblePage, signs: Sequence[Sign], found: Mapping[str, str], lines: Sequence[str]
) -> int:
    """Count what tells of a thing that is sold here; an address that speaks of others counts against it."""
    is_named = any(sign.kind == AMOUNT for sign in signs)
    kinds = (
        bool(found.get("price")),
        any(sign.kind == BUTTON and BUY.search(sign.text) for sign in signs),
        front.is_said or _PAGE.search(front.signals.page_names) is not None,
        _PRODUCT_PATH.search(front.url) is not None,
        any(sign.kind == ITEMPROP and sign.words in _OFFER_ITEMPROPS for sign in signs)
        and not has_many_prices(signs),
        any(is_product_fact(sign) or _is_state_button(sign) for sign in signs)
        or _has_identifier(front, signs)
        or _has_state_line(lines),
    )
    is_else = (
        _OTHER_PATH.search(front.url) is not None
        or _OTHER_PAGE_NAMES.search(front.signals.page_names) is not None
    )
    return sum(kinds) - is_else - (front.is_list and not front.is_said) - (not is_named and not kinds[4])


def _is_state_button(sign: Sign) -> bool:
    return sign.kind == BUTTON and bool(parse_availability(sign.text))


def _has_state_line(lines: Sequence[str]) -> bool:
    """Say whether a line of its own below the heading tells of stock."""
    return any(len(line) <= STATE_CHARS and parse_availability(line) for line in lines[:STATE_LINES])


STATE_CHARS: Final = 30
STATE_LINES: Final = 20


def _has_identifier(front: VisiblePage, signs: Sequence[Sign]) -> bool:
    """Say whether the page names a number as only things have that are sold."""
    if any(sign.kind == IDENTIFIER and parse_identifier(sign.text) for sign in signs):
        return True
    return bool(
        parse_identifier(labelled(CODE_LABEL, front.text)) or parse_gtin(labelled(GTIN_LABEL, front.text))
    )


def _order_from_heading(front: VisiblePage) -> tuple[str, list[Sign]]:
    """Give the heading and all that matters; what follows the heading comes first."""
    signs = front.signals.signs
    title = set(front.title.lower().split())
    headings = [(at, sign) for at, sign in enumerate(signs) if is_heading(sign)]
    if not headings:
        return "", [sign for sign in signs if not sign.is_beside]
    at, heading = max(
        headings, key=lambda found: (len(title & set(found[1].text.lower().split())), -found[0])
    )
    after = [sign for sign in signs[at + 1 :] if not sign.is_beside]
    return heading.text, after + [sign for sign in signs[:at] if not sign.is_beside]

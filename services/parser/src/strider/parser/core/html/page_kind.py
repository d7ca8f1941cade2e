"""Classify a page as article, list, product, forum or documentation.

Weighs signals: declarations of the page (Open Graph, structured data, generator), the form of its URL and the
structure of its main text. The kind with the highest weight wins; its lead is the confidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import PageKind
from strider.parser.core.content.text_blocks import TextBlock

from .list_terms import NO_RESULTS

LONG_CHARS: Final = 120
LINK_BLOCK_SHARE: Final = 0.6
MANY_LINKS: Final = 15
MANY_LONG_BLOCKS: Final = 4
MANY_PRODUCTS: Final = 4
"""Number of declared products from which a page may be a list, or show related products."""
STRONG_WEIGHT: Final = 3.0
MEDIUM_WEIGHT: Final = 2.0
WEAK_WEIGHT: Final = 1.0


def _compile_signals(*signals: tuple[str, str, float]) -> tuple[tuple[re.Pattern[str], str, float], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), kind, weight) for pattern, kind, weight in signals)


_KIND_OF_TYPE: Final = {
    **dict.fromkeys(
        (
            *("product", "og:product", "product.item", "product:item", "productgroup", "individualproduct"),
            *("productmodel", "vehicle", "car", "motorcycle"),
        ),
        PageKind.PRODUCT,
    ),
    **dict.fromkeys(
        (
            *("article", "newsarticle", "blogposting", "liveblogposting", "techarticle", "report", "recipe"),
            *("reportagenewsarticle", "analysisnewsarticle", "opinionnewsarticle", "backgroundnewsarticle"),
            *("reviewnewsarticle", "askpublicnewsarticle", "advertisercontentarticle", "satiricalarticle"),
            *("scholarlyarticle", "medicalscholarlyarticle", "howto"),
        ),
        PageKind.ARTICLE,
    ),
    **dict.fromkeys(
        ("collectionpage", "itemlist", "searchresultspage", "product.group", "offercatalog"), PageKind.LIST
    ),
    **dict.fromkeys(("discussionforumposting", "qapage", "question"), PageKind.FORUM),
    "apireference": PageKind.DOCUMENTATION,
}
_GENERATORS: Final = _compile_signals(
    (r"discourse|phpbb|vbulletin|xenforo|flarum|mybb|invision|vanilla|nodebb", PageKind.FORUM, STRONG_WEIGHT),
    (
        r"sphinx|docusaurus|mkdocs|vitepress|gitbook|readthedocs|javadoc|rustdoc|mdbook|doxygen",
        PageKind.DOCUMENTATION,
        STRONG_WEIGHT,
    ),
)
_FORUM_PATH: Final = r"(?<!/)/(?:forums?|threads?|topics?|questions|viewtopic|showthread|discussions?|t)[/.-]"
"""Not at the start of a host name, as in `//t.test/`."""
_DOCUMENTATION_URL: Final = (
    r"^https?://(?:docs?|developers?)\.|/(?:docs?|documentation|reference|manual|api|guide)/"
)
_LIST_PATH: Final = (
    r"/(?:category|categories|collections?|tags?|archive|search|browse|shop|c|market|genre)(?:/|$|\?)"
)
_PAGE_OF_SECTION: Final = r"(?:page|p)[/-]?\d|\d{1,3}/?(?:$|\?)"
_ARTICLE_PATH: Final = (
    rf"/(?:19|20)\d\d/\d\d?/|/(?:blog|news|articles?|story|posts?)/(?!{_PAGE_OF_SECTION})[^/?]+"
)
"""Below a section, unless it is a further page of the section itself."""

_PATHS: Final = _compile_signals(
    (r"/(?:products?|dp|itm|item|p)/[^/?]+", PageKind.PRODUCT, MEDIUM_WEIGHT),
    (_FORUM_PATH, PageKind.FORUM, MEDIUM_WEIGHT),
    (r"^https?://(?:forums?|threads?|discussions?)\.", PageKind.FORUM, MEDIUM_WEIGHT),
    (r"^https?://(?:forums?|community|discuss|discussions?)\.", PageKind.FORUM, WEAK_WEIGHT),
    (_DOCUMENTATION_URL, PageKind.DOCUMENTATION, MEDIUM_WEIGHT),
    (_LIST_PATH, PageKind.LIST, MEDIUM_WEIGHT),
    (_ARTICLE_PATH, PageKind.ARTICLE, MEDIUM_WEIGHT),
)
_BUY_PHRASES: Final = (
    *("add to cart", "add to bag", "add to basket"),
    *("in den warenkorb", "ajouter au panier", "buy now"),
)
_BUY_PHRASE_STARTS: Final = ("add to ", "in den warenkorb", "ajouter au panier", "buy now")
"""Every buy phrase contains one of these; searching for fewer phrases is cheaper."""

NO_RESULTS_CHARS: Final = 1_500
"""A longer main text is not an empty result list, whatever phrases it contains."""


@dataclass(frozen=True, slots=True)
class PageKindSignals:
    """Inputs of the classification."""

    url: str
    types: Sequence[str] = ()
    """Declared types in lower case."""
    generator: str = ""
    is_paginated: bool = False
    is_dated: bool = False


def classify_page(signals: PageKindSignals, blocks: Sequence[TextBlock], text: str) -> tuple[str, float]:
    """Return the kind of a page and the confidence in it."""
    weights: dict[str, float] = {}
    for kind, weight in (*_declared_weights(signals), *_content_weights(signals, blocks, text)):
        weights[kind] = weights.get(kind, 0.0) + weight
    if not weights:
        return PageKind.OTHER, 0.5
    best = max(weights, key=lambda kind: weights[kind])
    if weights[best] < WEAK_WEIGHT:
        return PageKind.OTHER, 0.5
    return best, round(weights[best] / (sum(weights.values()) + WEAK_WEIGHT), 3)


def is_empty_result_list(text: str) -> bool:
    """Whether a list states that it has no results."""
    return len(text) <= NO_RESULTS_CHARS and NO_RESULTS.search(text) is not None


def _declared_weights(signals: PageKindSignals) -> Iterable[tuple[str, float]]:
    types = signals.types
    if "faqpage" in types:  # The questions of an FAQ page are answered by its publisher.
        types = [name for name in types if name != "question"]
    is_of_many = types.count("product") >= MANY_PRODUCTS and "productgroup" not in types
    for kind_of_type in dict.fromkeys(_KIND_OF_TYPE[name] for name in types if name in _KIND_OF_TYPE):
        yield (
            kind_of_type,
            MEDIUM_WEIGHT if is_of_many and kind_of_type == PageKind.PRODUCT else STRONG_WEIGHT,
        )
    if is_of_many:
        yield PageKind.LIST, WEAK_WEIGHT
    if signals.generator:
        for pattern, kind, weight in _GENERATORS:
            if pattern.search(signals.generator):
                yield kind, weight
    for pattern, kind, weight in _PATHS:
        if pattern.search(signals.url):
            yield kind, weight
    path = signals.url.partition("://")[2].partition("/")[2]
    if not path.partition("?")[0]:
        yield PageKind.LIST, WEAK_WEIGHT


def _content_weights(
    signals: PageKindSignals, blocks: Sequence[TextBlock], text: str
) -> Iterable[tuple[str, float]]:
    long = sum(len(block.text) - block.link_chars >= LONG_CHARS for block in blocks)
    linked = sum(block.link_chars > LINK_BLOCK_SHARE * len(block.text) for block in blocks)
    if signals.is_paginated:
        yield PageKind.LIST, MEDIUM_WEIGHT
    if linked >= MANY_LINKS and linked > 2 * long:
        yield PageKind.LIST, MEDIUM_WEIGHT
    if long >= MANY_LONG_BLOCKS and long >= linked:
        yield PageKind.ARTICLE, MEDIUM_WEIGHT if signals.is_dated else WEAK_WEIGHT
    lower = text.lower()
    if any(first in lower and any(words in lower for words in _BUY_PHRASES) for first in _BUY_PHRASE_STARTS):
        yield PageKind.PRODUCT, WEAK_WEIGHT
    if sum(block.kind == "pre" for block in blocks) > 2:  # noqa: PLR2004  # more than an example
        yield PageKind.DOCUMENTATION, WEAK_WEIGHT


@dataclass(frozen=True, slots=True)
class PageKindEstimate:
    """The classification of a page by all signals except those of a product."""

    kind: str
    confidence: float
    is_paginated: bool = False
    """Whether the page has further pages."""


UNKNOWN_PAGE_KIND: Final = PageKindEstimate(PageKind.OTHER, 0.5)


@dataclass(frozen=True, slots=True)
class OfferEvidence:
    """Summary of the product signals on a page."""

    signal_count: int
    """Number of kinds of signals for a single offered product; 0 without an offer."""
    card_count: int
    """Number of similar cards that have a price and a link."""
    is_declared: bool
    """Whether the page declares itself a product page."""
    is_empty: bool
    """Whether the page has next to no visible text."""


MANY_SIGNALS: Final = 3
MANY_CARDS: Final = 4


def is_product_list(estimate: PageKindEstimate, card_count: int) -> bool:
    """Whether an apparent list is confirmed, by pagination or by its cards."""
    return estimate.kind == PageKind.LIST and (estimate.is_paginated or card_count >= MANY_CARDS)


def reclassify_by_offer(estimate: PageKindEstimate, offer: OfferEvidence) -> tuple[str, float]:
    """Return kind and confidence of a page once its offer is known."""
    name, confidence = estimate.kind, estimate.confidence
    if name == PageKind.PRODUCT and not (offer.signal_count or offer.is_declared or offer.is_empty):
        name, confidence = PageKind.OTHER, 0.5
    if name == PageKind.LIST and offer.signal_count and not is_product_list(estimate, offer.card_count):
        confidence /= 2  # A list in a shop shows offers as well.
    seen = round(offer.signal_count / (offer.signal_count + 2), 3)
    is_one = offer.signal_count >= MANY_SIGNALS or (name == PageKind.OTHER and offer.signal_count > 0)
    if name != PageKind.PRODUCT and is_one and seen >= confidence:
        return PageKind.PRODUCT, seen
    if name == PageKind.OTHER and offer.card_count >= MANY_CARDS and not offer.signal_count:
        return PageKind.LIST, round(offer.card_count / (offer.card_count + MANY_CARDS), 3)
    return name, confidence

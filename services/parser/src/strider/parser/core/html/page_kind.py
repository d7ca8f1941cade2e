"""What kind of page is it: article, list, product, forum, documentation?

Signs are weighed: what the page says of itself (Open Graph, structured data, generator), how its URL
looks, and how its main text is made. The kind with most weight wins; how far it is ahead is the
confidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import PageKind
from strider.parser.core.content.text_blocks import TextBlock

from .empty_result_terms import NO_RESULTS

LONG_CHARS: Final = 120
LINK_BLOCK_SHARE: Final = 0.6
MANY_LINKS: Final = 15
MANY_LONG_BLOCKS: Final = 4
MANY_PRODUCTS: Final = 4
"""Of which a page that says so of each may be a list; or it shows what goes with its own."""
STRONG_WEIGHT: Final = 3.0
LIKELY: Final = 2.0
WEAK_WEIGHT: Final = 1.0


def _compiled(*signs: tuple[str, str, float]) -> tuple[tuple[re.Pattern[str], str, float], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), kind, weight) for pattern, kind, weight in signs)


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
_GENERATORS: Final = _compiled(
    (r"discourse|phpbb|vbulletin|xenforo|flarum|mybb|invision|vanilla|nodebb", PageKind.FORUM, STRONG_WEIGHT),
    (
        r"sphinx|docusaurus|mkdocs|vitepress|gitbook|readthedocs|javadoc|rustdoc|mdbook|doxygen",
        PageKind.DOCUMENTATION,
        STRONG_WEIGHT,
    ),
)
_FORUM_PATH: Final = r"(?<!/)/(?:forums?|threads?|topics?|questions|viewtopic|showthread|discussions?|t)[/.-]"
"""Not at the beginning of a host, which is another matter: `//t.test/`."""
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

_PATHS: Final = _compiled(
    (r"/(?:products?|dp|itm|item|p)/[^/?]+", PageKind.PRODUCT, LIKELY),
    (_FORUM_PATH, PageKind.FORUM, LIKELY),
    (r"^https?://(?:forums?|threads?|discussions?)\.", PageKind.FORUM, LIKELY),
    (r"^https?://(?:forums?|community|discuss|discussions?)\.", PageKind.FORUM, WEAK_WEIGHT),
    (_DOCUMENTATION_URL, PageKind.DOCUMENTATION, LIKELY),
    (_LIST_PATH, PageKind.LIST, LIKELY),
    (_ARTICLE_PATH, PageKind.ARTICLE, LIKELY),
)
_BUY_PHRASES: Final = (
    *("add to cart", "add to bag", "add to basket"),
    *("in den warenkorb", "ajouter au panier", "buy now"),
)
_BUY_PHRASE_STARTS: Final = ("add to ", "in den warenkorb", "ajouter au panier", "buy now")
"""One of these stands in each of them; looking for fewer is cheaper."""

NO_RESULTS_CHARS: Final = 1_500
"""A longer main text says something, whatever words stand in it."""


@dataclass(frozen=True, slots=True)
class PageKindSignals:
    """What a page's kind is told by."""

    url: str
    types: Sequence[str] = ()
    """What it says it is, in lower case."""
    generator: str = ""
    is_paginated: bool = False
    is_dated: bool = False


def classify_page(signals: PageKindSignals, blocks: Sequence[TextBlock], text: str) -> tuple[str, float]:
    """Weigh; gives the kind and how sure that is."""
    weights: dict[str, float] = {}
    for kind, weight in (*_said(signals), *_shown(signals, blocks, text)):
        weights[kind] = weights.get(kind, 0.0) + weight
    if not weights:
        return PageKind.OTHER, 0.5
    best = max(weights, key=lambda kind: weights[kind])
    if weights[best] < WEAK_WEIGHT:
        return PageKind.OTHER, 0.5
    return best, round(weights[best] / (sum(weights.values()) + WEAK_WEIGHT), 3)


def is_empty_result_list(text: str) -> bool:
    """Say whether a list says that it has nothing."""
    return len(text) <= NO_RESULTS_CHARS and NO_RESULTS.search(text) is not None


def _said(signs: PageKindSignals) -> Iterable[tuple[str, float]]:
    types = signs.types
    if "faqpage" in types:  # its questions are asked and answered by who made the page
        types = [name for name in types if name != "question"]
    is_of_many = types.count("product") >= MANY_PRODUCTS and "productgroup" not in types
    for said in dict.fromkeys(_KIND_OF_TYPE[name] for name in types if name in _KIND_OF_TYPE):
        yield said, LIKELY if is_of_many and said == PageKind.PRODUCT else STRONG_WEIGHT
    if is_of_many:
        yield PageKind.LIST, WEAK_WEIGHT
    if signs.generator:
        for pattern, kind, weight in _GENERATORS:
            if pattern.search(signs.generator):
                yield kind, weight
    for pattern, kind, weight in _PATHS:
        if pattern.search(signs.url):
            yield kind, weight
    path = signs.url.partition("://")[2].partition("/")[2]
    if not path.partition("?")[0]:
        yield PageKind.LIST, WEAK_WEIGHT


def _shown(signs: PageKindSignals, blocks: Sequence[TextBlock], text: str) -> Iterable[tuple[str, float]]:
    long = sum(len(block.text) - block.link_chars >= LONG_CHARS for block in blocks)
    linked = sum(block.link_chars > LINK_BLOCK_SHARE * len(block.text) for block in blocks)
    if signs.is_paginated:
        yield PageKind.LIST, LIKELY
    if linked >= MANY_LINKS and linked > 2 * long:
        yield PageKind.LIST, LIKELY
    if long >= MANY_LONG_BLOCKS and long >= linked:
        yield PageKind.ARTICLE, LIKELY if signs.is_dated else WEAK_WEIGHT
    lower = text.lower()
    if any(first in lower and any(words in lower for words in _BUY_PHRASES) for first in _BUY_PHRASE_STARTS):
        yield PageKind.PRODUCT, WEAK_WEIGHT
    if sum(block.kind == "pre" for block in blocks) > 2:  # noqa: PLR2004  # more than an example
        yield PageKind.DOCUMENTATION, WEAK_WEIGHT


@dataclass(frozen=True, slots=True)
class PageKindEstimate:
    """What a page is by all signs but those of a shop."""

    kind: str
    confidence: float
    is_paged: bool = False
    """Whether it goes on elsewhere."""


UNKNOWN_PAGE_KIND: Final = PageKindEstimate(PageKind.OTHER, 0.5)


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen of a shop on a page."""

    evidence: int
    """How many kinds of signs tell of one thing that is sold; 0 where nothing is."""
    boxes: int
    """How many boxes of one make have a price and lead on."""
    is_said: bool
    """Whether the page says of itself that it is about something that is sold."""
    is_empty: bool
    """Whether it shows next to nothing."""


MANY_SIGNALS: Final = 3
MANY_CARDS: Final = 4


def is_product_list(estimate: PageKindEstimate, boxes: int) -> bool:
    """Say whether what looks like a list shows that it is one: by more pages of it, or by what it lists."""
    return estimate.kind == PageKind.LIST and (estimate.is_paged or boxes >= MANY_CARDS)


def reclassify_by_offer(estimate: PageKindEstimate, sight: Sight) -> tuple[str, float]:
    """Say what a page is once it is known what it offers; gives the kind and how sure that is."""
    name, confidence = estimate.kind, estimate.confidence
    if name == PageKind.PRODUCT and not (sight.evidence or sight.is_said or sight.is_empty):
        name, confidence = PageKind.OTHER, 0.5
    if name == PageKind.LIST and sight.evidence and not is_product_list(estimate, sight.boxes):
        confidence /= 2  # a list in a shop shows what it lists
    seen = round(sight.evidence / (sight.evidence + 2), 3)
    is_one = sight.evidence >= MANY_SIGNALS or (name == PageKind.OTHER and sight.evidence > 0)
    if name != PageKind.PRODUCT and is_one and seen >= confidence:
        return PageKind.PRODUCT, seen
    if name == PageKind.OTHER and sight.boxes >= MANY_CARDS and not sight.evidence:
        return PageKind.LIST, round(sight.boxes / (sight.boxes + MANY_CARDS), 3)
    return name, confidence

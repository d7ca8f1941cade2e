"""Where an element of a tree stands: in what the page is about, or beside it, in menus and recommendations.

Decides by the names that elements have from their makers, and by what surrounds the page's heading. Bounded
in the length of texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from selectolax.lexbor import LexborNode

from .price_amounts import MAX_PRICE_CHARS, text_of

MAX_TEXT_CHARS: Final = 300
MAX_TITLES: Final = 10
MIN_CARDS: Final = 3
"""As many prices at the same place of boxes of one make are a list."""
MIN_LINKED_CARDS: Final = 2
"""As many suffice where each box leads to a page of its own, and no name says that its money is a price."""
MAX_ANCESTORS: Final = 12
MAX_BOXES: Final = 100

_NAMES: Final = ("class", "id", "data-testid", "data-test", "data-hook", "name", "data-section-type")
_BESIDE: Final = re.compile(
    r"related|recommend|up-?sell|cross-?sell|similar|also-?(?:like|bought|view)|you-?may|recently|mini-?cart"
    r"|cart-?(?:drawer|items?|content)|mega-?menu|footer|newsletter|frequently|suggest|best-?sell|trending"
    r"|featured-?(?:products|collection)|product-?(?:list|grid|cards?|tile|carousel|slider|recs)|quick-?view"
    r"|you-?might|complementary|accessor|compare-?(?:drawer|bar|list)|wishlist-?(?:drawer|items)"
    r"|navbar-?brand|site-?(?:brand|logo)|card-?product|comments?-list|header__|site-?header|review-?(?:list|item)|pagination|sponsored"
)
_CAROUSEL_NAMES: Final = re.compile(r"carousel|slider|slick|swiper|owl-")
_HIDDEN_CLASSES: Final = frozenset({"hidden", "hide", "d-none", "is-hidden", "is-hide", "u-hidden"})
_SIDE_TAGS: Final = frozenset({"nav", "header", "footer", "aside", "template", "noscript", "select"})


@dataclass(frozen=True, slots=True)
class ElementContext:
    """What is known of the elements around one."""

    is_beside: bool = False
    is_in_carousel: bool = False
    price_element_id: int = 0
    """The outermost element around it that is a price, by its memory; 0 for none."""


@dataclass(slots=True)
class Places:
    """Remembers what was found out about elements: they share most of those around them."""

    contexts: dict[int, ElementContext] = field(default_factory=dict)
    heading_ancestors: frozenset[int] = frozenset()
    """What stands around the heading: whatever its names are, it is what the page is about."""

    def context_of(self, node: LexborNode) -> ElementContext:
        """Say where an element stands."""
        chain: list[LexborNode] = []
        above = node.parent
        while above is not None and above.mem_id not in self.contexts and above.tag not in {"body", "html"}:
            chain.append(above)
            above = above.parent
        place = self.contexts.get(above.mem_id, ElementContext()) if above is not None else ElementContext()
        for element in reversed(chain):
            place = self.contexts[element.mem_id] = _within(element, place)
            if element.mem_id in self.heading_ancestors:
                place = self.contexts[element.mem_id] = ElementContext(
                    price_element_id=place.price_element_id
                )
        return place


def _within(element: LexborNode, place: ElementContext) -> ElementContext:
    said = element.attributes
    words = names_of(said)
    is_out = element.tag in _SIDE_TAGS or bool(_BESIDE.search(words)) or is_hidden(said, words)
    price = place.price_element_id or (
        element.mem_id if is_price_name(words) and is_price_sized(element) else 0
    )
    return ElementContext(
        place.is_beside or is_out, place.is_in_carousel or bool(_CAROUSEL_NAMES.search(words)), price
    )


def is_hidden(said: dict[str, str | None], names: str) -> bool:
    """Say whether an element is not shown, by its own attributes."""
    is_named = "hidden" in said or not _HIDDEN_CLASSES.isdisjoint(names.split())
    return is_named or "display:none" in (said.get("style") or "").replace(" ", "").lower()


def ancestor_ids(node: LexborNode | None) -> frozenset[int]:
    """Give all elements that an element stands in."""
    found: set[int] = set()
    while node is not None and (node := node.parent) is not None:
        found.add(node.mem_id)
    return frozenset(found)


def names_of(said: dict[str, str | None]) -> str:
    """Give the names that an element has from its makers, in lower case."""
    return " ".join(filter(None, (said.get(name) for name in _NAMES))).lower()[:MAX_TEXT_CHARS]


_PRICE_NAMES: Final = re.compile(r"price|preis|precio|prezzo|preco|prix|prijs|fiyat|\bmoney\b")


def is_price_name(names: str) -> bool:
    """Say whether the names of an element speak of a price."""
    return _PRICE_NAMES.search(names) is not None


def single_line(text: str) -> str:
    """Write a text in one line, no longer than is looked at."""
    return " ".join(text[: 4 * MAX_TEXT_CHARS].split())[:MAX_TEXT_CHARS]


def line_text(node: LexborNode) -> str:
    """Give the text of an element in one line."""
    return text_of(node, MAX_TEXT_CHARS)


def is_price_sized(node: LexborNode) -> bool:
    """Say whether an element is small enough to be a price, not what contains one."""
    return len(text_of(node, MAX_PRICE_CHARS)) < MAX_PRICE_CHARS


def find_heading(root: LexborNode, body: LexborNode) -> LexborNode | None:
    """Find the page's heading: of several the one that its title repeats, of none what is called a name."""
    named = root.css_first("title")
    title = set(text_of(named, MAX_TEXT_CHARS).lower().split()) if named is not None else set()
    headings = [node for node in body.css("h1")[:MAX_TITLES] if is_headline(node)]
    if not headings:
        named_so = body.css(_TITLE_SELECTOR)[:MAX_TITLES]
        headings = [node for node in named_so if len(title & (words := _words(node))) > len(words) / 2]
    return max(headings, key=lambda node: len(title & _words(node)), default=None)


def is_headline(node: LexborNode) -> bool:
    """Say whether a first heading heads the page, not the whole site: a mark leads to its front page."""
    if not text_of(node, MAX_TEXT_CHARS):
        return False
    link = node.css_first("a[href]")
    is_home = link is not None and _HOME.fullmatch(link.attributes.get("href") or "") is not None
    return not is_home and _MARK.search(names_of(node.attributes)) is None


_HOME: Final = re.compile(r"(?:https?://[^/]+)?/?(?:index\.\w{3,4})?")
_MARK: Final = re.compile(r"\b(?:site-?)?logo\b|site-?title")


def _words(node: LexborNode) -> set[str]:
    return set(text_of(node, MAX_TEXT_CHARS).lower().split())


_TITLE_SELECTOR: Final = ",".join(
    [
        *('[class*="product-title" i]', '[class*="product-name" i]', '[class*="productname" i]'),
        *('[class*="product_title" i]', '[class*="product_name" i]', '[class*="producttitle" i]'),
        *('[id*="productname" i]', '[id*="product-name" i]', '[id*="producttitle" i]', '[itemprop="name"]'),
    ]
)
"""Names of the heading of a page that has no h1."""


def find_listed_prices(
    nodes: Sequence[LexborNode], regions: Places, *, are_named: bool = True
) -> tuple[frozenset[int], int]:
    """Give prices that stand in boxes of one make, a list's, and how many boxes of the longest lead on."""
    boxes: dict[tuple[int, str, str], dict[int, LexborNode]] = {}
    keys: dict[int, list[tuple[int, str, str]]] = {}
    makes: dict[int, str] = {}
    for node in nodes:
        if regions.context_of(node).price_element_id:
            continue
        found = keys[node.mem_id] = []
        element: LexborNode | None = node
        while element is not None and element.tag not in {"body", "html"} and len(found) < MAX_ANCESTORS:
            above = element.parent
            if above is None:
                break
            if element.mem_id not in makes:
                makes[element.mem_id] = _class_signature(element)
            key = (above.mem_id, element.tag or "", makes[element.mem_id])
            boxes.setdefault(key, {})[element.mem_id] = element
            found.append(key)
            element = above
    lists = {key for key, found in boxes.items() if _are_cards(list(found.values()), are_named=are_named)}
    cards = frozenset(node for node, found in keys.items() if not lists.isdisjoint(found))
    longest = max((found for key, found in boxes.items() if key in lists), key=len, default={})
    return cards, sum(map(_has_link, list(longest.values())[:MAX_BOXES]))


def _class_signature(element: LexborNode) -> str:
    """Say by its names of which make a box is, whatever numbers are in them."""
    said = (element.attributes.get("class") or "")[:MAX_TEXT_CHARS]
    return " ".join(re.sub(r"\d+", "", said).split()[:2])


def _are_cards(boxes: Sequence[LexborNode], *, are_named: bool) -> bool:
    if are_named:
        return len(boxes) >= MIN_CARDS
    return len(boxes) >= MIN_LINKED_CARDS and all(_has_link(box) for box in boxes[:MIN_CARDS])


def _has_link(box: LexborNode) -> bool:
    link = box if box.tag == "a" else box.css_first("a[href]")
    return link is not None and not (link.attributes.get("href") or "#").startswith("#")

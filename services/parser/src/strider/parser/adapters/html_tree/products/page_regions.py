"""Classify the region of an element: main content, or beside it (menus, recommendations).

Decides by the class names and ids of elements, and by what surrounds the page's heading. Bounded in the
length of texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.adapters.html_tree.traversal import Attributes

from .price_amounts import MAX_PRICE_CHARS, clipped_text

MAX_TEXT_CHARS: Final = 300
MAX_TITLES: Final = 10
MIN_CARDS: Final = 3
"""This many prices at the same position of similar boxes are a list."""
MIN_LINKED_CARDS: Final = 2
"""This many are enough where each box links to a page of its own and no class name marks a price."""
MAX_ANCESTORS: Final = 12
MAX_BOXES: Final = 100

_NAME_ATTRIBUTES: Final = (
    "class",
    "id",
    "data-testid",
    "data-test",
    "data-hook",
    "name",
    "data-section-type",
)
_SIDE_NAMES: Final = re.compile(
    r"related|recommend|up-?sell|cross-?sell|similar|also-?(?:like|bought|view)|you-?may|recently|mini-?cart"
    r"|cart-?(?:drawer|items?|content)|mega-?menu|footer|newsletter|frequently|suggest|best-?sell|trending"
    r"|featured-?(?:products|collection)|product-?(?:list|grid|cards?|tile|carousel|slider|recs)|quick-?view"
    r"|you-?might|complementary|accessor|compare-?(?:drawer|bar|list)|wishlist-?(?:drawer|items)"
    r"|navbar-?brand|site-?(?:brand|logo)|card-?product|comments?-list|header__|site-?header|review-?(?:list|item)|pagination|sponsored"
)
_CAROUSEL_NAMES: Final = re.compile(r"carousel|slider|slick|swiper|owl-")
_HIDDEN_CLASSES: Final = frozenset({"hidden", "hide", "d-none", "is-hidden", "is-hide", "u-hidden"})
_SIDE_TAGS: Final = frozenset({"nav", "header", "footer", "aside", "template", "noscript", "select"})


_PRICE_NAMES: Final = re.compile(r"price|preis|precio|prezzo|preco|prix|prijs|fiyat|\bmoney\b")

_HOME_URL: Final = re.compile(r"(?:https?://[^/]+)?/?(?:index\.\w{3,4})?")

_LOGO_NAMES: Final = re.compile(r"\b(?:site-?)?logo\b|site-?title")

_TITLE_SELECTOR: Final = ",".join(
    [
        *('[class*="product-title" i]', '[class*="product-name" i]', '[class*="productname" i]'),
        *('[class*="product_title" i]', '[class*="product_name" i]', '[class*="producttitle" i]'),
        *('[id*="productname" i]', '[id*="product-name" i]', '[id*="producttitle" i]', '[itemprop="name"]'),
    ]
)
"""Headings of pages without an h1."""


@dataclass(frozen=True, slots=True)
class ElementContext:
    """Classification of an element by its ancestors."""

    is_side_content: bool = False
    is_in_carousel: bool = False
    price_element_id: int = 0
    """Memory id of the outermost price element around it; 0 for none."""


@dataclass(slots=True)
class PageRegions:
    """Caches the contexts of elements, which share most of their ancestors."""

    contexts: dict[int, ElementContext] = field(default_factory=dict)
    heading_ancestors: frozenset[int] = frozenset()
    """Ancestors of the heading: they are main content whatever their names are."""

    def make_tls_context(self, node: LexborNode) -> ElementContext:
        """Return the context of an element."""
        chain: list[LexborNode] = []
        above = node.parent
        while above is not None and above.mem_id not in self.contexts and above.tag not in {"body", "html"}:
            chain.append(above)
            above = above.parent
        context = self.contexts.get(above.mem_id, ElementContext()) if above is not None else ElementContext()
        for element in reversed(chain):
            context = self.contexts[element.mem_id] = _child_context(element, context)
            if element.mem_id in self.heading_ancestors:
                context = self.contexts[element.mem_id] = ElementContext(
                    price_element_id=context.price_element_id
                )
        return context


def _child_context(element: LexborNode, context: ElementContext) -> ElementContext:
    attrs = element.attributes
    names = element_names(attrs)
    is_out = element.tag in _SIDE_TAGS or bool(_SIDE_NAMES.search(names)) or is_hidden(attrs, names)
    price = context.price_element_id or (
        element.mem_id if is_price_name(names) and is_price_sized(element) else 0
    )
    return ElementContext(
        context.is_side_content or is_out,
        context.is_in_carousel or bool(_CAROUSEL_NAMES.search(names)),
        price,
    )


def is_hidden(attrs: Attributes, names: str) -> bool:
    """Whether an element is not shown, by its own attributes."""
    is_named = "hidden" in attrs or not _HIDDEN_CLASSES.isdisjoint(names.split())
    return is_named or "display:none" in (attrs.get("style") or "").replace(" ", "").lower()


def ancestor_ids(node: LexborNode | None) -> frozenset[int]:
    """Return the memory ids of all ancestors of an element."""
    found: set[int] = set()
    while node is not None and (node := node.parent) is not None:
        found.add(node.mem_id)
    return frozenset(found)


def element_names(attrs: Attributes) -> str:
    """Return the class names, ids and test ids of an element, in lower case."""
    return " ".join(filter(None, (attrs.get(name) for name in _NAME_ATTRIBUTES))).lower()[:MAX_TEXT_CHARS]


def is_price_name(names: str) -> bool:
    """Whether the names of an element mark a price."""
    return _PRICE_NAMES.search(names) is not None


def single_line(text: str) -> str:
    """Return a text in one line, clipped."""
    return " ".join(text[: 4 * MAX_TEXT_CHARS].split())[:MAX_TEXT_CHARS]


def line_text(node: LexborNode) -> str:
    """Return the text of an element in one line, clipped."""
    return clipped_text(node, MAX_TEXT_CHARS)


def is_price_sized(node: LexborNode) -> bool:
    """Whether an element is small enough to be a price, rather than to contain one."""
    return len(clipped_text(node, MAX_PRICE_CHARS)) < MAX_PRICE_CHARS


def find_heading(root: LexborNode, body: LexborNode) -> LexborNode | None:
    """Return the page's heading: the h1 most like the title, or an element named as a product title."""
    named = root.css_first("title")
    title = set(clipped_text(named, MAX_TEXT_CHARS).lower().split()) if named is not None else set()
    headings = [node for node in body.css("h1")[:MAX_TITLES] if is_headline(node)]
    if not headings:
        named_so = body.css(_TITLE_SELECTOR)[:MAX_TITLES]
        headings = [node for node in named_so if len(title & (words := _title_words(node))) > len(words) / 2]
    return max(headings, key=lambda node: len(title & _title_words(node)), default=None)


def is_headline(node: LexborNode) -> bool:
    """Whether an h1 is the heading of the page, not the site's logo, which links to the front page."""
    if not clipped_text(node, MAX_TEXT_CHARS):
        return False
    link = node.css_first("a[href]")
    is_home = link is not None and _HOME_URL.fullmatch(link.attributes.get("href") or "") is not None
    return not is_home and _LOGO_NAMES.search(element_names(node.attributes)) is None


def _title_words(node: LexborNode) -> set[str]:
    return set(clipped_text(node, MAX_TEXT_CHARS).lower().split())


def find_listed_prices(
    nodes: Sequence[LexborNode], regions: PageRegions, *, are_named: bool = True
) -> tuple[frozenset[int], int]:
    """Return prices in similar boxes of a list, and how many boxes of the longest list are links."""
    boxes: dict[tuple[int, str, str], dict[int, LexborNode]] = {}
    keys: dict[int, list[tuple[int, str, str]]] = {}
    makes: dict[int, str] = {}
    for node in nodes:
        if regions.make_tls_context(node).price_element_id:
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
    """Return the first class names of a box, without numbers, which boxes of one list share."""
    class_names = (element.attributes.get("class") or "")[:MAX_TEXT_CHARS]
    return " ".join(re.sub(r"\d+", "", class_names).split()[:2])


def _are_cards(boxes: Sequence[LexborNode], *, are_named: bool) -> bool:
    if are_named:
        return len(boxes) >= MIN_CARDS
    return len(boxes) >= MIN_LINKED_CARDS and all(_has_link(box) for box in boxes[:MIN_CARDS])


def _has_link(box: LexborNode) -> bool:
    link = box if box.tag == "a" else box.css_first("a[href]")
    return link is not None and not (link.attributes.get("href") or "#").startswith("#")

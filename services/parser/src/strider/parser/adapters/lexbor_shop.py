"""Signs of a shop in a tree: prices, buttons, what is noted about stock and numbers, crumbs, pictures.

Decides what is looked at, and which of it is beside the matter: in menus, among recommendations, or one of
several of a kind. What a sign means is decided elsewhere. Bounded in elements and in the length of texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.shopsigns import AMOUNT, BUTTON, HEADING, NOTE, NUMBER, PROPERTY, Picture, Shop, Sign

from .lexbor_prices import MAX_PRICE_CHARS, read_amounts, text_of

MAX_MARKED: Final = 4_000
MAX_PICTURES: Final = 200
MAX_CRUMBS: Final = 12
MAX_TEXT_CHARS: Final = 300
CARDS: Final = 3
"""As many prices at the same place of boxes of one make are a list."""

_MARKED: Final = ",".join(
    [
        *("h1", "button", 'input[type="submit" i]', 'input[type="button" i]', 'a[class*="cart" i]', "img"),
        *('[role="button"]', 'a[class*="btn" i]', 'a[class*="button" i]', 'input[type="image" i]'),
        *(
            "[data-product-price]",
            '[data-testid*="price" i]',
            '[data-hook*="price" i]',
            '[aria-label*="price" i]',
        ),
        *('[class*="price" i]', '[id*="price" i]', "[data-price]", '[data-test*="price" i]', "[itemprop]"),
        *(
            '[class*="sku" i]',
            "[data-sku]",
            "[data-product-sku]",
            "[data-product_sku]",
            '[class*="brand" i]',
            '[id*="sku" i]',
        ),
        *('[class*="stock" i]', '[class*="availab" i]', '[class*="inventory" i]', '[id*="availab" i]'),
        *('[class*="rating" i]', '[class*="review" i]', '[class*="stars" i]'),
    ]
)
_CRUMBS: Final = (
    '[class*="breadcrumb" i],[id*="breadcrumb" i],[aria-label*="breadcrumb" i],[class*="crumbs" i]'
)
_NAMES: Final = ("class", "id", "data-testid", "data-test", "data-hook", "name", "data-section-type")
_BESIDE: Final = re.compile(
    r"related|recommend|up-?sell|cross-?sell|similar|also-?(?:like|bought|view)|you-?may|recently|mini-?cart"
    r"|cart-?(?:drawer|items?|content)|mega-?menu|footer|newsletter|frequently|suggest|best-?sell|trending"
    r"|featured-?(?:products|collection)|product-?(?:list|grid|cards?|tile|carousel|slider|recs)|quick-?view"
    r"|card-?product|comments?-list|header__|site-?header|review-?(?:list|item)|pagination|sponsored"
)
_MOVING: Final = re.compile(r"carousel|slider|slick|swiper|owl-")
_HIDDEN: Final = frozenset({"hidden", "hide", "d-none", "is-hidden", "is-hide", "u-hidden"})
_BESIDE_TAGS: Final = frozenset({"nav", "footer", "aside", "template", "noscript", "select"})


@dataclass(frozen=True, slots=True)
class _Around:
    """What is known of the elements around one."""

    is_beside: bool = False
    is_moving: bool = False
    price: int = 0
    """The outermost element around it that is a price, by its memory; 0 for none."""


@dataclass(slots=True)
class _Places:
    """Remembers what was found out about elements: they share most of those around them."""

    known: dict[int, _Around] = field(default_factory=dict)
    matters: frozenset[int] = frozenset()
    """What stands around the heading: whatever its names are, it is what the page is about."""

    def around(self, node: LexborNode) -> _Around:
        """Say where an element stands."""
        chain: list[LexborNode] = []
        above = node.parent
        while above is not None and above.mem_id not in self.known and above.tag not in {"body", "html"}:
            chain.append(above)
            above = above.parent
        place = self.known.get(above.mem_id, _Around()) if above is not None else _Around()
        for element in reversed(chain):
            place = self.known[element.mem_id] = _within(element, place)
            if element.mem_id in self.matters:
                place = self.known[element.mem_id] = _Around(price=place.price)
        return place


def _within(element: LexborNode, place: _Around) -> _Around:
    said = element.attributes
    words = names_of(said)
    is_out = element.tag in _BESIDE_TAGS or bool(_BESIDE.search(words)) or _is_hidden(said, words)
    price = place.price or (element.mem_id if "price" in words and is_short(element) else 0)
    return _Around(place.is_beside or is_out, place.is_moving or bool(_MOVING.search(words)), price)


def _is_hidden(said: dict[str, str | None], words: str) -> bool:
    is_named = "hidden" in said or not _HIDDEN.isdisjoint(words.split())
    return is_named or "display:none" in (said.get("style") or "").replace(" ", "").lower()


def _above(node: LexborNode | None) -> frozenset[int]:
    """Give all elements that an element stands in."""
    found: set[int] = set()
    while node is not None and (node := node.parent) is not None:
        found.add(node.mem_id)
    return frozenset(found)


def names_of(said: dict[str, str | None]) -> str:
    """Give the names that an element has from its makers, in lower case."""
    return " ".join(filter(None, (said.get(name) for name in _NAMES))).lower()[:MAX_TEXT_CHARS]


def is_short(node: LexborNode) -> bool:
    """Say whether an element is small enough to be a price, not what contains one."""
    return len(text_of(node, MAX_PRICE_CHARS)) < MAX_PRICE_CHARS


def read_shop(body: LexborNode) -> Shop:
    """Gather the signs of a page."""
    places = _Places(matters=_above(body.css_first("h1")))
    marked = body.css(_MARKED)[:MAX_MARKED]
    cards = _cards(marked, places)
    signs: list[Sign] = []
    pictures: list[Picture] = []
    for node in marked:
        place = places.around(node)
        if node.tag == "img":
            if len(pictures) < MAX_PICTURES and (picture := _picture(node, place)):
                pictures.append(picture)
            continue
        said = node.attributes
        is_out = place.is_beside or place.is_moving or _is_hidden(said, names_of(said))
        is_beside = is_out or node.mem_id in cards
        signs += [sign._replace(is_beside=is_beside) for sign in _signs(node, place)]
    signs += _numbers(body, places)
    return Shop(tuple(signs), _crumbs(body), tuple(pictures), names_of(body.attributes))


def _signs(node: LexborNode, place: _Around) -> Iterator[Sign]:
    said = node.attributes
    words = names_of(said)
    if node.tag == "h1":
        yield Sign(HEADING, _text(node), words)
    name = said.get("itemprop")
    if name:
        yield Sign(PROPERTY, _stated(node, said), name.lower())
    if _is_button(node, said, words):
        text = (said.get("value") or said.get("alt") if node.tag == "input" else _text(node)) or ""
        text = text or said.get("aria-label") or ""
        yield Sign(BUTTON, text[:MAX_TEXT_CHARS], words, is_off="disabled" in said)
        return
    is_price = (
        "price" in words
        or not _PRICE_DATA.isdisjoint(said)
        or "price" in (said.get("aria-label") or "").lower()
    )
    if not place.price and is_price and is_short(node):
        amounts = read_amounts(node, words)
        for amount in amounts:
            yield Sign(AMOUNT, amount.text, amount.words, is_struck=amount.is_struck)
        if not amounts and (stated := _stated_price(said)):
            yield Sign(AMOUNT, stated, words)
    number = said.get("data-product-sku") or said.get("data-product_sku") or said.get("data-sku")
    if number:
        yield Sign(NOTE, number[:MAX_TEXT_CHARS], "sku")
    elif _NOTED.search(words) and len(text := _text(node) or _label(said)) < MAX_TEXT_CHARS and text:
        yield Sign(NOTE, text, words)


def _is_button(node: LexborNode, said: dict[str, str | None], words: str) -> bool:
    is_link_of_form = node.tag == "a" and any(word in words for word in ("cart", "btn", "button"))
    return node.tag in {"button", "input"} or said.get("role") == "button" or is_link_of_form


def _stated_price(said: dict[str, str | None]) -> str:
    """Give a price that an element says without showing a number of its own."""
    texts = (said.get(name) for name in ("aria-label", *_PRICES_STATED))
    return next((_line(text) for text in texts if text and re.search(r"\d", text)), "")


_PRICES_STATED: Final = ("data-price", "data-product-price")
_PRICE_DATA: Final = frozenset(_PRICES_STATED)


def _numbers(body: LexborNode, places: _Places) -> Iterator[Sign]:
    """Find what is named as the number of a thing, in other words than SKU: behind all other signs."""
    for node in body.css(_NUMBERED)[:MAX_NUMBERED]:
        place, said = places.around(node), node.attributes
        number = said.get("value") if node.tag == "input" else _text(node)
        number = next((stated for name in _NUMBER_DATA if (stated := said.get(name))), number)
        if number:
            is_beside = place.is_beside or place.is_moving
            yield Sign(NUMBER, number[:MAX_TEXT_CHARS], names_of(said), is_beside=is_beside)


MAX_NUMBERED: Final = 50
_THINGS: Final = ("product", "item", "article", "part", "model")
_NUMBER_DATA: Final = tuple(f"data-{thing}-{word}" for thing in _THINGS for word in ("code", "number", "no"))
_NUMBERED: Final = ",".join(
    [
        *('input[name*="sku" i]', 'input[name="product_code" i]', 'input[name="productcode" i]'),
        *('input[name="item_number" i]', 'input[name="article_number" i]'),
        *(f"[{name}]" for name in _NUMBER_DATA),
        *(
            f'[class*="{thing}{word}" i]'
            for thing in _THINGS
            for word in ("-code", "code", "-number", "number")
        ),
    ]
)
_NOTED: Final = re.compile(r"sku|stock|availab|inventory|brand|rating|review|stars")


def _cards(marked: list[LexborNode], places: _Places) -> set[int]:
    """Give prices that stand in boxes of one make: those of a list."""
    boxes: dict[tuple[int, str, str], set[int]] = {}
    keys: dict[int, list[tuple[int, str, str]]] = {}
    for node in marked:
        words = names_of(node.attributes)
        if "price" not in words or places.around(node).price:
            continue
        found = keys[node.mem_id] = []
        element: LexborNode | None = node
        while element is not None and element.tag not in {"body", "html"} and len(found) < MAX_CRUMBS:
            above = element.parent
            if above is None:
                break
            make = re.sub(r"\d+", "", element.attributes.get("class") or "")
            key = (above.mem_id, element.tag or "", " ".join(make.split()[:2]))
            boxes.setdefault(key, set()).add(element.mem_id)
            found.append(key)
            element = above
    return {node for node, found in keys.items() if any(len(boxes[key]) >= CARDS for key in found)}


def _crumbs(body: LexborNode) -> tuple[str, ...]:
    for trail in body.css(_CRUMBS)[:MAX_CRUMBS]:
        line = _text(trail)
        if len(line) >= MAX_TEXT_CHARS:
            continue  # no trail, but the page that has one
        parts = [_text(node) for node in trail.css("a,li,span")] or re.split(r"[/>\u203a\u00bb|]", line)
        # A list item has the text of its link once more; marks between are no places.
        said = dict.fromkeys(text for part in parts if (text := part.strip(_MARKS)) and text != line)
        if len(said) > 1:
            return tuple(said)[:MAX_CRUMBS]
    return ()


_MARKS: Final = " /><|-\u203a\u00bb\u2022\u2192"


def _picture(node: LexborNode, place: _Around) -> Picture | None:
    said = node.attributes
    sources = ("data-zoom-image", "data-large_image", "data-old-hires", "data-src", "data-original", "src")
    url = next((value for name in sources if (value := said.get(name)) and not value.startswith("data:")), "")
    if not url:
        return None
    words, above = names_of(said), node.parent
    for _ in range(4):
        if above is None:
            break
        words = f"{words} {names_of(above.attributes)}"
        above = above.parent
    sizes = [_pixels(said.get(name)) for name in ("width", "height")]
    return Picture(url, _line(said.get("alt") or ""), words, sizes[0], sizes[1], place.is_beside)


def _pixels(text: str | None) -> int:
    match = re.match(r"\s*(\d{1,5})", text or "")
    return int(match[1]) if match else 0


def _stated(node: LexborNode, said: dict[str, str | None]) -> str:
    value = said.get("content") or said.get("href") or said.get("src")
    return (_line(value) if value else _text(node))[:MAX_TEXT_CHARS]


def _label(said: dict[str, str | None]) -> str:
    return _line(said.get("aria-label") or said.get("title") or "")


def _text(node: LexborNode) -> str:
    return text_of(node, MAX_TEXT_CHARS)


def _line(text: str) -> str:
    return " ".join(text[: 4 * MAX_TEXT_CHARS].split())[:MAX_TEXT_CHARS]

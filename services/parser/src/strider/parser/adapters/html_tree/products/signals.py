"""Signs of a shop in a tree: prices, buttons, what is noted about stock, numbers, brands and ratings.

Decides what is looked at, and which of it is one of several of a kind. What a sign means is decided
elsewhere. Bounded in elements and in the length of texts.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.products.commerce_vocabulary import BUY, parse_availability
from strider.parser.core.products.signal_models import (
    AMOUNT,
    BARE_AMOUNT,
    BRAND,
    BUTTON,
    DISCOUNT,
    FACT,
    HEADING,
    IDENTIFIER,
    ITEMPROP,
    RATING,
    Shop,
    Sign,
)

from .media import read_breadcrumbs, read_description, read_image
from .page_regions import (
    MAX_TEXT_CHARS,
    ElementContext,
    Places,
    ancestor_ids,
    find_heading,
    find_listed_prices,
    is_headline,
    is_hidden,
    is_price_name,
    is_price_sized,
    line_text,
    names_of,
    single_line,
)
from .price_amounts import read_amounts
from .price_elements import find_money_texts

MAX_SIGNAL_ELEMENTS: Final = 4_000
MAX_IMAGES: Final = 200

_BRAND_PATHS: Final = (
    *("brand", "marque", "marca", "marke", "merk", "manufacturer", "hersteller", "fabricant", "fabricante"),
    *("producent", "producer", "vendor", "designer", "varumark", "maerke", "znacka", "vyrobce"),
)
"""What addresses begin with that lead to all of one brand."""

_RATING_ATTRIBUTES: Final = ("data-rating", "data-score", "data-rating-value", "data-average-rating")
_MARKED: Final = ",".join(
    [
        *("h1", "button", 'input[type="submit" i]', 'input[type="button" i]', 'a[class*="cart" i]', "img"),
        *('[role="button"]', 'a[class*="btn" i]', 'a[class*="button" i]', 'input[type="image" i]'),
        *('a[class*="buy" i]', "[data-product-price]", "[data-price]", "[itemprop]"),
        *(f'[{name}*="price" i]' for name in ("class", "id", "data-testid", "data-test", "data-hook")),
        *(f'[class*="{word}" i]' for word in ("preis", "precio", "prezzo", "preco", "prix", "prijs")),
        *('[aria-label*="price" i]', '[class*="fiyat" i]', '[class~="money"]'),
        *('[class*="sku" i]', '[id*="sku" i]', "[data-sku]", "[data-product-sku]", "[data-product_sku]"),
        *('[class*="stock" i]', '[class*="availab" i]', '[class*="inventory" i]', '[id*="availab" i]'),
        *('[class*="rating" i]', '[class*="review" i]', '[class*="stars" i]', '[aria-label*=" 5 " i]'),
        *(f"[{name}]" for name in _RATING_ATTRIBUTES),
        *('[class*="brand" i]', '[class*="manufacturer" i]', '[class*="vendor" i]', '[id*="byline" i]'),
    ]
)


def read_product_signals(root: LexborNode, body: LexborNode) -> Shop:
    """Gather the signs of a page."""
    heading = find_heading(root, body)
    places = Places(heading_ancestors=ancestor_ids(heading))
    marked = {node.mem_id: node for node in body.css(_MARKED)[:MAX_SIGNAL_ELEMENTS]}
    if heading is not None and heading.mem_id not in marked:
        marked = {heading.mem_id: heading, **marked}
    cards, boxes = find_listed_prices(_price_elements(marked.values()), places)
    signs = {
        mem_id: _signals_in_context(
            node, places, cards, is_heading=heading is not None and heading.mem_id == mem_id
        )
        for mem_id, node in marked.items()
        if node.tag != "img"
    }
    found = [sign for own in signs.values() for sign in own]
    if _is_shop_page(found):
        signs |= {
            node.mem_id: _signals_in_context(node, places, cards, is_heading=False)
            for node in _brand_links(body, signs)
        }
        is_priced = any(sign.kind == AMOUNT and not sign.is_beside for sign in found)
        found, unnamed = _in_page_order(body, signs, places, with_money=not is_priced)
        boxes = max(boxes, unnamed)
        found += _numbers(body, places)
    shown = (read_image(node, places.context_of(node)) for node in marked.values() if node.tag == "img")
    pictures = islice((picture for picture in shown if picture is not None), MAX_IMAGES)
    return Shop(
        tuple(found),
        read_breadcrumbs(body),
        tuple(pictures),
        _page_names(body),
        read_description(body, places),
        boxes,
    )


def _is_shop_page(signs: Iterable[Sign]) -> bool:
    """Say whether there is a price, or a way to buy: on all other pages the rest is not looked for."""
    return any(
        sign.kind == AMOUNT
        or (sign.kind == ITEMPROP and sign.words == "price")
        or (sign.kind == BUTTON and (BUY.search(sign.text) or parse_availability(sign.text)))
        for sign in signs
    )


def _brand_links(body: LexborNode, known: Container[int]) -> list[LexborNode]:
    """Find links to all of one brand."""
    links = (node for node in body.css("a[href]")[:MAX_SIGNAL_ELEMENTS] if node.mem_id not in known)
    return [node for node in links if _BRAND_URL.search((node.attributes.get("href") or "").lower())]


def _page_names(body: LexborNode) -> str:
    said = body.attributes
    return " ".join(filter(None, (said.get("class"), said.get("id"))))[:MAX_PAGE_NAME_CHARS].lower()


MAX_PAGE_NAME_CHARS: Final = 8_000
"""Shops of some make say all of their settings in the names of the page."""


def _price_elements(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    return [node for node in nodes if is_price_name(names_of(node.attributes))]


def _signals_in_context(
    node: LexborNode, places: Places, cards: frozenset[int], *, is_heading: bool
) -> list[Sign]:
    place, said = places.context_of(node), node.attributes
    is_out = place.is_beside or place.is_in_carousel or is_hidden(said, names_of(said))
    is_beside = is_out or node.mem_id in cards
    signs = [*_signs(node, place)]
    if is_heading and node.tag != "h1":
        signs.insert(0, Sign(HEADING, line_text(node), names_of(said)))
    return [sign._replace(is_peripheral=is_beside) for sign in signs]


def _in_page_order(
    body: LexborNode, signs: Mapping[int, list[Sign]], places: Places, *, with_money: bool
) -> tuple[list[Sign], int]:
    """Put all signs in the order of the page, with money without a name; gives how many are in a list."""
    row = [*find_money_texts(body, frozenset(signs), with_money=with_money)]
    said = [node for node, money in row if money is not None and not money.is_percentage]
    cards, boxes = find_listed_prices(said, places, are_named=False)
    found: list[Sign] = []
    for node, money in row:
        if money is None:
            found += signs[node.mem_id]
            continue
        place = places.context_of(node)
        is_beside = place.is_beside or place.is_in_carousel or node.mem_id in cards
        kind = DISCOUNT if money.is_percentage else BARE_AMOUNT
        found.append(Sign(kind, money.text, money.names, is_struck=money.is_struck, is_beside=is_beside))
    reached = {node.mem_id for node, _ in row}
    return found + [sign for mem_id, own in signs.items() if mem_id not in reached for sign in own], boxes


def _signs(node: LexborNode, place: ElementContext) -> Iterator[Sign]:
    said = node.attributes
    words = names_of(said)
    if node.tag == "h1" and is_headline(node):
        yield Sign(HEADING, line_text(node), words)
    name = said.get("itemprop")
    if name:
        yield Sign(ITEMPROP, _property_value(node, said), name.lower())
    if _is_button(node, said, words):
        text = (said.get("value") or said.get("alt") if node.tag == "input" else line_text(node)) or ""
        text = text or said.get("aria-label") or said.get("title") or ""
        yield Sign(BUTTON, text[:MAX_TEXT_CHARS], words, is_disabled="disabled" in said)
        return
    yield from _amount_signals(node, said, words, place)
    yield from _notes(node, said, words)


def _amount_signals(
    node: LexborNode, said: dict[str, str | None], words: str, place: ElementContext
) -> Iterator[Sign]:
    is_price = (
        is_price_name(words)
        or not _PRICE_ATTRIBUTE_SET.isdisjoint(said)
        or "price" in (said.get("aria-label") or "").lower()
    )
    if place.price_element_id or not is_price or not is_price_sized(node):
        return
    amounts = read_amounts(node, words)
    for amount in amounts:
        yield Sign(AMOUNT, amount.text, amount.names, is_struck=amount.is_struck)
    if not amounts and (stated := _stated_price(said)):
        yield Sign(AMOUNT, stated, words)


def _notes(node: LexborNode, said: dict[str, str | None], words: str) -> Iterator[Sign]:
    number = said.get("data-product-sku") or said.get("data-product_sku") or said.get("data-sku")
    if number:
        yield Sign(FACT, number[:MAX_TEXT_CHARS], "sku")
    elif _NOTE_NAMES.search(words) and len(text := line_text(node) or _label(said)) < MAX_TEXT_CHARS and text:
        yield Sign(FACT, text, words)
    if brand := _brand_text(node, said, words):
        yield Sign(BRAND, brand, words)
    yield from _rating_signals(node, said, words)


def _brand_text(node: LexborNode, said: dict[str, str | None], words: str) -> str:
    """Give the brand that an element shows by its name, leads to, or bears in the text of its mark."""
    if node.tag in {"body", "main", "section"}:
        return ""
    is_link = node.tag == "a" and _BRAND_URL.search((said.get("href") or "").lower()) is not None
    if not is_link and not _BRAND_NAMES.search(words):
        return ""
    text = line_text(node)
    if not text:
        mark = node.css_first("img[alt]")
        text = single_line(mark.attributes.get("alt") or "") if mark is not None else ""
    return text or single_line(said.get("title") or "") if len(text) < MAX_BRAND_CHARS else ""


MAX_BRAND_CHARS: Final = 60
_BRAND_URL: Final = re.compile(rf"/(?:our-)?(?:{'|'.join(_BRAND_PATHS)})(?:s|en|er|es|n|i|y)?[/_-][^/?#]")
_BRAND_NAMES: Final = re.compile(r"brand(?!ing|ed)|manufacturer(?!-part)|vendor|byline")


def _rating_signals(node: LexborNode, said: dict[str, str | None], words: str) -> Iterator[Sign]:
    """Give ratings that stand in data, in labels, and in the width of stars."""
    stated = next(
        (text for name in _RATING_ATTRIBUTES if (text := said.get(name)) and len(text) < MAX_RATING_CHARS), ""
    )
    if stated:
        yield Sign(RATING, stated, "5")
    label = said.get("aria-label") or said.get("title") or ""
    if label and "5" in label and len(label) < MAX_TEXT_CHARS:
        yield Sign(FACT, single_line(label), f"{words} rating")
    share = _RATING_PERCENT.search(f"{label} {said.get('style') or ''}")
    if _RATING_NAMES.search(words) and share is None:
        inner = node.css_first('[style*="width"]')
        share = _RATING_PERCENT.search(inner.attributes.get("style") or "") if inner is not None else None
    if share is not None and _RATING_NAMES.search(words):
        yield Sign(RATING, share[1], "100")


MAX_RATING_CHARS: Final = 8
_RATING_NAMES: Final = re.compile(r"rating|stars")
_RATING_PERCENT: Final = re.compile(r"(?:^|width:)\s*(\d{1,3}(?:\.\d+)?)\s?%")


def _is_button(node: LexborNode, said: dict[str, str | None], words: str) -> bool:
    is_link_of_form = node.tag == "a" and any(word in words for word in ("cart", "btn", "button", "buy"))
    return node.tag in {"button", "input"} or said.get("role") == "button" or is_link_of_form


def _stated_price(said: dict[str, str | None]) -> str:
    """Give a price that an element says without showing a number of its own."""
    texts = (said.get(name) for name in ("aria-label", *_PRICE_ATTRIBUTES))
    return next((single_line(text) for text in texts if text and re.search(r"\d", text)), "")


_PRICE_ATTRIBUTES: Final = ("data-price", "data-product-price")
_PRICE_ATTRIBUTE_SET: Final = frozenset(_PRICE_ATTRIBUTES)


def _numbers(body: LexborNode, places: Places) -> Iterator[Sign]:
    """Find what is named as the number of a thing, in other words than SKU: behind all other signs."""
    for node in body.css(_NUMBERED)[:MAX_NUMBERED]:
        place, said = places.context_of(node), node.attributes
        number = said.get("value") if node.tag == "input" else line_text(node)
        number = next((stated for name in _NUMBER_ATTRIBUTES if (stated := said.get(name))), number)
        if number:
            is_beside = place.is_beside or place.is_in_carousel
            yield Sign(IDENTIFIER, number[:MAX_TEXT_CHARS], names_of(said), is_beside=is_beside)


MAX_NUMBERED: Final = 50
_THINGS: Final = ("product", "item", "article", "part", "model")
_NUMBER_ATTRIBUTES: Final = tuple(
    f"data-{thing}-{word}" for thing in _THINGS for word in ("code", "number", "no")
)
_NUMBERED: Final = ",".join(
    [
        *('input[name*="sku" i]', 'input[name="product_code" i]', 'input[name="productcode" i]'),
        *('input[name="item_number" i]', 'input[name="article_number" i]', 'input[name="artnr" i]'),
        *(f"[{name}]" for name in _NUMBER_ATTRIBUTES),
        *(
            f'[class*="{thing}{word}" i]'
            for thing in _THINGS
            for word in ("-code", "code", "_code", "-number", "number", "_number")
        ),
        *('[class~="product-id"]', '[class*="ordernumber" i]', '[class*="product-reference" i]'),
    ]
)
_NOTE_NAMES: Final = re.compile(r"sku|stock|availab|inventory|brand|rating|review|stars|delivery-information")


def _property_value(node: LexborNode, said: dict[str, str | None]) -> str:
    value = said.get("content") or said.get("href") or said.get("src")
    return (single_line(value) if value else line_text(node))[:MAX_TEXT_CHARS]


def _label(said: dict[str, str | None]) -> str:
    return single_line(said.get("aria-label") or said.get("title") or "")

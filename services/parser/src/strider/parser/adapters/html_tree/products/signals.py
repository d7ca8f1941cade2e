"""Read signals of a shop: prices, buttons, stock notes, product numbers, brands, ratings.

Decides which elements are read, and which of them belong to a list of other products. What a signal means is
decided elsewhere. Bounded in elements and in the length of texts.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.adapters.html_tree.traversal import Attributes
from strider.parser.core.products.commerce_vocabulary import BUY_PHRASES, parse_availability
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
    ProductSignal,
    ProductSignals,
)

from .media import read_breadcrumbs, read_description, read_image
from .page_regions import (
    MAX_TEXT_CHARS,
    ElementContext,
    PageRegions,
    ancestor_ids,
    element_names,
    find_heading,
    find_listed_prices,
    is_headline,
    is_hidden,
    is_price_name,
    is_price_sized,
    line_text,
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
"""Path segments of links to all products of one brand."""

_RATING_ATTRIBUTES: Final = ("data-rating", "data-score", "data-rating-value", "data-average-rating")
_SIGNAL_SELECTOR: Final = ",".join(
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


MAX_PAGE_NAME_CHARS: Final = 8_000
"""Some shop software puts all of its settings into the class names of the body."""

MAX_BRAND_CHARS: Final = 60

_BRAND_URL: Final = re.compile(rf"/(?:our-)?(?:{'|'.join(_BRAND_PATHS)})(?:s|en|er|es|n|i|y)?[/_-][^/?#]")

_BRAND_NAMES: Final = re.compile(r"brand(?!ing|ed)|manufacturer(?!-part)|vendor|byline")

MAX_RATING_CHARS: Final = 8

_RATING_NAMES: Final = re.compile(r"rating|stars")

_RATING_PERCENT: Final = re.compile(r"(?:^|width:)\s*(\d{1,3}(?:\.\d+)?)\s?%")

_PRICE_ATTRIBUTES: Final = ("data-price", "data-product-price")

_PRICE_ATTRIBUTE_SET: Final = frozenset(_PRICE_ATTRIBUTES)

MAX_NUMBER_ELEMENTS: Final = 50

_NUMBERED_NOUNS: Final = ("product", "item", "article", "part", "model")

_NUMBER_ATTRIBUTES: Final = tuple(
    f"data-{thing}-{word}" for thing in _NUMBERED_NOUNS for word in ("code", "number", "no")
)

_NUMBER_SELECTOR: Final = ",".join(
    [
        *('input[name*="sku" i]', 'input[name="product_code" i]', 'input[name="productcode" i]'),
        *('input[name="item_number" i]', 'input[name="article_number" i]', 'input[name="artnr" i]'),
        *(f"[{name}]" for name in _NUMBER_ATTRIBUTES),
        *(
            f'[class*="{thing}{word}" i]'
            for thing in _NUMBERED_NOUNS
            for word in ("-code", "code", "_code", "-number", "number", "_number")
        ),
        *('[class~="product-id"]', '[class*="ordernumber" i]', '[class*="product-reference" i]'),
    ]
)

_NOTE_NAMES: Final = re.compile(r"sku|stock|availab|inventory|brand|rating|review|stars|delivery-information")


def read_product_signals(root: LexborNode, body: LexborNode) -> ProductSignals:
    """Return the signals of a page."""
    heading = find_heading(root, body)
    places = PageRegions(heading_ancestors=ancestor_ids(heading))
    marked = {node.mem_id: node for node in body.css(_SIGNAL_SELECTOR)[:MAX_SIGNAL_ELEMENTS]}
    if heading is not None and heading.mem_id not in marked:
        marked = {heading.mem_id: heading, **marked}
    cards, boxes = find_listed_prices(_price_elements(marked.values()), places)
    signals = {
        mem_id: _signals_in_context(
            node, places, cards, is_heading=heading is not None and heading.mem_id == mem_id
        )
        for mem_id, node in marked.items()
        if node.tag != "img"
    }
    found = [sign for own in signals.values() for sign in own]
    if _is_shop_page(found):
        signals |= {
            node.mem_id: _signals_in_context(node, places, cards, is_heading=False)
            for node in _brand_links(body, signals)
        }
        is_priced = any(sign.kind == AMOUNT and not sign.is_peripheral for sign in found)
        found, unnamed = _in_page_order(body, signals, places, with_money=not is_priced)
        boxes = max(boxes, unnamed)
        found += _number_signals(body, places)
    shown = (read_image(node, places.make_tls_context(node)) for node in marked.values() if node.tag == "img")
    pictures = islice((picture for picture in shown if picture is not None), MAX_IMAGES)
    return ProductSignals(
        tuple(found),
        read_breadcrumbs(body),
        tuple(pictures),
        _page_names(body),
        read_description(body, places),
        boxes,
    )


def _is_shop_page(signals: Iterable[ProductSignal]) -> bool:
    """Whether there is a price or a way to buy; other pages are not searched further."""
    return any(
        sign.kind == AMOUNT
        or (sign.kind == ITEMPROP and sign.names == "price")
        or (sign.kind == BUTTON and (BUY_PHRASES.search(sign.text) or parse_availability(sign.text)))
        for sign in signals
    )


def _brand_links(body: LexborNode, known: Container[int]) -> list[LexborNode]:
    """Return links to all products of one brand."""
    links = (node for node in body.css("a[href]")[:MAX_SIGNAL_ELEMENTS] if node.mem_id not in known)
    return [node for node in links if _BRAND_URL.search((node.attributes.get("href") or "").lower())]


def _page_names(body: LexborNode) -> str:
    attrs = body.attributes
    return " ".join(filter(None, (attrs.get("class"), attrs.get("id"))))[:MAX_PAGE_NAME_CHARS].lower()


def _price_elements(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    return [node for node in nodes if is_price_name(element_names(node.attributes))]


def _signals_in_context(
    node: LexborNode, regions: PageRegions, cards: frozenset[int], *, is_heading: bool
) -> list[ProductSignal]:
    context, attrs = regions.make_tls_context(node), node.attributes
    is_out = context.is_side_content or context.is_in_carousel or is_hidden(attrs, element_names(attrs))
    is_beside = is_out or node.mem_id in cards
    signals = [*_element_signals(node, context)]
    if is_heading and node.tag != "h1":
        signals.insert(0, ProductSignal(HEADING, line_text(node), element_names(attrs)))
    return [sign._replace(is_peripheral=is_beside) for sign in signals]


def _in_page_order(
    body: LexborNode, signals: Mapping[int, list[ProductSignal]], regions: PageRegions, *, with_money: bool
) -> tuple[list[ProductSignal], int]:
    """Return all signals in document order with unmarked prices, and how many of these are in a list."""
    ordered = [*find_money_texts(body, frozenset(signals), with_money=with_money)]
    money_nodes = [node for node, money in ordered if money is not None and not money.is_percentage]
    cards, boxes = find_listed_prices(money_nodes, regions, are_named=False)
    found: list[ProductSignal] = []
    for node, money in ordered:
        if money is None:
            found += signals[node.mem_id]
            continue
        context = regions.make_tls_context(node)
        is_beside = context.is_side_content or context.is_in_carousel or node.mem_id in cards
        kind = DISCOUNT if money.is_percentage else BARE_AMOUNT
        found.append(
            ProductSignal(kind, money.text, money.names, is_struck=money.is_struck, is_peripheral=is_beside)
        )
    reached = {node.mem_id for node, _ in ordered}
    return found + [sign for mem_id, own in signals.items() if mem_id not in reached for sign in own], boxes


def _element_signals(node: LexborNode, context: ElementContext) -> Iterator[ProductSignal]:
    attrs = node.attributes
    names = element_names(attrs)
    if node.tag == "h1" and is_headline(node):
        yield ProductSignal(HEADING, line_text(node), names)
    name = attrs.get("itemprop")
    if name:
        yield ProductSignal(ITEMPROP, _property_value(node, attrs), name.lower())
    if _is_button(node, attrs, names):
        text = (attrs.get("value") or attrs.get("alt") if node.tag == "input" else line_text(node)) or ""
        text = text or attrs.get("aria-label") or attrs.get("title") or ""
        yield ProductSignal(BUTTON, text[:MAX_TEXT_CHARS], names, is_disabled="disabled" in attrs)
        return
    yield from _amount_signals(node, attrs, names, context)
    yield from _note_signals(node, attrs, names)


def _amount_signals(
    node: LexborNode, attrs: Attributes, names: str, context: ElementContext
) -> Iterator[ProductSignal]:
    is_price = (
        is_price_name(names)
        or not _PRICE_ATTRIBUTE_SET.isdisjoint(attrs)
        or "price" in (attrs.get("aria-label") or "").lower()
    )
    if context.price_element_id or not is_price or not is_price_sized(node):
        return
    amounts = read_amounts(node, names)
    for amount in amounts:
        yield ProductSignal(AMOUNT, amount.text, amount.names, is_struck=amount.is_struck)
    if not amounts and (stated := _stated_price(attrs)):
        yield ProductSignal(AMOUNT, stated, names)


def _note_signals(node: LexborNode, attrs: Attributes, names: str) -> Iterator[ProductSignal]:
    number = attrs.get("data-product-sku") or attrs.get("data-product_sku") or attrs.get("data-sku")
    if number:
        yield ProductSignal(FACT, number[:MAX_TEXT_CHARS], "sku")
    elif (
        _NOTE_NAMES.search(names)
        and len(text := line_text(node) or _aria_label(attrs)) < MAX_TEXT_CHARS
        and text
    ):
        yield ProductSignal(FACT, text, names)
    if brand := _brand_text(node, attrs, names):
        yield ProductSignal(BRAND, brand, names)
    yield from _rating_signals(node, attrs, names)


def _brand_text(node: LexborNode, attrs: Attributes, names: str) -> str:
    """Return the brand that an element names, links to, or has in the alternative text of its logo."""
    if node.tag in {"body", "main", "section"}:
        return ""
    is_link = node.tag == "a" and _BRAND_URL.search((attrs.get("href") or "").lower()) is not None
    if not is_link and not _BRAND_NAMES.search(names):
        return ""
    text = line_text(node)
    if not text:
        mark = node.css_first("img[alt]")
        text = single_line(mark.attributes.get("alt") or "") if mark is not None else ""
    return text or single_line(attrs.get("title") or "") if len(text) < MAX_BRAND_CHARS else ""


def _rating_signals(node: LexborNode, attrs: Attributes, names: str) -> Iterator[ProductSignal]:
    """Yield ratings from data attributes, labels, and the width of stars."""
    stated = next(
        (text for name in _RATING_ATTRIBUTES if (text := attrs.get(name)) and len(text) < MAX_RATING_CHARS),
        "",
    )
    if stated:
        yield ProductSignal(RATING, stated, "5")
    label = attrs.get("aria-label") or attrs.get("title") or ""
    if label and "5" in label and len(label) < MAX_TEXT_CHARS:
        yield ProductSignal(FACT, single_line(label), f"{names} rating")
    share = _RATING_PERCENT.search(f"{label} {attrs.get('style') or ''}")
    if _RATING_NAMES.search(names) and share is None:
        inner = node.css_first('[style*="width"]')
        share = _RATING_PERCENT.search(inner.attributes.get("style") or "") if inner is not None else None
    if share is not None and _RATING_NAMES.search(names):
        yield ProductSignal(RATING, share[1], "100")


def _is_button(node: LexborNode, attrs: Attributes, names: str) -> bool:
    is_link_of_form = node.tag == "a" and any(word in names for word in ("cart", "btn", "button", "buy"))
    return node.tag in {"button", "input"} or attrs.get("role") == "button" or is_link_of_form


def _stated_price(attrs: Attributes) -> str:
    """Return a price that an element states in an attribute without showing a number."""
    texts = (attrs.get(name) for name in ("aria-label", *_PRICE_ATTRIBUTES))
    return next((single_line(text) for text in texts if text and re.search(r"\d", text)), "")


def _number_signals(body: LexborNode, regions: PageRegions) -> Iterator[ProductSignal]:
    """Yield product numbers that are not called SKU; they come behind all other signals."""
    for node in body.css(_NUMBER_SELECTOR)[:MAX_NUMBER_ELEMENTS]:
        context, attrs = regions.make_tls_context(node), node.attributes
        number = attrs.get("value") if node.tag == "input" else line_text(node)
        number = next((stated for name in _NUMBER_ATTRIBUTES if (stated := attrs.get(name))), number)
        if number:
            is_beside = context.is_side_content or context.is_in_carousel
            yield ProductSignal(
                IDENTIFIER, number[:MAX_TEXT_CHARS], element_names(attrs), is_peripheral=is_beside
            )


def _property_value(node: LexborNode, attrs: Attributes) -> str:
    value = attrs.get("content") or attrs.get("href") or attrs.get("src")
    return (single_line(value) if value else line_text(node))[:MAX_TEXT_CHARS]


def _aria_label(attrs: Attributes) -> str:
    return single_line(attrs.get("aria-label") or attrs.get("title") or "")

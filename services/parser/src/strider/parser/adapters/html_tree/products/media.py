"""Pictures and description on a shop's page, and the trail that says where in the shop it stands."""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.products.signal_models import VisibleImage

from .page_regions import MAX_TEXT_CHARS, ElementContext, Places, line_text, names_of, single_line
from .price_amounts import text_of

MAX_CRUMBS: Final = 12
MAX_BREADCRUMB_PARTS: Final = 100
"""Of a trail: items, links and marks between them."""

_BREADCRUMB_SELECTOR: Final = (
    '[class*="breadcrumb" i],[id*="breadcrumb" i],[aria-label*="breadcrumb" i],[class*="crumbs" i]'
)


def read_breadcrumbs(body: LexborNode) -> tuple[str, ...]:
    """Give the places of the trail, broad to narrow."""
    for trail in body.css(_BREADCRUMB_SELECTOR)[:MAX_CRUMBS]:
        if trail.tag in {"body", "main"}:
            continue  # names of the whole page
        line = line_text(trail)
        if len(line) >= MAX_TEXT_CHARS:
            continue  # no trail, but the page that has one
        parts = [line_text(node) for node in trail.css("a,li,span")[:MAX_BREADCRUMB_PARTS]] or re.split(
            r"[/>\u203a\u00bb|]", line
        )
        # A list item has the text of its link once more; marks between are no places.
        said = dict.fromkeys(
            text for part in parts if (text := part.strip(_MARKS)) and _WORD.search(text) and text != line
        )
        if len(said) > 1:
            return tuple(said)[:MAX_CRUMBS]
    return ()


_WORD: Final = re.compile(r"\w")
_MARKS: Final = " /><|-\u203a\u00bb\u2022\u2192"


def read_image(node: LexborNode, context: ElementContext) -> VisibleImage | None:
    """Read a picture with the names around it; None for one without an address."""
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
    return VisibleImage(url, single_line(said.get("alt") or ""), words, sizes[0], sizes[1], context.is_beside)


def _pixels(text: str | None) -> int:
    match = re.match(r"\s*(\d{1,5})", text or "")
    return int(match[1]) if match else 0


def read_description(body: LexborNode, regions: Places) -> str:
    """Give the first text that is called the description of what is sold."""
    for node in body.css(_DESCRIPTION_SELECTOR)[:MAX_DESCRIPTIONS]:
        place = regions.context_of(node)
        if (
            place.is_beside
            or place.is_in_carousel
            or node.tag in {"body", "main", "a", "button", "input", "meta"}
        ):
            continue
        text = text_of(node, MAX_DESCRIPTION_CHARS)
        if len(text) >= MIN_DESCRIPTION_CHARS:
            return text
    return ""


MAX_DESCRIPTIONS: Final = 20
MAX_DESCRIPTION_CHARS: Final = 4_000
MIN_DESCRIPTION_CHARS: Final = 30
"""Less is the label of a tab."""

_DESCRIPTION_SELECTOR: Final = ",".join(
    [
        *('[itemprop="description"]', "#description", "#tab-description", "#product-description"),
        *('[class*="product-description" i]', '[class*="product__description" i]', '[id*="productdesc" i]'),
        *('[class*="productdescription" i]', '[class*="product_description" i]', '[class~="description" i]'),
        *('[class*="short-description" i]', '[class*="product-details__description" i]'),
    ]
)

"""Read images, description and breadcrumbs of a product page."""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborNode

from strider.parser.core.products.signal_models import VisibleImage

from .page_regions import MAX_TEXT_CHARS, ElementContext, PageRegions, element_names, line_text, single_line
from .price_amounts import clipped_text

MAX_BREADCRUMBS: Final = 12
MAX_BREADCRUMB_PARTS: Final = 100
"""Items, links and separators of a breadcrumb trail."""

_BREADCRUMB_SELECTOR: Final = (
    '[class*="breadcrumb" i],[id*="breadcrumb" i],[aria-label*="breadcrumb" i],[class*="crumbs" i]'
)


_WORD: Final = re.compile(r"\w")

_SEPARATORS: Final = " /><|-\u203a\u00bb\u2022\u2192"

MAX_DESCRIPTIONS: Final = 20

MAX_DESCRIPTION_CHARS: Final = 4_000

MIN_DESCRIPTION_CHARS: Final = 30
"""A shorter text is the label of a tab."""

_DESCRIPTION_SELECTOR: Final = ",".join(
    [
        *('[itemprop="description"]', "#description", "#tab-description", "#product-description"),
        *('[class*="product-description" i]', '[class*="product__description" i]', '[id*="productdesc" i]'),
        *('[class*="productdescription" i]', '[class*="product_description" i]', '[class~="description" i]'),
        *('[class*="short-description" i]', '[class*="product-details__description" i]'),
    ]
)


def read_breadcrumbs(body: LexborNode) -> tuple[str, ...]:
    """Return the categories of the breadcrumb trail, broad to narrow."""
    for trail in body.css(_BREADCRUMB_SELECTOR)[:MAX_BREADCRUMBS]:
        if trail.tag in {"body", "main"}:
            continue  # the class names of the whole page
        line = line_text(trail)
        if len(line) >= MAX_TEXT_CHARS:
            continue  # not the trail, but the page around it
        parts = [line_text(node) for node in trail.css("a,li,span")[:MAX_BREADCRUMB_PARTS]] or re.split(
            r"[/>\u203a\u00bb|]", line
        )
        # A list item repeats the text of its link; separators are not categories.
        crumbs = dict.fromkeys(
            text
            for part in parts
            if (text := part.strip(_SEPARATORS)) and _WORD.search(text) and text != line
        )
        if len(crumbs) > 1:
            return tuple(crumbs)[:MAX_BREADCRUMBS]
    return ()


def read_image(node: LexborNode, context: ElementContext) -> VisibleImage | None:
    """Read an image with the names of the elements around it; None for one without an address."""
    attrs = node.attributes
    sources = ("data-zoom-image", "data-large_image", "data-old-hires", "data-src", "data-original", "src")
    url = next(
        (value for name in sources if (value := attrs.get(name)) and not value.startswith("data:")), ""
    )
    if not url:
        return None
    names, above = element_names(attrs), node.parent
    for _ in range(4):
        if above is None:
            break
        names = f"{names} {element_names(above.attributes)}"
        above = above.parent
    sizes = [_pixels(attrs.get(name)) for name in ("width", "height")]
    return VisibleImage(
        url, single_line(attrs.get("alt") or ""), names, sizes[0], sizes[1], context.is_side_content
    )


def _pixels(text: str | None) -> int:
    match = re.match(r"\s*(\d{1,5})", text or "")
    return int(match[1]) if match else 0


def read_description(body: LexborNode, regions: PageRegions) -> str:
    """Return the first text whose names call it the description of the product."""
    for node in body.css(_DESCRIPTION_SELECTOR)[:MAX_DESCRIPTIONS]:
        place = regions.make_tls_context(node)
        if (
            place.is_side_content
            or place.is_in_carousel
            or node.tag in {"body", "main", "a", "button", "input", "meta"}
        ):
            continue
        text = clipped_text(node, MAX_DESCRIPTION_CHARS)
        if len(text) >= MIN_DESCRIPTION_CHARS:
            return text
    return ""

"""What do the meta elements of a page say about its product?

Takes properties by name: Open Graph with its prices, items' properties without their item, Twitter's labels.
"""

from __future__ import annotations

from typing import Any, Final

from strider.parser.core.html.metadata import MetaProperties, resolve_url

from .images import ImageMetadata, parse_pixels
from .offers import IMAGE_METADATA, MAX_TEXT_CHARS, map_availability, normalize_gtin, parse_amount
from .prices import parse_currency_field

MAX_OPEN_GRAPH_IMAGES: Final = 50


def open_graph_attributes(properties: MetaProperties, base: str, title: str) -> dict[str, Any]:
    """Read Open Graph, where it speaks of a product; `title` is what names the page, whoever says it."""
    say = properties.first_of
    amount = say("product:sale_price:amount", "product:price:amount", "og:price:amount")
    if not amount and not say("og:type").startswith("product"):
        return {}
    before = say("product:original_price:amount", "og:price:standard_amount", "product:price:amount")
    price, old = parse_amount(amount), parse_amount(before)
    images = list(
        dict.fromkeys(filter(None, (resolve_url(said, base) for said in properties.all_values("og:image"))))
    )
    image = images[0] if images else ""
    width, height = (parse_pixels(say(f"og:image:{side}")) for side in ("width", "height"))
    return {
        "name": title,
        "description": say("og:description")[:MAX_TEXT_CHARS],
        "price": price,
        "old_price": old if price and old and float(old) > float(price) else "",
        "currency": parse_currency_field(
            say("product:price:currency", "og:price:currency", "product:sale_price:currency")
        ),
        "availability": map_availability(say("product:availability", "og:availability")),
        "brand": say("product:brand", "og:brand"),
        "category": say("product:category"),
        "sku": say("product:retailer_item_id", "product:sku"),
        "gtin": normalize_gtin(say("product:gtin", "product:ean", "product:upc", "product:isbn")),
        "mpn": say("product:mfr_part_no"),
        "condition": say("product:condition"),
        "image_urls": tuple(images[:MAX_OPEN_GRAPH_IMAGES]),
        IMAGE_METADATA: {image: ImageMetadata(width, height, say("og:image:alt"))} if image else {},
    }


_CURRENCIES = (
    *("pricecurrency", "currency", "product_currency", "og:price:currency", "product:price:currency"),
    "og:product:price:currency",
)


def page_meta_attributes(properties: MetaProperties, base: str) -> dict[str, Any]:
    """Read what is said of the page that shows a product: it mostly fits the product too."""
    image = resolve_url(
        properties.first_of("og:image", "og:image:url", "twitter:image", "twitter:image:src"), base
    )
    return {
        "description": properties.first_of("og:description", "description", "twitter:description")[
            :MAX_TEXT_CHARS
        ],
        "image_urls": (image,) if image else (),
    }


def product_meta_attributes(properties: MetaProperties) -> dict[str, Any]:
    """Read meta elements beside Open Graph: properties of items without their item, and Twitter's labels."""
    say = properties.first_of
    said: dict[str, Any] = {
        "price": parse_amount(say("price", "product_price", "lowprice")),
        "currency": parse_currency_field(say(*_CURRENCIES)),
        "sku": say("sku", "productid"),
        "gtin": normalize_gtin(say("gtin13", "gtin", "gtin12")),
        "mpn": say("mpn"),
        "brand": say("brand"),
        "availability": map_availability(say("availability")),
    }
    for number in ("1", "2"):
        label, value = say(f"twitter:label{number}").lower(), say(f"twitter:data{number}")
        if label in {"price", "preis", "prix", "precio"}:
            said["price"] = said["price"] or parse_amount(value)
        elif label in {"availability", "brand"}:
            said[label] = said[label] or (map_availability(value) if label == "availability" else value)
    return said

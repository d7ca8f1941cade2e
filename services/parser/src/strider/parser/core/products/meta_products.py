"""Read product attributes from meta elements.

Sources: Open Graph with its prices, itemprops on meta elements, and the labels of Twitter cards.
"""

from __future__ import annotations

from typing import Any, Final

from strider.parser.core.html.metadata import MetaProperties, resolve_url

from .images import ImageMetadata, parse_pixels
from .offers import IMAGE_METADATA, MAX_TEXT_CHARS, map_availability, normalize_gtin, parse_amount
from .prices import parse_currency_field

MAX_OPEN_GRAPH_IMAGES: Final = 50


def open_graph_attributes(properties: MetaProperties, base: str, title: str) -> dict[str, Any]:
    """Return the attributes in Open Graph if it describes a product; `title` is the title of the page."""
    first_of = properties.first_of
    amount = first_of("product:sale_price:amount", "product:price:amount", "og:price:amount")
    if not amount and not first_of("og:type").startswith("product"):
        return {}
    before = first_of("product:original_price:amount", "og:price:standard_amount", "product:price:amount")
    price, old = parse_amount(amount), parse_amount(before)
    images = list(
        dict.fromkeys(
            filter(None, (resolve_url(image_url, base) for image_url in properties.all_values("og:image")))
        )
    )
    image = images[0] if images else ""
    width, height = (parse_pixels(first_of(f"og:image:{side}")) for side in ("width", "height"))
    return {
        "name": title,
        "description": first_of("og:description")[:MAX_TEXT_CHARS],
        "price": price,
        "old_price": old if price and old and float(old) > float(price) else "",
        "currency": parse_currency_field(
            first_of("product:price:currency", "og:price:currency", "product:sale_price:currency")
        ),
        "availability": map_availability(first_of("product:availability", "og:availability")),
        "brand": first_of("product:brand", "og:brand"),
        "category": first_of("product:category"),
        "sku": first_of("product:retailer_item_id", "product:sku"),
        "gtin": normalize_gtin(first_of("product:gtin", "product:ean", "product:upc", "product:isbn")),
        "mpn": first_of("product:mfr_part_no"),
        "condition": first_of("product:condition"),
        "image_urls": tuple(images[:MAX_OPEN_GRAPH_IMAGES]),
        IMAGE_METADATA: {image: ImageMetadata(width, height, first_of("og:image:alt"))} if image else {},
    }


_CURRENCY_PROPERTIES = (
    *("pricecurrency", "currency", "product_currency", "og:price:currency", "product:price:currency"),
    "og:product:price:currency",
)


def page_meta_attributes(properties: MetaProperties, base: str) -> dict[str, Any]:
    """Return attributes of the page, which usually fit its product, too."""
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
    """Return the attributes in meta elements besides Open Graph: itemprops and Twitter labels."""
    first_of = properties.first_of
    attributes: dict[str, Any] = {
        "price": parse_amount(first_of("price", "product_price", "lowprice")),
        "currency": parse_currency_field(first_of(*_CURRENCY_PROPERTIES)),
        "sku": first_of("sku", "productid"),
        "gtin": normalize_gtin(first_of("gtin13", "gtin", "gtin12")),
        "mpn": first_of("mpn"),
        "brand": first_of("brand"),
        "availability": map_availability(first_of("availability")),
    }
    for number in ("1", "2"):
        label, value = first_of(f"twitter:label{number}").lower(), first_of(f"twitter:data{number}")
        if label in {"price", "preis", "prix", "precio"}:
            attributes["price"] = attributes["price"] or parse_amount(value)
        elif label in {"availability", "brand"}:
            attributes[label] = attributes[label] or (
                map_availability(value) if label == "availability" else value
            )
    return attributes

"""What do the meta elements of a page say about its product?

Takes properties by name: Open Graph with its prices, items' properties without their item, Twitter's labels.
"""

from __future__ import annotations

from typing import Any, Final

from .metadata import Properties, resolve
from .offers import IMAGES_TOLD, MAX_TEXT_CHARS, amount_of, as_gtin, state_named
from .pictures import ToldImage, pixels_in
from .prices import as_currency

IMAGES_OF_OPEN_GRAPH: Final = 50


def of_open_graph(properties: Properties, base: str, title: str) -> dict[str, Any]:
    """Read Open Graph, where it speaks of a product; `title` is what names the page, whoever says it."""
    say = properties.say
    amount = say("product:sale_price:amount", "product:price:amount", "og:price:amount")
    if not amount and not say("og:type").startswith("product"):
        return {}
    before = say("product:original_price:amount", "og:price:standard_amount", "product:price:amount")
    price, old = amount_of(amount), amount_of(before)
    images = list(dict.fromkeys(filter(None, (resolve(said, base) for said in properties.all("og:image")))))
    image = images[0] if images else ""
    width, height = (pixels_in(say(f"og:image:{side}")) for side in ("width", "height"))
    return {
        "name": title,
        "description": say("og:description")[:MAX_TEXT_CHARS],
        "price": price,
        "old_price": old if price and old and float(old) > float(price) else "",
        "currency": as_currency(
            say("product:price:currency", "og:price:currency", "product:sale_price:currency")
        ),
        "availability": state_named(say("product:availability", "og:availability")),
        "brand": say("product:brand", "og:brand"),
        "category": say("product:category"),
        "sku": say("product:retailer_item_id", "product:sku"),
        "gtin": as_gtin(say("product:gtin", "product:ean", "product:upc", "product:isbn")),
        "mpn": say("product:mfr_part_no"),
        "condition": say("product:condition"),
        "image_urls": tuple(images[:IMAGES_OF_OPEN_GRAPH]),
        IMAGES_TOLD: {image: ToldImage(width, height, say("og:image:alt"))} if image else {},
    }


_CURRENCIES = (
    *("pricecurrency", "currency", "product_currency", "og:price:currency", "product:price:currency"),
    "og:product:price:currency",
)


def of_page(properties: Properties, base: str) -> dict[str, Any]:
    """Read what is said of the page that shows a product: it mostly fits the product too."""
    image = resolve(properties.say("og:image", "og:image:url", "twitter:image", "twitter:image:src"), base)
    return {
        "description": properties.say("og:description", "description", "twitter:description")[
            :MAX_TEXT_CHARS
        ],
        "image_urls": (image,) if image else (),
    }


def of_metas(properties: Properties) -> dict[str, Any]:
    """Read meta elements beside Open Graph: properties of items without their item, and Twitter's labels."""
    say = properties.say
    said: dict[str, Any] = {
        "price": amount_of(say("price", "product_price", "lowprice")),
        "currency": as_currency(say(*_CURRENCIES)),
        "sku": say("sku", "productid"),
        "gtin": as_gtin(say("gtin13", "gtin", "gtin12")),
        "mpn": say("mpn"),
        "brand": say("brand"),
        "availability": state_named(say("availability")),
    }
    for number in ("1", "2"):
        label, value = say(f"twitter:label{number}").lower(), say(f"twitter:data{number}")
        if label in {"price", "preis", "prix", "precio"}:
            said["price"] = said["price"] or amount_of(value)
        elif label in {"availability", "brand"}:
            said[label] = said[label] or (state_named(value) if label == "availability" else value)
    return said

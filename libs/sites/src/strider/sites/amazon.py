"""Parser of Amazon product pages; also the example of a site parser.

Decides where the attributes of a product are on a page. Prices occur in many boxes of the same markup; the
one that counts is in the box for buying.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Final

from .base import FoundTexts, Select, SiteParser

_ASIN: Final = re.compile(r"/(?:dp|gp/product|gp/aw/d)/([A-Z0-9]{10})(?:[/?]|$)")
_BYLINE: Final = re.compile(
    r"^(?:visit the |brand: |marke: |marque\s?: |marca: |besuche den |visiter la boutique )"
    r"|(?: store|-store)$",
    re.IGNORECASE,
)
_SIZE: Final = re.compile(r"\._[A-Z0-9_,]+_(?=\.)")
_MARKS: Final = str.maketrans("", "", "\u200e\u200f")


class Amazon(SiteParser):
    """Parser of the page of one ASIN."""

    name = "amazon"
    version = "1.0"
    domains = (
        *("amazon.com", "amazon.co.uk", "amazon.de", "amazon.fr", "amazon.it", "amazon.es", "amazon.nl"),
        *("amazon.se", "amazon.pl", "amazon.com.be", "amazon.ca", "amazon.com.mx", "amazon.com.br"),
        *("amazon.co.jp", "amazon.in", "amazon.com.au", "amazon.sg", "amazon.ae", "amazon.sa"),
    )
    paths = r"/(?:dp|gp/product|gp/aw/d)/[A-Z0-9]{10}"
    required = ("name", "sku")
    selectors: ClassVar[Mapping[str, Select]] = {
        "name": Select.text("#productTitle", "#title"),
        "price": Select.text(
            "#corePriceDisplay_desktop_feature_div .priceToPay .a-offscreen",
            "#corePriceDisplay_desktop_feature_div .priceToPay",
            "#corePrice_feature_div .a-price .a-offscreen",
            "#apex_desktop .a-price .a-offscreen",
            "#priceblock_dealprice,#priceblock_ourprice,#price_inside_buybox",
            "#kindle-price,#price",
        ),
        "old_price": Select.text(
            "#corePriceDisplay_desktop_feature_div .basisPrice .a-offscreen",
            "#corePrice_desktop .a-text-price .a-offscreen",
            "#listPrice",
        ),
        "availability": Select.text("#availability", "#outOfStock", "#merchantInfoFeature_feature_div"),
        "can_buy": Select.value("name", "#add-to-cart-button", "#buy-now-button"),
        "rating": Select.value("title", "#acrPopover"),
        "review_count": Select.text("#acrCustomerReviewText"),
        "brand": Select.text("#bylineInfo", "tr.po-brand td.a-span9"),
        "category": Select.all("#wayfinding-breadcrumbs_feature_div li a"),
        "asin": Select.value("value", "input#ASIN", "input[name='ASIN']"),
        "seller": Select.text("#sellerProfileTriggerId", "#merchant-info a"),
        "description": Select.text("#productDescription", "#bookDescription_feature_div"),
        "features": Select.all("#feature-bullets li:not(.aok-hidden) span.a-list-item"),
        "image_urls": Select.all("#landingImage", "#imgBlkFront", attribute="data-old-hires"),
        "landing_images": Select.all("#landingImage", "#imgBlkFront", attribute="src"),
        "small_images": Select.all("#altImages li.imageThumbnail img", attribute="src"),
        "detail_names": Select.all(
            "#productDetails_techSpec_section_1 th", "#detailBullets_feature_div .a-text-bold"
        ),
        "detail_values": Select.all(
            "#productDetails_techSpec_section_1 td",
            "#detailBullets_feature_div .a-text-bold + span",
        ),
    }

    def refine(self, found: FoundTexts, url: str) -> FoundTexts:
        """Normalize the ASIN, the brand, the images and the details."""
        texts_by_name = {name: [_bare(text) for text in texts] for name, texts in found.items()}
        asin = texts_by_name.pop("asin", []) or ([match[1]] if (match := _ASIN.search(url)) else [])
        can_buy = texts_by_name.pop("can_buy", [])
        if can_buy and "availability" not in texts_by_name:
            texts_by_name["availability"] = ["in stock"]
        texts_by_name["brand"] = [_BYLINE.sub("", text) for text in texts_by_name.get("brand", ())]
        further = [texts_by_name.pop(name, []) for name in ("landing_images", "small_images")]
        pictures = [*texts_by_name.get("image_urls", ()), *(url for urls in further for url in urls)]
        texts_by_name["image_urls"] = list(
            dict.fromkeys(_SIZE.sub("", one) for one in pictures if one.startswith("http"))
        )
        names, values = texts_by_name.pop("detail_names", []), texts_by_name.pop("detail_values", [])
        details = {name.strip(" :").lower(): value for name, value in zip(names, values, strict=False)}
        for attribute, name in (("mpn", "item model number"), ("gtin", "isbn-13"), ("gtin", "upc")):
            if name in details:
                texts_by_name.setdefault(attribute, [details[name]])
        texts_by_name["details"] = [f"{name}: {value}" for name, value in details.items()]
        return {"sku": asin, **{name: texts for name, texts in texts_by_name.items() if any(texts)}}


def _bare(text: str) -> str:
    return " ".join(text.translate(_MARKS).split())

"""Offers of shops, in the shapes that they really use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strider.contracts.generated.events import Product
from tests.unit.parser.pages import URL

from .test_extract_products import records


def product(*blocks: Any, body: str = "") -> Product:
    scripts = "".join(f'<script type="application/ld+json">{json.dumps(block)}</script>' for block in blocks)
    return records(scripts + body).products[0]


def with_offers(*offers: Any, **fields: Any) -> Product:
    return product({"@type": "Product", "name": "Anvil", "offers": list(offers), **fields})


EUR = {"@type": "UnitPriceSpecification", "priceCurrency": "EUR"}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(
            {"price": "0.90", "referenceQuantity": {"value": 100, "unitCode": "GRM"}}, id="of-a-measure"
        ),
        pytest.param({"price": "7.00", "validForMemberTier": {"name": "Gold"}}, id="of-members"),
        pytest.param({"price": "5.00", "eligibleQuantity": {"minValue": 100}}, id="of-many"),
    ],
)
def test_a_price_under_a_condition_is_not_the_price(other: dict[str, Any]) -> None:
    """In any position; without another price it is better than none."""
    plain = {**EUR, "price": "9.00"}

    assert with_offers({"priceSpecification": [{**EUR, **other}, plain]}).price == "9.00"
    assert with_offers({"priceSpecification": [plain, {**EUR, **other}]}).price == "9.00"
    assert with_offers({"priceSpecification": {**EUR, **other}}).price == other["price"]


def test_combined_offers_are_in_stock_if_any_is() -> None:
    found = with_offers(
        {
            "@type": "AggregateOffer",
            "lowPrice": 10,
            "highPrice": 20,
            "priceCurrency": "GBP",
            "offers": [
                {"price": 10, "availability": "https://schema.org/OutOfStock"},
                {"price": 20, "availability": "https://schema.org/InStock"},
            ],
        }
    )

    assert (found.price, found.price_low, found.price_high) == ("10", "10", "20")
    assert (found.availability, found.currency) == ("in_stock", "GBP")


def test_of_several_forms_the_one_at_this_address_is_shown() -> None:
    """Shops give each variant its own URL, and list all variants on each of these pages."""
    forms = [
        {"@type": "Product", "name": f"Anvil {at}", "offers": {"price": at, "priceCurrency": "EUR", **extra}}
        for at, extra in (
            (7, {"url": f"{URL}?form=7", "availability": "InStock"}),
            (8, {"url": URL, "availability": "OutOfStock"}),
            (9, {}),
        )
    ]

    found = product({"@type": "ProductGroup", "name": "Anvil", "hasVariant": forms})

    assert (found.price, found.price_low, found.price_high, found.availability) == (
        "8",
        "7",
        "9",
        "out_of_stock",
    )


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param(
            [{"@type": "Offer", "price": 5, "itemOffered": {"@type": "Product", "name": "Anvil"}}],
            id="within",
        ),
        pytest.param(
            [
                {"@type": "Product", "@id": "#p", "name": "Anvil"},
                {"@type": "Offer", "price": 5, "itemOffered": {"@id": "#p"}},
            ],
            id="beside",
        ),
    ],
)
def test_an_offer_may_name_what_it_offers(blocks: list[Any]) -> None:
    assert product(*blocks).price == "5"


@pytest.mark.parametrize(
    ("price", "currency", "amount"),
    [
        ("12.990", "KWD", "12.990"),
        ("1.234", "TND", "1.234"),
        ("1.299", "EUR", "1299"),
        ("1.234,500", "BHD", "1234.500"),
    ],
)
def test_money_with_thousandths(price: str, currency: str, amount: str) -> None:
    assert with_offers({"price": price, "priceCurrency": currency}).price == amount


def test_a_name_may_have_a_language() -> None:
    named = {"@value": "ACME", "@language": "en"}

    assert with_offers(brand={"@type": "Brand", "name": named}).brand == "ACME"
    assert with_offers(brand={"@type": "Brand", "name": [named]}).brand == "ACME"


OPEN_GRAPH = """<meta property="og:type" content="product"><meta property="og:price:amount" content="9.00">
<meta property="og:price:currency" content="EUR"><meta property="og:image" content="/1.jpg">
<meta property="og:image:width" content="10"><meta property="og:image" content="/2.jpg">
<title>Anvil</title>"""


def test_open_graph_has_arrays_and_may_leave_the_name_to_the_title() -> None:
    page = records(OPEN_GRAPH)
    (found,) = page.products

    assert (found.name, found.price, found.currency) == ("Anvil", "9.00", "EUR")
    assert found.image_urls == ("https://site.test/1.jpg", "https://site.test/2.jpg")
    assert json.loads(page.structured_json)[-1]["properties"]["og:image"] == ["/1.jpg", "/2.jpg"]
    assert page.open_graph["og:image"] == "/1.jpg"


@pytest.mark.parametrize(
    "value", ["/brands/acme", "https://site.test/#acme", "../acme", {"@id": "_:b0"}, "?b=1"]
)
def test_an_address_is_not_what_a_thing_is_called(value: Any) -> None:
    """A link as a property has the value of its URL in microdata."""
    found = with_offers({"price": 5, "seller": value}, brand=value, category=[value, "Tools"])

    assert (found.brand, found.category, found.seller) == ("", "Tools", "")

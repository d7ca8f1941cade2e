"""Product data in scripts: as JSON, or within code."""

from __future__ import annotations

from typing import Any

import pytest

from strider.parser.core import ParseLimits
from strider.parser.core.products.script_data import find_script_currency, find_script_product
from tests.processor_cost import assert_cheap
from tests.unit.parser.pages import read

STATE = (
    '{"page": {"product": {"title": "Tea Kettle", "price": {"amount": "12.50", "currencyCode": "EUR"},'
    ' "sku": "TK-1", "available": false, "brand": {"name": "Hearth"}},'
    ' "more": [{"title": "Pot", "price": 3}]}}'
)
CODE = (
    'var x = {a: 1}; track.push({"ecommerce": {"detail": [{"name": "Tea \\u004bettle", "price": 12.5,'
    ' "currency": "EUR"}]}}); render("price");'
)
CENTS = (
    'window.meta = {"product": {"title": "Tea Kettle", "vendor": "Hearth", "price_varies": false,'
    ' "variants": [{"price": 1250, "public_title": null, "sku": "TK-1", "available": true}]}};'
)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(
            STATE,
            {
                "price": "12.50",
                "currency": "EUR",
                "sku": "TK-1",
                "availability": "out_of_stock",
                "brand": "Hearth",
            },
            id="state",
        ),
        pytest.param(CODE, {"price": "12.50", "currency": "EUR"}, id="code"),
        pytest.param(
            CENTS,
            {"price": "12.50", "sku": "TK-1", "availability": "in_stock", "brand": "Hearth"},
            id="cents",
        ),
        pytest.param('{"title": "Pot", "price": 3}', {}, id="another-thing"),
        pytest.param('{"title": "Tea Kettle", "price": 0}', {}, id="no-price"),
        pytest.param('x = {"name": "Tea Kettle", price: 3}', {"price": "3"}, id="bare names"),
    ],
)
def test_the_object_of_the_pages_name_is_read(script: str, expected: dict[str, Any]) -> None:
    found = find_script_product([script], "Tea kettle")

    assert {name: value for name, value in found.items() if value} == (
        {"name": "Tea Kettle", **expected} if expected else {}
    )


def test_scripts_fill_what_the_page_does_not_show() -> None:
    page = read(f"<h1>Tea Kettle</h1><script>{CENTS}</script>", limits=ParseLimits(extraction="records"))
    (product,) = page.products

    assert (product.name, product.price, product.sku) == ("Tea Kettle", "12.50", "TK-1")
    assert set(product.sources.values()) == {"heuristic"}


def test_attributes_known_from_elsewhere_are_not_searched_in_scripts() -> None:
    data = (
        '<script type="application/ld+json">{"@type": "Product", "name": "Tea Kettle", "sku": "A", "offers":'
        '{"price": "9.00", "priceCurrency": "EUR", "availability": "InStock"}}</script>'
    )
    page = read(
        f"{data}<h1>Tea Kettle</h1><script>{CENTS}</script>", limits=ParseLimits(extraction="records")
    )

    assert (page.products[0].price, set(page.products[0].sources.values())) == ("9.00", {"json_ld"})


@pytest.mark.parametrize(
    "script",
    [
        pytest.param('{"name":"Tea Kettle",' * 20_000, id="open-objects"),
        pytest.param("[" * 200_000, id="deep"),
        pytest.param('x={"name": "' + "a" * 300_000, id="open-string"),
        pytest.param("x=" + "{" * 19_000 + '"name":"Tea Kettle"', id="far-away"),
    ],
)
def test_hostile_scripts_are_bounded(script: str) -> None:
    html = f"<h1>Tea Kettle</h1><script>{script} price</script>"

    page = assert_cheap(lambda: read(html, limits=ParseLimits(extraction="records")), yardsticks=240)

    assert (page.outcome, page.products) == ("parsed", ())


def test_data_within_a_string_of_code_is_read() -> None:
    """As sent by frameworks that stream a page piece by piece."""
    state = STATE.replace('"', '\\"') + '\\"' * 20
    found = find_script_product((f'self.__next_f.push([1,"{state}"])',), "Tea Kettle")

    assert (found["price"], found["sku"]) == ("12.50", "TK-1")


def test_missing_attributes_are_taken_from_an_object_of_the_same_name_and_price() -> None:
    scripts = (
        'a({"name": "Tea Kettle", "price": "12.50"})',
        'b({"name": "Tea Kettle", "price": "9.00", "sku": "OTHER-1"})',
        'c({"name": "Tea Kettle", "price": "12.50", "sku": "TK-1", "brand": "Hearth"})',
    )
    found = find_script_product(scripts, "Tea Kettle")

    assert (found["price"], found["sku"], found["brand"]) == ("12.50", "TK-1", "Hearth")


def test_an_identifier_in_a_script_takes_precedence_over_one_on_the_page() -> None:
    page = read(
        "<body class=single-product><h1>Tea Kettle</h1><p class=price>$12.50</p><button>Add to cart</button>"
        '<div class=x data-sku="OTHER-1">With it</div>'
        '<script>c({"name": "Tea Kettle", "price": "12.50", "sku": "TK-1"})</script>',
        limits=ParseLimits(extraction="records"),
    )

    assert page.products[0].sku == "TK-1"


@pytest.mark.parametrize(
    "script",
    [
        'x = {currency: "EUR"}',
        'x = {"currencyCode": "EUR"}',
        'x = {price_currency_code: "EUR"}',
        "x = {'currencyIso': 'EUR'}",
        'Shopify.currency = {"active":"EUR","rate":"1.0"}',
    ],
)
def test_scripts_name_their_currency_in_many_ways(script: str) -> None:
    assert find_script_currency([script]) == "EUR"


def test_a_negative_amount_is_a_placeholder_for_none() -> None:
    script = '{"name": "Tea Kettle", "price": 1250, "compare_at_price": -1, "price_min": 1250, "sku": "A"}'
    found = find_script_product([script], "Tea Kettle")

    assert (found["price"], found["old_price"]) == ("12.50", "")
    assert find_script_product([script.replace("1250", "-1")], "Tea Kettle") == {}

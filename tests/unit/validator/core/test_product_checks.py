"""Missing and impossible values of products."""

from __future__ import annotations

from typing import Any

import pytest

from strider.contracts.generated.events import Product
from strider.validator.core import ValidationRules, validate_page
from strider.validator.core.product_checks import ProductFlaw, product_flaws
from tests.unit.validator.builders import a_page

SHOE: dict[str, Any] = {
    "name": "A shoe",
    "price": "49.90",
    "currency": "EUR",
    "old_price": "79.90",
    "availability": "in_stock",
    "rating": 4.5,
    "review_count": 12,
    "gtin": "4006381333931",
}


def a_product(**fields: Any) -> Product:
    return Product(**{**SHOE, **fields})


@pytest.mark.req("S4.7.2")
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="all-there"),
        pytest.param({"price": "0"}, id="for-nothing"),
        pytest.param({"price": "123456789012.3456", "old_price": ""}, id="dear"),
        pytest.param(
            {"price": "", "old_price": "", "price_low": "10", "price_high": "10.00"}, id="range-of-one-price"
        ),
        pytest.param({"price": "", "currency": "", "availability": "out_of_stock"}, id="sold-out"),
        pytest.param({"price": "", "currency": "", "availability": "unknown"}, id="nothing-known"),
        pytest.param({"rating": -1.0, "review_count": -1, "gtin": ""}, id="unknowns"),
        pytest.param({"rating": 0.0, "review_count": 0}, id="nothing-yet"),
        pytest.param({"gtin": "96385074"}, id="gtin-8"),
        pytest.param({"gtin": "012345678905"}, id="upc"),
        pytest.param({"gtin": "155860832X"}, id="isbn-10"),
    ],
)
def test_possible_products_have_no_flaws(fields: dict[str, Any]) -> None:
    assert product_flaws([a_product(**fields)]) == ()


@pytest.mark.req("S4.7.2")
@pytest.mark.parametrize(
    ("fields", "flaw"),
    [
        pytest.param({"name": " "}, "product_without_name", id="no-name"),
        pytest.param({"price": "", "old_price": ""}, "product_without_price", id="for-sale-at-no-price"),
        pytest.param({"currency": ""}, "product_without_currency", id="no-currency"),
        pytest.param({"price": "49,90"}, "product_bad_price", id="comma"),
        pytest.param({"price": "-1"}, "product_bad_price", id="below-nothing"),
        pytest.param({"price": "007"}, "product_bad_price", id="zeros-before"),
        pytest.param({"price": "1e3"}, "product_bad_price", id="exponent"),
        pytest.param({"price": "\u0664\u0669"}, "product_bad_price", id="digits-of-another-script"),
        pytest.param({"old_price": "was 80"}, "product_bad_price", id="old-price"),
        pytest.param({"currency": "eur"}, "product_bad_currency", id="small-letters"),
        pytest.param({"currency": "€"}, "product_bad_currency", id="sign"),
        pytest.param({"price_low": "20", "price_high": "10"}, "product_bad_price_range", id="range"),
        pytest.param({"old_price": "49.90"}, "product_bad_old_price", id="not-reduced"),
        pytest.param({"old_price": "9.90"}, "product_bad_old_price", id="raised"),
        pytest.param({"rating": 5.1}, "product_bad_rating", id="too-good"),
        pytest.param({"rating": -0.5}, "product_bad_rating", id="below-zero"),
        pytest.param({"review_count": -2}, "product_bad_review_count", id="fewer-than-none"),
        pytest.param({"gtin": "4006381333932"}, "product_bad_gtin", id="wrong-last-digit"),
        pytest.param({"gtin": "40063813"}, "product_bad_gtin", id="cut-off"),
        pytest.param({"gtin": "400638133393"}, "product_bad_gtin", id="short-by-one"),
        pytest.param({"gtin": "40063813339३1"}, "product_bad_gtin", id="other-digits"),
    ],
)
def test_impossible_products_have_flaws(fields: dict[str, Any], flaw: str) -> None:
    assert product_flaws([a_product(), a_product(**fields)]) == (flaw,)


def test_every_flaw_has_its_rule() -> None:
    worst = a_product(
        name="", price="x", old_price="", price_low="2", price_high="1", currency="", rating=9.0, gtin="1"
    )
    others = [
        a_product(currency="€", review_count=-7, old_price="1"),
        a_product(price="", old_price=""),
    ]

    assert set(product_flaws([worst, *others])) == {flaw.value for flaw in ProductFlaw}


def test_a_page_with_a_flawed_product_is_kept_and_doubtful() -> None:
    judgement = validate_page(a_page(products=(a_product(price="49,90"),)), ValidationRules())

    assert (judgement.status, judgement.warnings) == ("doubtful", ("product_bad_price",))
    assert validate_page(a_page(products=(a_product(),)), ValidationRules()).status == "valid"

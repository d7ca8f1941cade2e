"""Whole shop pages of our own making, modelled on many shop systems and languages.

Each page states its expected attributes in its first line. They test recall and precision: attributes that a
page does not have must not be found, and pages of other kinds have no product.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from strider.contracts.generated.events import PageParsed
from strider.parser.core import ParseLimits
from tests.unit.parser.pages import read

FRONTS: Final = sorted((Path(__file__).parent / "shops" / "fronts").glob("*.html"))
ATTRIBUTES: Final = (
    *("name", "price", "old_price", "currency", "availability"),
    *("sku", "gtin", "mpn", "brand", "rating", "review_count"),
)
AMOUNTS: Final = frozenset({"price", "old_price"})


def expectation_of(content: bytes) -> dict[str, Any]:
    expectation: dict[str, Any] = json.loads(content[len("<!--") : content.index(b"-->")])
    return expectation


def product_of(page: PageParsed) -> dict[str, Any]:
    if not page.products:
        return {}
    first = page.products[0]
    found = {name: getattr(first, name) for name in ATTRIBUTES if name in first.sources}
    return {name: float(value) if name in AMOUNTS else value for name, value in found.items()}


@pytest.mark.req("S4.7.3", "S4.12.20", "S4.12.21", "S4.12.22")
@pytest.mark.req("S4.12.19", part="price and currency as the page says them")
@pytest.mark.parametrize("front", FRONTS, ids=lambda front: front.stem)
def test_a_shop_page_has_its_expected_attributes_and_no_others(front: Path) -> None:
    content = front.read_bytes()
    expectation = expectation_of(content)
    page = read(content, url=expectation["url"], limits=ParseLimits(extraction="records"))
    wanted = {name: float(v) if name in AMOUNTS else v for name, v in expectation["expected"].items()}

    assert product_of(page) == {name: value for name, value in wanted.items() if name in ATTRIBUTES}
    assert page.page_kind == expectation["kind"]
    for product in page.products:
        assert set(product.sources) == set(product.confidences)


def test_there_are_shops_of_many_makes_and_pages_that_are_none() -> None:
    expectation = [expectation_of(front.read_bytes()) for front in FRONTS]

    assert sum(bool(one["expected"]) for one in expectation) >= 50
    assert sum(not one["expected"] for one in expectation) >= 20

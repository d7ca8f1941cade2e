"""Whole pages of shops, of our own making, in the make of many shop systems, languages and hands.

Each page says in its first line what it is expected to say. They are for recall and precision alike: what a
page does not say, nobody must find; and what is no product's page has no product.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from strider.contracts.generated.events import PageParsed
from strider.parser.core import Limits

from .pages import read

FRONTS: Final = sorted((Path(__file__).parent / "shops" / "fronts").glob("*.html"))
ATTRIBUTES: Final = (
    *("name", "price", "old_price", "currency", "availability"),
    *("sku", "gtin", "mpn", "brand", "rating", "review_count"),
)
AMOUNTS: Final = frozenset({"price", "old_price"})


def told_of(content: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(content[len("<!--") : content.index(b"-->")])
    return told


def product_of(page: PageParsed) -> dict[str, Any]:
    if not page.products:
        return {}
    first = page.products[0]
    found = {name: getattr(first, name) for name in ATTRIBUTES if name in first.sources}
    return {name: float(value) if name in AMOUNTS else value for name, value in found.items()}


@pytest.mark.req("S4.12.18", "S4.12.20", "S4.12.21", "S4.12.22", "S4.7.3")
@pytest.mark.req("S4.12.19", part="price and currency as the page says them")
@pytest.mark.parametrize("front", FRONTS, ids=lambda front: front.stem)
def test_a_front_is_read_for_what_it_says_and_no_more(front: Path) -> None:
    content = front.read_bytes()
    told = told_of(content)
    page = read(content, url=told["url"], limits=Limits(extraction="records"))
    wanted = {name: float(v) if name in AMOUNTS else v for name, v in told["expected"].items()}

    assert product_of(page) == {name: value for name, value in wanted.items() if name in ATTRIBUTES}
    assert page.page_kind == told["kind"]
    for product in page.products:
        assert set(product.sources) == set(product.confidences)


def test_there_are_shops_of_many_makes_and_pages_that_are_none() -> None:
    told = [told_of(front.read_bytes()) for front in FRONTS]

    assert sum(bool(one["expected"]) for one in told) >= 50
    assert sum(not one["expected"] for one in told) >= 20

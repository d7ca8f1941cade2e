"""Rows of the products of a page, and their keys."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from strider.contracts.generated.events import Product
from strider.indexer.core import product_rows
from tests.unit.indexer.events import URL, a_page, key


def offered(*products: Product, **page: Any) -> list[tuple[str, str, bool]]:
    """Return key, URL and ownership of each row."""
    rows = product_rows(a_page(products=products, **page))
    return [(row.url_hash, row.url, row.is_own_page) for row in rows]


def test_a_product_without_a_url_is_at_its_page() -> None:
    assert offered(Product("A lamp")) == [(key(), URL, True)]


def test_a_list_points_to_pages_of_others() -> None:
    """Keys are built from the normal form of a URL."""
    far = "https://www.example.org/lamp/?utm_source=list"

    assert offered(Product("A lamp", url=far)) == [(key("https://www.example.org/lamp"), far, False)]


def test_a_page_is_the_products_own_where_both_have_one_url() -> None:
    shop = "https://www.example.org/lamp"

    assert offered(Product("A lamp", url=shop), canonical_url=shop) == [(key(shop), shop, True)]


def test_what_is_no_url_is_at_the_page() -> None:
    assert offered(Product("A lamp", url="http://[")) == [(key(), URL, True)]


def test_several_at_one_url_are_all_kept() -> None:
    """By SKU or GTIN where they differ in it, because their order may change."""
    red, blue = Product("Red", sku="r"), Product("Blue", sku="b")
    others = [Product("Green", sku="b"), Product("Grey"), Product("Number", sku="number 4"), Product("None")]

    names = [name for name, _, _ in offered(red, blue, *others)]
    again = [name for name, _, _ in offered(red, Product("New", gtin="1"), blue)]

    assert names[0] == key()
    assert len(set(names)) == 6
    assert again[2] == names[1]


@pytest.mark.parametrize(
    ("text", "price"),
    [
        pytest.param("1234.56", Decimal("1234.56"), id="price"),
        pytest.param("0", Decimal(0), id="nothing"),
        pytest.param("", None, id="unknown"),
        pytest.param("free", None, id="word"),
        pytest.param("NaN", None, id="nan"),
        pytest.param("Infinity", None, id="infinity"),
        pytest.param("1e999999", None, id="huge"),
        pytest.param("9" * 5000, None, id="long"),
    ],
)
def test_what_is_no_number_is_unknown(text: str, price: Decimal | None) -> None:
    (row,) = product_rows(a_page(products=(Product("A lamp", price=text),)))

    assert row.price == price


def test_unknown_figures_are_null_and_pictures_are_complete() -> None:
    lamp = Product(
        "A lamp",
        image_urls=("https://i.example.org/1.jpg",),
        image_kinds=("primary",),
        image_alts=("Grüße",),
        image_positions=(0,),
        image_widths=(640,),
        image_heights=(480,),
        image_bytes=(0,),
        sources={"name": "json_ld"},
        confidences={"name": 0.9},
        extra={"color": "red"},
    )

    (row,) = product_rows(a_page(products=(lamp,)))

    assert (row.rating, row.review_count) == (None, None)
    assert json.loads(row.images) == [
        {
            "url": "https://i.example.org/1.jpg",
            "kind": "primary",
            "alt": "Grüße",
            "position": 0,
            "width": 640,
            "height": 480,
            "bytes": 0,
        }
    ]
    told = [json.loads(text) for text in (row.sources, row.confidences, row.metadata)]
    assert told == [{"name": "json_ld"}, {"name": 0.9}, {"color": "red"}]

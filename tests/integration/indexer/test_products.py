"""Products in their table: replacement, and deletion with their page."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from strider.contracts.generated.events import Product
from strider.indexer.adapters import PostgresTables
from strider.indexer.core import RowChanges, product_rows, removal_row, to_datetime
from strider.storage.postgres import Postgres
from tests.unit.indexer.events import FETCHED_AT_MS, a_page, a_parsed

LIST = "https://shop.example.org/lamps"
SHOP = "https://shop.example.org/lamp"
LAMP = Product(
    "A lamp \x00",
    price="19.99",
    currency="EUR",
    availability="in_stock",
    rating=4.5,
    review_count=3,
    brand="Lux",
    sku="l1",
    category="Lamps",
    description="It gives light.",
    content_hash="h1",
    image_urls=("https://i.example.org/1.jpg", "https://i.example.org/2.jpg"),
    image_kinds=("primary", "gallery"),
    image_alts=("front", ""),
    image_positions=(0, 1),
    image_widths=(640, 0),
    image_heights=(480, 0),
    image_bytes=(0, 0),
    extra={"color": "red"},
)


@pytest.fixture
def tables(postgres: Postgres) -> PostgresTables:
    return PostgresTables(postgres)


def offers(url: str, *products: Product, seconds: int = 0, **page: Any) -> RowChanges:
    fetched_at_ms = FETCHED_AT_MS + 1000 * seconds
    event = a_page(url, products=products, fetched_at_ms=fetched_at_ms, **page)
    return RowChanges(products=product_rows(event))


async def rows(postgres: Postgres, columns: str, table: str = "products") -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await postgres.fetch(f"SELECT {columns} FROM {table} ORDER BY 1")]


@pytest.mark.req("S4.12.18", "S4.12.20", "S4.12.21", "S4.12.22", "S4.12.23")
@pytest.mark.req("S4.12.17", part="url and domain of a product")
@pytest.mark.req("S4.12.19", part="price is stored as a decimal, with its currency")
async def test_a_product_stands_in_its_columns(tables: PostgresTables, postgres: Postgres) -> None:
    await tables.write(offers(SHOP, LAMP))

    columns = "product_name, price, currency, availability, rating, review_count, brand, sku, content_hash"
    assert await rows(postgres, columns) == [
        ("A lamp \N{REPLACEMENT CHARACTER}", Decimal("19.99"), "EUR", "in_stock", 4.5, 3, "Lux", "l1", "h1")
    ]
    assert await rows(postgres, "category, description") == [("Lamps", "It gives light.")]
    where = "url, host, domain, page_url, execution_id, metadata->>'color'"
    assert await rows(postgres, where) == [(SHOP, "shop.example.org", "example.org", SHOP, "run-1", "red")]


@pytest.mark.req("S4.12.27")
@pytest.mark.req("S4.12.26", part="image URL and alternative text are rows of a view")
@pytest.mark.req("S4.12.28", part="width and height; a file size is never known")
@pytest.mark.req("S4.13.2", part="a product has several images")
async def test_pictures_are_rows_of_a_view(tables: PostgresTables, postgres: Postgres) -> None:
    await tables.write(offers(SHOP, LAMP))

    found = await rows(postgres, "position, image_url, image_type, alt_text, width, height", "product_images")
    assert found == [
        (0, "https://i.example.org/1.jpg", "primary", "front", 640, 480),
        (1, "https://i.example.org/2.jpg", "gallery", "", 0, 0),
    ]


@pytest.mark.req("S4.12.24", "S4.14.7")
async def test_what_was_first_and_when_it_changed_is_kept(tables: PostgresTables, postgres: Postgres) -> None:
    """The second fetch finds the same price, the third another one."""
    await tables.write(offers(SHOP, LAMP))
    await tables.write(offers(SHOP, LAMP, seconds=10, fetch_sequence=2))
    first = to_datetime(FETCHED_AT_MS)
    moments = "created_at, updated_at, crawled_at"
    assert await rows(postgres, moments) == [(first, first, first + timedelta(seconds=10))]

    dear = replace(LAMP, price="29.99", content_hash="h2")
    await tables.write(offers(SHOP, dear, seconds=20, fetch_sequence=3))

    third = first + timedelta(seconds=20)
    assert await rows(postgres, f"{moments}, price") == [(first, third, third, Decimal("29.99"))]


async def test_visits_in_one_batch_leave_the_times_of_visits_in_several(
    tables: PostgresTables, postgres: Postgres
) -> None:
    """As when a topic is replayed: the first visit made the product, the third one changed it."""
    dear = replace(LAMP, price="29.99", content_hash="h2")
    visits = [
        offers(SHOP, product, seconds=10 * number, fetch_sequence=number)
        for number, product in enumerate((LAMP, LAMP, dear, dear))
    ]

    await tables.write(RowChanges(products=[row for each in visits for row in each.products]))

    first = to_datetime(FETCHED_AT_MS)
    moments = (first, first + timedelta(seconds=20), first + timedelta(seconds=30))
    assert await rows(postgres, "created_at, updated_at, crawled_at") == [moments]


async def test_an_older_visit_changes_nothing_nor_does_the_same_again(
    tables: PostgresTables, postgres: Postgres
) -> None:
    old = replace(LAMP, price="1.00", content_hash="h0")

    await tables.write(offers(SHOP, LAMP, seconds=10))
    await tables.write(offers(SHOP, old))
    await tables.write(offers(SHOP, LAMP, seconds=10))

    assert await rows(postgres, "price") == [(Decimal("19.99"),)]


@pytest.mark.req("S4.7.7", part="one row for a product's URL in a job")
@pytest.mark.parametrize("own_first", [True, False], ids=["own page first", "list first"])
async def test_a_products_own_page_wins_over_a_list(
    tables: PostgresTables, postgres: Postgres, own_first: bool
) -> None:
    """In any order, in one batch or in several."""
    listed = offers(LIST, Product("lamp!", url=SHOP, content_hash="h9"), seconds=5)
    own = offers(SHOP, LAMP)
    for changes in (own, listed) if own_first else (listed, own):
        await tables.write(changes)
    await tables.write(RowChanges(products=[*own.products, *listed.products]))

    assert await rows(postgres, "price, page_url, is_own_page") == [(Decimal("19.99"), SHOP, True)]


@pytest.mark.req("S4.7.7", part="a picture goes with its product")
async def test_a_page_with_noindex_removes_its_products(tables: PostgresTables, postgres: Postgres) -> None:
    """Only products of this page, in this job, by this fetch or an earlier one."""
    await tables.write(offers(SHOP, LAMP))
    await tables.write(offers(SHOP, LAMP, job_id="other"))
    await tables.write(offers(LIST, Product("A bulb", url=f"{LIST}/bulb")))

    await tables.write(RowChanges(removals=[removal_row(a_parsed(SHOP, fetch_sequence=2))]))

    assert await rows(postgres, "job_id, page_url") == [("adhoc", LIST), ("other", SHOP)]
    pictures = await rows(postgres, "DISTINCT job_id, product_url_hash", "product_images")
    assert [job for job, _ in pictures] == ["other"], "a picture goes with its product"


@pytest.mark.req("S4.4.1", part="indexes of products")
@pytest.mark.req("S4.4.4", part="of products: domain, price and availability")
@pytest.mark.req("S4.12.25", part="six of the eight: none on name or on creation")
async def test_there_is_an_index_for_each_question(postgres: Postgres) -> None:
    """One column for the key too."""
    found = await rows(postgres, "indexname", "pg_indexes WHERE tablename = 'products'")

    about = {name.removeprefix("products_by_") for (name,) in found}
    questions = {"page", "domain", "change", "price", "availability", "brand", "category", "sku", "gtin"}
    assert about == questions | {"products_pkey"}


async def test_long_words_do_not_stop_a_row(tables: PostgresTables, postgres: Postgres) -> None:
    """An index entry holds 2.7 KB; the text of a page is untrusted."""
    long = "".join(chr(0x4E00 + n) for n in range(3000))

    await tables.write(offers(SHOP, replace(LAMP, brand=long, category=long, sku=long, gtin="1" * 100)))

    assert await rows(postgres, "length(brand)") == [(3000,)]

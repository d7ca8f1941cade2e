"""Rows of the products of a page.

The key of a product is its URL: its own where the page has one, else the page's. A product whose URL is used
by another product of the page gets a derived key, so that none is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from strider.contracts.generated.events import PageParsed, PageValidated
from strider.storage.rows.columns import row_builder
from strider.urls import RefusedUrl, url_hash, url_key_of_text

from .product_row import ProductRow

_build_row: Final = row_builder(ProductRow, "product", "page", "verdict", "key", "url", "is_own_page")


def product_rows(validated: PageValidated) -> list[ProductRow]:
    """Return the rows of all products of a page."""
    page = validated.page
    return [
        _build_row(product, page, validated.verdict, *key)
        for product, key in zip(page.products, _product_keys(page), strict=True)
    ]


def _product_keys(page: PageParsed) -> Iterator[tuple[str, str, bool]]:
    """Yield key and URL of each product, and whether the page is its own."""
    own = {page.url_key, _url_key(page.canonical_url)}
    met: set[str] = set()
    for number, product in enumerate(page.products):
        name = _url_key(product.url)
        url = product.url if name else page.url
        name = name or page.url_key
        is_own = name in own
        marks = [f"{what} {value}" for what, value in (("sku", product.sku), ("gtin", product.gtin)) if value]
        marks.append(f"number {number}")  # unique within the page
        names = (name, *(_derived_key(name, mark) for mark in marks))
        name = next(each for each in names if each not in met)
        met.add(name)
        yield name, url, is_own


def _derived_key(name: str, mark: str) -> str:
    return sha256(f"{name}#{mark}".encode(errors="replace")).hexdigest()


def _url_key(url: str) -> str:
    """Return the key of a URL; empty for an invalid one."""
    normal = url_key_of_text(url) if url else ""
    return "" if not normal or isinstance(normal, RefusedUrl) else url_hash(normal)

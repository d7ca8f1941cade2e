"""Which rows do the products of a page become?

A product is known by its URL: its own where the page gives one, else the page's. What stands at a URL
that others of the page have as well gets a key of its own, so that nothing which a page offers is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from typing import Final

from strider.contracts.generated.events import PageParsed, PageValidated, Product
from strider.urls import RefusedUrl, url_hash, url_key_of_text

from .column_values import moment_of, place_of
from .pages import as_json
from .row_models import ProductRow

MAX_PRICE_CHARACTERS: Final = 40
"""Longer numbers are no prices, and the database has an end somewhere."""


def product_rows(validated: PageValidated) -> list[ProductRow]:
    """Make the rows of everything that a page offers."""
    page = validated.page
    return [
        _row(validated, product, name=name, url=url, is_own_page=is_own)
        for product, (name, url, is_own) in zip(page.products, _named(page), strict=True)
    ]


def _named(page: PageParsed) -> Iterator[tuple[str, str, bool]]:
    """Give key and URL of each product, and whether the page is its own."""
    own = {page.url_key, _url_key(page.canonical_url)}
    met: set[str] = set()
    for number, product in enumerate(page.products):
        name = _url_key(product.url)
        url = product.url if name else page.url
        name = name or page.url_key
        is_own = name in own
        marks = [f"{what} {value}" for what, value in (("sku", product.sku), ("gtin", product.gtin)) if value]
        marks.append(f"number {number}")  # nobody else's
        names = (name, *(_beside(name, mark) for mark in marks))
        name = next(each for each in names if each not in met)
        met.add(name)
        yield name, url, is_own


def _beside(name: str, mark: str) -> str:
    return sha256(f"{name}#{mark}".encode(errors="replace")).hexdigest()


def _url_key(url: str) -> str:
    """Give the key of a URL; empty for what is none."""
    normal = url_key_of_text(url) if url else ""
    return "" if not normal or isinstance(normal, RefusedUrl) else url_hash(normal)


def _row(validated: PageValidated, product: Product, *, name: str, url: str, is_own_page: bool) -> ProductRow:
    page = validated.page
    host, domain = place_of(url)
    crawled_at = moment_of(page.fetched_at_ms)
    return ProductRow(
        url_hash=name,
        job_id=page.job_id,
        is_own_page=is_own_page,
        crawled_at=crawled_at,
        url=url,
        host=host,
        domain=domain,
        page_key=page.url_key,
        page_url=page.url,
        execution_id=page.execution_id,
        fetch_sequence=page.fetch_sequence,
        product_name=product.name,
        description=product.description,
        price=_decimal(product.price),
        currency=product.currency,
        old_price=_decimal(product.old_price),
        price_low=_decimal(product.price_low),
        price_high=_decimal(product.price_high),
        availability=product.availability,
        rating=product.rating if product.rating >= 0 else None,
        review_count=product.review_count if product.review_count >= 0 else None,
        brand=product.brand,
        category=product.category,
        sku=product.sku,
        gtin=product.gtin,
        mpn=product.mpn,
        condition=product.condition,
        seller=product.seller,
        images=_images_json(product),
        sources=as_json(product.sources),
        confidences=as_json(product.confidences),
        metadata=as_json(product.extra),
        validation_status=validated.verdict.validation_status,
        parser=page.parser,
        parser_version=page.parser_version,
        content_hash=product.content_hash,
        created_at=crawled_at,
        updated_at=crawled_at,
    )


def _decimal(text: str) -> Decimal | None:
    """Read a number; what is none is unknown."""
    if not text or len(text) > MAX_PRICE_CHARACTERS:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) <= MAX_PRICE_CHARACTERS else None


def _images_json(product: Product) -> str:
    columns = (
        product.image_urls,
        product.image_kinds,
        product.image_alts,
        product.image_positions,
        product.image_widths,
        product.image_heights,
        product.image_bytes,
    )
    names = ("url", "kind", "alt", "position", "width", "height", "bytes")
    images = [dict(zip(names, image, strict=True)) for image in zip(*columns, strict=False)]
    return as_json(images)

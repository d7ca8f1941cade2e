"""Rows of the products of a page.

The key of a product is its URL: its own where the page has one, else the page's. A product whose URL is used
by another product of the page gets a derived key, so that none is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from typing import Final

from strider.contracts.generated.events import PageParsed, PageValidated, Product
from strider.urls import RefusedUrl, url_hash, url_key_of_text

from .column_values import host_and_domain, to_datetime
from .pages import to_json
from .row_models import ProductRow

MAX_PRICE_CHARACTERS: Final = 40
"""Longer numbers are not prices, and the database has a limit."""


def product_rows(validated: PageValidated) -> list[ProductRow]:
    """Return the rows of all products of a page."""
    page = validated.page
    return [
        _product_row(validated, product, name=name, url=url, is_own_page=is_own)
        for product, (name, url, is_own) in zip(page.products, _product_keys(page), strict=True)
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


def _product_row(
    validated: PageValidated, product: Product, *, name: str, url: str, is_own_page: bool
) -> ProductRow:
    page = validated.page
    host, domain = host_and_domain(url)
    crawled_at = to_datetime(page.fetched_at_ms)
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
        price=_parse_decimal(product.price),
        currency=product.currency,
        old_price=_parse_decimal(product.old_price),
        price_low=_parse_decimal(product.price_low),
        price_high=_parse_decimal(product.price_high),
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
        sources=to_json(product.sources),
        confidences=to_json(product.confidences),
        metadata=to_json(product.extra),
        validation_status=validated.verdict.validation_status,
        parser=page.parser,
        parser_version=page.parser_version,
        content_hash=product.content_hash,
        created_at=crawled_at,
        updated_at=crawled_at,
    )


def _parse_decimal(text: str) -> Decimal | None:
    """Return a decimal number; None for an invalid one."""
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
    return to_json(images)

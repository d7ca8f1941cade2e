"""The columns of `products`: where each value of a product's row comes from."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Final, NamedTuple

from strider.storage.rows.columns import Column
from strider.storage.rows.values import host_and_domain, to_datetime, to_json

MAX_PRICE_CHARACTERS: Final = 40
"""Longer numbers are not prices, and the database has a limit."""

_IMAGE_FIELDS: Final = ("url", "kind", "alt", "position", "width", "height", "bytes")
_IMAGE_SOURCES: Final = (
    "product.image_urls",
    "product.image_kinds",
    "product.image_alts",
    "product.image_positions",
    "product.image_widths",
    "product.image_heights",
    "product.image_bytes",
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


def _none_if_negative(number: float) -> float | None:
    """Return a number; None for a negative one, which stands for an unknown value."""
    return number if number >= 0 else None


def _images_json(*columns: Any) -> str:
    """Return parallel arrays as a JSON array of objects."""
    return to_json([dict(zip(_IMAGE_FIELDS, image, strict=True)) for image in zip(*columns, strict=False)])


class ProductRow(NamedTuple):
    """A product as a page offers it. Sorted in this order; of rows with the same key the last one stays."""

    url_hash: Annotated[str, Column("key")]
    job_id: Annotated[str, Column("page.job_id")]
    is_own_page: Annotated[bool, Column("is_own_page")]
    crawled_at: Annotated[datetime, Column("page.fetched_at_ms", to_datetime)]
    url: Annotated[str, Column("url")]
    host: Annotated[str, Column("url", host_and_domain, part=0)]
    domain: Annotated[str, Column("url", host_and_domain, part=1)]
    page_key: Annotated[str, Column("page.url_key")]
    page_url: Annotated[str, Column("page.url")]
    execution_id: Annotated[str, Column("page.execution_id")]
    fetch_sequence: Annotated[int, Column("page.fetch_sequence")]
    product_name: Annotated[str, Column("product.name")]
    description: str
    price: Annotated[Decimal | None, Column((), _parse_decimal)]
    currency: str
    old_price: Annotated[Decimal | None, Column((), _parse_decimal)]
    price_low: Annotated[Decimal | None, Column((), _parse_decimal)]
    price_high: Annotated[Decimal | None, Column((), _parse_decimal)]
    availability: str
    rating: Annotated[float | None, Column((), _none_if_negative)]
    review_count: Annotated[int | None, Column((), _none_if_negative)]
    brand: str
    category: str
    sku: str
    gtin: str
    mpn: str
    condition: str
    seller: str
    images: Annotated[str, Column(_IMAGE_SOURCES, _images_json, json=list[dict[str, Any]])]
    sources: Annotated[str, Column((), to_json, json=dict[str, str])]
    confidences: Annotated[str, Column((), to_json, json=dict[str, float])]
    metadata: Annotated[str, Column("product.extra", to_json, json=dict[str, str])]
    validation_status: Annotated[str, Column("verdict.validation_status")]
    parser: Annotated[str, Column("page.parser")]
    parser_version: Annotated[str, Column("page.parser_version")]
    content_hash: str
    created_at: Annotated[datetime, Column("page.fetched_at_ms", to_datetime)]
    updated_at: Annotated[datetime, Column("page.fetched_at_ms", to_datetime)]

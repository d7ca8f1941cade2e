"""Rows of validated pages: to insert, to update as unchanged, to delete.

A page becomes a row; an unchanged page updates its row; a page with noindex deletes its row. Fetch sequences
order the fetches of a page when rows are written.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.events import PageParsed, PageValidated
from strider.storage.rows.columns import row_builder
from strider.storage.rows.pages import PageRow
from strider.storage.rows.values import to_datetime, to_rounded_milliseconds

from .row_models import RemovalRow, TouchRow

_build_row: Final = row_builder(PageRow, "page", "verdict", "stored_text")


def page_row(validated: PageValidated, text: str) -> PageRow:
    """Return the row of a page; `text` is the text to store."""
    return _build_row(validated.page, validated.verdict, text)


def touch_row(validated: PageValidated) -> TouchRow:
    """Return what an unchanged page updates in its row."""
    page = validated.page
    return TouchRow(
        url_key=page.url_key,
        job_id=page.job_id,
        fetch_sequence=page.fetch_sequence,
        execution_id=page.execution_id,
        crawl_spec_id=page.crawl_spec_id,
        etag=page.etag,
        last_modified=page.last_modified,
        crawl_duration_ms=to_rounded_milliseconds(page.total_us),
        crawled_at=to_datetime(page.fetched_at_ms),
        validated_at=to_datetime(validated.verdict.validated_at_ms),
    )


def removal_row(page: PageParsed) -> RemovalRow:
    """Return the key of the row that a page with noindex deletes."""
    return RemovalRow(page.url_key, page.job_id, page.fetch_sequence)

"""Rows of validated pages: to insert, to update as unchanged, to delete.

A page becomes a row; an unchanged page updates its row; a page with noindex deletes its row. Fetch sequences
order the fetches of a page when rows are written.
"""

from __future__ import annotations

import json

from strider.contracts.generated.events import PageParsed, PageValidated

from .column_values import host_and_domain, to_datetime
from .row_models import PageRow, RemovalRow, TouchRow


def page_row(validated: PageValidated, text: str) -> PageRow:
    """Return the row of a page; `text` is the text to store. As long as the table is wide."""
    page, verdict = validated.page, validated.verdict
    host, domain = host_and_domain(page.url)
    crawled_at = to_datetime(page.fetched_at_ms)
    return PageRow(
        url_key=page.url_key,
        job_id=page.job_id,
        url=page.url,
        host=host,
        domain=domain,
        execution_id=page.execution_id,
        crawl_spec_id=page.crawl_spec_id,
        fetch_sequence=page.fetch_sequence,
        status_code=page.status,
        content_type=page.content_type,
        content_length=page.body_bytes,
        decoded_length=page.decoded_bytes,
        content_hash=page.text_hash,
        raw_hash=page.raw_hash,
        depth=page.depth,
        referrer=page.referrer,
        redirect_chain=to_json(page.redirect_chain),
        title=page.title,
        description=page.description,
        canonical_url=page.canonical_url,
        language=page.language,
        author=page.author,
        published_at=page.published_at,
        page_kind=page.page_kind,
        document_kind=page.document_kind,
        text=text,
        text_length=page.main_text_chars or page.text_chars,
        word_count=page.word_count,
        links_count=page.links_found,
        validation_status=verdict.validation_status,
        quality=verdict.quality,
        warnings=to_json(verdict.warnings),
        parse_outcome=page.outcome,
        parser=page.parser,
        parser_version=page.parser_version,
        error_message=_error_message(page),
        truncated=page.truncated,
        rendered=page.rendered,
        etag=page.etag,
        last_modified=page.last_modified,
        body_object=page.body_object,
        metadata=to_json(page.metadata),
        crawl_duration_ms=round(page.total_us / 1000),
        parse_duration_ms=page.parse_us / 1000,
        crawled_at=crawled_at,
        validated_at=to_datetime(verdict.validated_at_ms),
        first_crawled_at=crawled_at,
        changed_at=crawled_at,
    )


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
        crawl_duration_ms=round(page.total_us / 1000),
        crawled_at=to_datetime(page.fetched_at_ms),
        validated_at=to_datetime(validated.verdict.validated_at_ms),
    )


def removal_row(page: PageParsed) -> RemovalRow:
    """Return the key of the row that a page with noindex deletes."""
    return RemovalRow(page.url_key, page.job_id, page.fetch_sequence)


def _error_message(page: PageParsed) -> str:
    return ": ".join(part for part in (page.error_class, page.error_message) if part)


def to_json(value: object) -> str:
    """Return JSON; most values are empty, and share one text."""
    return json.dumps(value, ensure_ascii=False) if value else ("{}" if isinstance(value, dict) else "[]")

"""The columns of `crawled_pages`, for indexer, API and `strider crawl`.

A field of the parsed page becomes a column by a line in `PageRow` and a migration. The recipe is in
docs/adding-a-page-field.md.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, NamedTuple

from .columns import ApiView, Column, columns_of
from .values import (
    first_nonzero,
    host_and_domain,
    join_error,
    to_datetime,
    to_json,
    to_milliseconds,
    to_rounded_milliseconds,
)

LIST: Final = ApiView.LIST


class PageRow(NamedTuple):
    """A page as one fetch found it."""

    url_key: Annotated[str, Column(api=LIST)]
    job_id: Annotated[str, Column(api=LIST)]
    url: Annotated[str, Column(api=LIST)]
    host: Annotated[str, Column("page.url", host_and_domain, LIST, part=0)]
    domain: Annotated[str, Column("page.url", host_and_domain, LIST, part=1)]
    execution_id: Annotated[str, Column(api=LIST)]
    crawl_spec_id: Annotated[str, Column(api=LIST)]
    fetch_sequence: Annotated[int, Column(api=LIST)]
    status_code: Annotated[int, Column("page.status", api=LIST)]
    content_type: Annotated[str, Column(api=LIST)]
    content_length: Annotated[int, Column("page.body_bytes", api=LIST)]
    decoded_length: Annotated[int, Column("page.decoded_bytes")]
    content_hash: Annotated[str, Column("page.text_hash", api=LIST)]
    raw_hash: Annotated[str, Column(api=LIST)]
    depth: Annotated[int, Column(api=LIST)]
    referrer: Annotated[str, Column(api=LIST)]
    redirect_chain: Annotated[str, Column((), to_json, LIST, json=list[str])]
    title: Annotated[str, Column(api=LIST)]
    description: Annotated[str, Column(api=LIST)]
    canonical_url: Annotated[str, Column(api=LIST)]
    language: Annotated[str, Column(api=LIST)]
    author: Annotated[str, Column(api=LIST)]
    published_at: Annotated[str, Column(api=LIST)]
    page_kind: Annotated[str, Column(api=LIST)]
    document_kind: Annotated[str, Column(api=LIST)]
    text: Annotated[str, Column("stored_text", api=ApiView.DETAIL)]
    text_length: Annotated[int, Column(("page.main_text_chars", "page.text_chars"), first_nonzero, LIST)]
    word_count: Annotated[int, Column(api=LIST)]
    links_count: Annotated[int, Column("page.links_found", api=LIST)]
    validation_status: Annotated[str, Column("verdict.validation_status", api=LIST)]
    quality: Annotated[float, Column("verdict.quality")]
    warnings: Annotated[str, Column("verdict.warnings", to_json, LIST, json=list[str])]
    parse_outcome: Annotated[str, Column("page.outcome")]
    parser: Annotated[str, Column()]
    parser_version: Annotated[str, Column(api=LIST)]
    error_message: Annotated[str, Column(("page.error_class", "page.error_message"), join_error, LIST)]
    truncated: Annotated[bool, Column(api=LIST)]
    rendered: Annotated[bool, Column()]
    etag: Annotated[str, Column()]
    last_modified: Annotated[str, Column()]
    body_object: Annotated[str, Column()]
    metadata: Annotated[str, Column((), to_json, LIST, json=dict[str, str])]
    crawl_duration_ms: Annotated[int, Column("page.total_us", to_rounded_milliseconds, LIST)]
    parse_duration_ms: Annotated[float, Column("page.parse_us", to_milliseconds)]
    crawled_at: Annotated[datetime, Column("page.fetched_at_ms", to_datetime, LIST)]
    validated_at: Annotated[datetime, Column("verdict.validated_at_ms", to_datetime)]
    first_crawled_at: Annotated[datetime, Column("page.fetched_at_ms", to_datetime, LIST)]
    changed_at: Annotated[datetime, Column("page.fetched_at_ms", to_datetime, LIST)]


PAGE_COLUMNS: Final = columns_of(PageRow)
"""The columns of a page; `stored_text` is the text that the indexer chose and clipped."""

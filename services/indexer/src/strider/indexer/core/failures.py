"""Rows of failed requests.

A request that brought a page, or a response that redirects, is not a failure. Whether a failed request is
retried is decided elsewhere.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.enums import FetchOutcome, RequestKind
from strider.contracts.generated.events import FetchCompleted
from strider.storage.rows.values import MAX_URL_CHARACTERS, clip, host_and_domain, to_datetime

from .row_models import FailureRow

MAX_MESSAGE_CHARACTERS: Final = 1000

NOT_FAILURES: Final = frozenset({FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED, FetchOutcome.REDIRECTED})
"""Outcomes that are not failures."""


def failure_row(completed: FetchCompleted) -> FailureRow | None:
    """Return the row of a failed request; None for one that did not fail."""
    if completed.outcome in NOT_FAILURES or _is_missing_robots(completed):
        return None
    host, domain = host_and_domain(completed.url)
    return FailureRow(
        url_key=completed.url_key,
        job_id=completed.job_id,
        fetch_sequence=completed.fetch_sequence,
        url=clip(completed.url, MAX_URL_CHARACTERS),
        host=host,
        domain=domain,
        execution_id=completed.execution_id,
        kind=completed.kind,
        outcome=completed.outcome,
        error_class=completed.error_class,
        error_category=completed.error_category,
        error_message=clip(completed.error_message, MAX_MESSAGE_CHARACTERS),
        status_code=completed.status,
        try_number=completed.try_number,
        retry_after_seconds=completed.retry_after_seconds,
        duration_ms=round(completed.total_us / 1000),
        remote_address=completed.remote_address,
        worker_id=completed.worker_id,
        failed_at=to_datetime(completed.completed_at_ms),
    )


def _is_missing_robots(completed: FetchCompleted) -> bool:
    """Whether it is a missing robots.txt, as on most sites: a valid answer by RFC 9309."""
    return completed.kind == RequestKind.ROBOTS and 400 <= completed.status < 500  # noqa: PLR2004  # HTTP's classes

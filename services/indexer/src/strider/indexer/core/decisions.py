"""Rows of decisions: why a URL was not crawled, or not stored.

The id of a row follows from decision, URL, run and service, so that a decision that is read twice, or made
again on the next page that links to the same URL, is the same row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Final, TypeVar

from strider.contracts.generated.enums import Decision, DecisionReason, RejectionReason
from strider.contracts.generated.events import PageParsed, PageRejected, PageValidated, UrlsDecided
from strider.storage.rows.values import MAX_URL_CHARACTERS, clip, host_and_domain, to_datetime

from .row_models import DecisionRow

T = TypeVar("T")

MAX_DETAIL_CHARACTERS: Final = 1000

DECIDED_BY: Final = "indexer"
"""The service that decides not to store a page with noindex."""

DECISION_REASONS: Final[Mapping[str, DecisionReason]] = MappingProxyType(
    {
        RejectionReason.NEAR_DUPLICATE: DecisionReason.NEAR_DUPLICATE,
        RejectionReason.HANDLER_CRASHED: DecisionReason.HANDLER_CRASHED,
        RejectionReason.HANDLER_TIMEOUT: DecisionReason.HANDLER_CRASHED,
        RejectionReason.UNREADABLE_MESSAGE: DecisionReason.HANDLER_CRASHED,
        RejectionReason.UNSUPPORTED: DecisionReason.UNSUPPORTED_TYPE,
        RejectionReason.TOO_LARGE: DecisionReason.TOO_LARGE,
        RejectionReason.UNDECODABLE: DecisionReason.UNREADABLE,
        RejectionReason.DECODE_BOMB: DecisionReason.UNREADABLE,
        RejectionReason.MALFORMED: DecisionReason.UNREADABLE,
        RejectionReason.PARSE_TIMEOUT: DecisionReason.UNREADABLE,
        RejectionReason.PARSE_MEMORY: DecisionReason.UNREADABLE,
        RejectionReason.PARSER_CRASHED: DecisionReason.UNREADABLE,
    }
)
"""Reasons of decisions by reasons of rejections; all others are `rejected`, with the reason in the detail."""


def decision_rows(decided: UrlsDecided) -> Iterator[DecisionRow]:
    """Yield a row for each URL that was decided about; raises ValueError where the arrays do not match."""
    by, decided_at = decided.decided_by, to_datetime(decided.decided_at_ms)
    for url, key, decision, reason, detail, job, execution, sequence, status, depth, target in _zip_arrays(
        decided
    ):
        host, domain = host_and_domain(url)
        yield DecisionRow(
            id=decision_id(job, execution, key or url, decision, reason, by),
            url_key=key,
            job_id=job,
            url=clip(url, MAX_URL_CHARACTERS),
            host=host,
            domain=domain,
            execution_id=execution,
            crawl_spec_id=decided.crawl_spec_id,
            decision=decision,
            reason=reason,
            detail=clip(detail, MAX_DETAIL_CHARACTERS),
            decided_by=by,
            fetch_sequence=sequence,
            status_code=status,
            depth=depth,
            page_url=decided.page_url,
            redirect_target=target,
            decided_at=decided_at,
        )


def rejection_row(page: PageRejected) -> DecisionRow:
    """Return the row of a page that was rejected."""
    reason = DECISION_REASONS.get(page.rejection_reason, DecisionReason.REJECTED)
    detail = ": ".join(part for part in (page.rejection_reason, page.detail) if part)
    return _not_stored_row(
        page, reason, detail=detail, decided_by=page.rejected_by, at_ms=page.rejected_at_ms
    )


def noindex_row(validated: PageValidated) -> DecisionRow:
    """Return the row of a page with noindex."""
    return _not_stored_row(
        validated.page,
        DecisionReason.NOINDEX,
        detail="",
        decided_by=DECIDED_BY,
        at_ms=validated.verdict.validated_at_ms,
    )


def decision_id(*parts: str) -> str:
    """Return a decision's id, a hash of its parts with their lengths, so that no other parts collide."""
    digest = blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(encoded) + encoded)
    return digest.hexdigest()


def _not_stored_row(
    page: PageRejected | PageParsed, reason: str, *, detail: str, decided_by: str, at_ms: int
) -> DecisionRow:
    host, domain = host_and_domain(page.url)
    decision = Decision.NOT_STORED
    return DecisionRow(
        id=decision_id(page.job_id, page.execution_id, page.url_key, decision, reason, decided_by),
        url_key=page.url_key,
        job_id=page.job_id,
        url=page.url,
        host=host,
        domain=domain,
        execution_id=page.execution_id,
        crawl_spec_id=page.crawl_spec_id,
        decision=decision,
        reason=reason,
        detail=clip(detail, MAX_DETAIL_CHARACTERS),
        decided_by=decided_by,
        fetch_sequence=page.fetch_sequence,
        status_code=page.status,
        depth=page.depth,
        page_url=page.referrer,
        redirect_target="",
        decided_at=to_datetime(at_ms),
    )


def _zip_arrays(decided: UrlsDecided) -> Iterator[tuple[Any, ...]]:
    """Iterate over the parallel arrays; a single value holds for all."""
    count = len(decided.urls)
    return zip(
        decided.urls,
        decided.url_keys,
        decided.decisions,
        decided.reasons,
        _or_default(decided.details, "", count),
        _or_default(decided.job_ids, decided.job_id, count),
        _or_default(decided.execution_ids, decided.execution_id, count),
        _or_default(decided.fetch_sequences, 0, count),
        _or_default(decided.statuses, 0, count),
        _or_default(decided.depths, -1, count),
        _or_default(decided.redirect_targets, "", count),
        strict=True,
    )


def _or_default(values: Sequence[T], default: T, count: int) -> Sequence[T]:
    """Return the array, or the default for all where it is empty."""
    return values or (default,) * count

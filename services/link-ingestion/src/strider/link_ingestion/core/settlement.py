"""Settlement of pages: verdict, input of recrawl decisions, facts of the response.

The outcome of a page may be read later than its settlement, or never, so the settlement carries the
response's facts. An undecodable page is settled from the headers of its message, so that its entry is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import RejectionKind, RejectionReason, SettleVerdict
from strider.contracts.generated.events import PageParsed, PageRejected, PageSettled

_GIVEN_UP: Final = frozenset(
    {
        RejectionReason.UNREADABLE_MESSAGE,
        RejectionReason.HANDLER_CRASHED,
        RejectionReason.HANDLER_TIMEOUT,
    }
)
"""Reasons that are about a service and not about the page."""

_OWN_FAULTS: Final = {
    "handler_timeout": RejectionReason.HANDLER_TIMEOUT,
    "handler_crashed": RejectionReason.HANDLER_CRASHED,
    "answer_refused": RejectionReason.HANDLER_CRASHED,
}
"""Reason of a dead letter → reason of a rejection. All others mean that the message is not an event."""


@fast_dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of a page's links by outcome."""

    found: int = 0
    accepted: int = 0
    seen: int = 0
    refused: int = 0


def settle(page: PageParsed, counts: LinkCounts, *, now_ms: int) -> PageSettled:
    """Settle a page that is content, or has not changed."""
    return PageSettled(
        url_key=page.url_key,
        group=page.group,
        job_id=page.job_id,
        execution_id=page.execution_id,
        fetch_sequence=page.fetch_sequence,
        verdict=SettleVerdict.NOT_MODIFIED if page.not_modified else SettleVerdict.VALID,
        settled_at_ms=now_ms,
        url=page.url,
        raw_hash=page.raw_hash,
        text_hash=page.text_hash,
        not_modified=page.not_modified,
        page_kind=page.page_kind,
        document_kind=page.document_kind,
        kind=page.kind,
        is_start=page.is_start,
        links_found=counts.found,
        links_taken=counts.accepted,
        links_seen=counts.seen,
        links_refused=counts.refused,
        pagination_pattern=page.pagination_pattern,
        pagination_number=page.pagination_number,
        no_results=page.no_results,
        noindex=page.noindex,
        text_chars=page.text_chars,
        status=page.status,
        etag=page.etag,
        last_modified=page.last_modified,
        total_us=page.total_us,
        body_bytes=page.body_bytes,
    )


def settle_rejected(page: PageRejected, *, now_ms: int) -> PageSettled:
    """Settle a page that is not content, or that a service gave up."""
    is_given_up = page.rejection_reason in _GIVEN_UP
    return PageSettled(
        url_key=page.url_key,
        group=page.group,
        job_id=page.job_id,
        execution_id=page.execution_id,
        fetch_sequence=page.fetch_sequence,
        verdict=SettleVerdict.GIVEN_UP if is_given_up else SettleVerdict.REJECTED,
        settled_at_ms=now_ms,
        url=page.url,
        reason=page.rejection_reason,
        rejection_kind=page.rejection_kind,
        detail=page.detail,
        raw_hash=page.raw_hash,
        text_hash=page.text_hash,
        page_kind=page.page_kind,
        document_kind=page.document_kind,
        kind=page.kind,
        is_start=page.is_start,
        text_chars=page.text_chars,
        status=page.status,
        etag=page.etag,
        last_modified=page.last_modified,
        total_us=page.total_us,
        body_bytes=page.body_bytes,
    )


def settle_closed(page: PageParsed, reason: str, *, now_ms: int) -> PageSettled:
    """Settle a page that was rejected when parts of it may precede it."""
    return replace(
        settle(page, LinkCounts(), now_ms=now_ms),
        verdict=SettleVerdict.GIVEN_UP if reason in _GIVEN_UP else SettleVerdict.REJECTED,
        reason=reason,
        rejection_kind=RejectionKind.PLAIN,
        detail=page.error_message,
    )


def settle_undecodable(
    headers: Sequence[tuple[str, bytes | None]], reason: str, *, now_ms: int
) -> PageSettled | None:
    """Settle a page given up here, by its message's headers; None where they do not name its entry."""
    texts = {name: (content or b"").decode("utf-8", "replace") for name, content in headers}
    job_id, _, url_key = texts.get("entry", "").rpartition("/")
    group, number = texts.get("group", ""), texts.get("fetch-sequence", "")
    if not (job_id and url_key and group and number.isascii() and number.isdigit()):
        return None
    return PageSettled(
        url_key=url_key,
        group=group,
        job_id=job_id,
        execution_id=texts.get("execution", ""),
        fetch_sequence=int(number),
        verdict=SettleVerdict.GIVEN_UP,
        settled_at_ms=now_ms,
        reason=_OWN_FAULTS.get(reason, RejectionReason.UNREADABLE_MESSAGE),
        rejection_kind=RejectionKind.PLAIN,
        detail=f"link-ingestion gave the page up: {reason}",
    )

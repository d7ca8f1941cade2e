"""Rejection of a page whose message goes to the dead letters.

Such a page would leave its frontier entry open for ever, so the service that dead-letters it rejects it. All
that is needed stands in the headers of every page event, since the value may be unreadable. Messages without
these headers are no pages, and are not rejected.

Where parts of the document may have been published before, the rejection does not close the entry: a topic of
its own has no order with them. An event on their topic does, which carries nothing else.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.enums import ParseOutcome, RejectionKind, RejectionReason, ValidationStatus
from strider.contracts.generated.events import PageParsed, PageRejected
from strider.messaging.ports import Record
from strider.runtime.publishing.dead_letters import HANDLER_CRASHED, HANDLER_TIMEOUT, RESULT_REFUSED

_REASONS: Final = {
    HANDLER_CRASHED: RejectionReason.HANDLER_CRASHED,
    RESULT_REFUSED: RejectionReason.HANDLER_CRASHED,
    HANDLER_TIMEOUT: RejectionReason.HANDLER_TIMEOUT,
}
"""All other reasons of dead letters mean that the message could not be read."""


def page_rejection(record: Record, reason: str, *, service: str, now_ms: int) -> PageRejected | None:
    """Return the rejection for a dead-lettered message; None where its headers name no page."""
    try:
        said = {name: value.decode() for name, value in record.headers if value is not None}
        job_id, slash, url_key = said["entry"].rpartition("/")
        sequence = int(said["fetch-sequence"])
        execution_id, group = said["execution"], said["group"]
    except (KeyError, ValueError):  # UnicodeDecodeError is a ValueError
        return None
    if not (slash and job_id and url_key and group):
        return None
    return PageRejected(
        url_key=url_key,
        group=group,
        job_id=job_id,
        execution_id=execution_id,
        fetch_sequence=sequence,
        validation_status=ValidationStatus.REJECTED,
        rejection_reason=_REASONS.get(reason, RejectionReason.UNREADABLE_MESSAGE),
        rejection_kind=RejectionKind.PLAIN,
        rejected_by=service,
        rejected_at_ms=now_ms,
        detail=reason,
    )


def closing_event(rejected: PageRejected) -> PageParsed:
    """Return the event that closes the entry of a rejected page, on a topic of pages and in its order."""
    return PageParsed(
        url=rejected.url,
        url_key=rejected.url_key,
        origin=rejected.origin,
        group=rejected.group,
        job_id=rejected.job_id,
        execution_id=rejected.execution_id,
        crawl_spec_id=rejected.crawl_spec_id,
        fetch_sequence=rejected.fetch_sequence,
        outcome=ParseOutcome.CRASHED,
        parser=rejected.rejected_by,
        parser_version="",
        fetched_at_ms=rejected.fetched_at_ms,
        kind=rejected.kind,
        depth=rejected.depth,
        is_start=rejected.is_start,
        document_kind=rejected.document_kind,
        raw_hash=rejected.raw_hash,
        status=rejected.status,
        etag=rejected.etag,
        last_modified=rejected.last_modified,
        body_bytes=rejected.body_bytes,
        total_us=rejected.total_us,
        error_message=rejected.detail,
    )

"""What a ring service says for a page that it gives up.

A page that ends among the dead letters would leave its entry open for ever, so whoever gives it up
rejects it. All that is needed stands in the headers of every page event, for the value may be
unreadable. Messages without these headers are no pages of the ring, and nothing is said for them.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.events import PageRejected
from strider.contracts.generated.words import RejectionKind, RejectionReason, ValidationStatus

from .deadletters import ANSWER_REFUSED, HANDLER_CRASHED, HANDLER_TIMEOUT
from .ports import Record

_REASONS: Final = {
    HANDLER_CRASHED: RejectionReason.HANDLER_CRASHED,
    ANSWER_REFUSED: RejectionReason.HANDLER_CRASHED,
    HANDLER_TIMEOUT: RejectionReason.HANDLER_TIMEOUT,
}
"""All other words of the dead letters say that the message could not be read."""


def rejection_of(record: Record, reason: str, *, service: str, now_ms: int) -> PageRejected | None:
    """Reject the page of a message that is given up; None where its headers name no page."""
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

"""Builds the events for a validated page: its verdict, or its rejection."""

from __future__ import annotations

from typing import Any, Final

from strider.contracts.generated.enums import ValidationStatus
from strider.contracts.generated.events import PageParsed, PageRejected, Verdict

from .page_validation import PageAssessment, rejection_kind_of

MAX_EXCERPT_CHARS: Final = 500
MAX_DETAIL_CHARS: Final = 500
SERVICE: Final = "validator"


def build_verdict(assessment: PageAssessment, *, rules_version: str, now_ms: int) -> Verdict:
    """Build the verdict on a page that is kept."""
    return Verdict(
        validation_status=assessment.status,
        rules_version=rules_version,
        validated_at_ms=now_ms,
        warnings=assessment.warnings,
    )


def build_closing_verdict(reason: str, *, rules_version: str, now_ms: int) -> Verdict:
    """Build the verdict that only closes the entry of a rejected page."""
    return Verdict(
        validation_status=ValidationStatus.REJECTED,
        rules_version=rules_version,
        validated_at_ms=now_ms,
        rejection_reason=reason,
        rejection_kind=rejection_kind_of(reason),
    )


def build_rejection(
    page: PageParsed, assessment: PageAssessment, *, rules_version: str, now_ms: int
) -> PageRejected:
    """Build the rejection of a page, with enough of the page for people to see the reason."""
    return PageRejected(
        **_identity_fields(page),
        validation_status=assessment.status,
        rejection_reason=assessment.reason,
        rejection_kind=assessment.kind,
        rejected_by=SERVICE,
        rejected_at_ms=now_ms,
        detail=assessment.detail[:MAX_DETAIL_CHARS],
        rules_version=rules_version,
        status=page.status,
        content_type=page.content_type,
        fetched_at_ms=page.fetched_at_ms,
        parse_outcome=page.outcome,
        parser=page.parser,
        parser_version=page.parser_version,
        page_kind=page.page_kind,
        document_kind=page.document_kind,
        title=page.title,
        excerpt=page.text[:MAX_EXCERPT_CHARS],
        text_chars=page.text_chars,
        body_bytes=page.body_bytes,
        body_object=page.body_object,
        raw_hash=page.raw_hash,
        text_hash=page.text_hash,
        simhash=page.simhash,
        rendered=page.rendered,
        etag=page.etag,
        last_modified=page.last_modified,
        total_us=page.total_us,
    )


def _identity_fields(page: PageParsed) -> dict[str, Any]:
    """Return the fields that every event of an entry carries on from the page."""
    return {
        "url_key": page.url_key,
        "group": page.group,
        "job_id": page.job_id,
        "execution_id": page.execution_id,
        "fetch_sequence": page.fetch_sequence,
        "url": page.url,
        "origin": page.origin,
        "crawl_spec_id": page.crawl_spec_id,
        "kind": page.kind,
        "hop": page.hop,
        "depth": page.depth,
        "priority": page.priority,
        "is_start": page.is_start,
        "referrer": page.referrer,
        "redirect_chain": page.redirect_chain,
        "metadata": page.metadata,
    }

"""What is said about a page that was judged: a verdict behind it, or its rejection instead of it."""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.enums import ValidationStatus
from strider.contracts.generated.events import PageParsed, PageRejected, Verdict

from .page_validation import PageAssessment, rejection_kind_of

MAX_EXCERPT_CHARS: Final = 500
MAX_DETAIL_CHARS: Final = 500
SERVICE: Final = "validator"


def build_verdict(judgement: PageAssessment, *, rules_version: str, now_ms: int) -> Verdict:
    """Write the verdict on a page that is kept."""
    return Verdict(
        validation_status=judgement.status,
        rules_version=rules_version,
        validated_at_ms=now_ms,
        warnings=judgement.warnings,
    )


def build_closing_verdict(reason: str, *, rules_version: str, now_ms: int) -> Verdict:
    """Write the verdict of what only closes the entry of a rejected page."""
    return Verdict(
        validation_status=ValidationStatus.REJECTED,
        rules_version=rules_version,
        validated_at_ms=now_ms,
        rejection_reason=reason,
        rejection_kind=rejection_kind_of(reason),
    )


def rejection_of(
    page: PageParsed, judgement: PageAssessment, *, rules_version: str, now_ms: int
) -> PageRejected:
    """Write the rejection of a page, with enough of it for people to see why."""
    return PageRejected(
        url_key=page.url_key,
        group=page.group,
        job_id=page.job_id,
        execution_id=page.execution_id,
        fetch_sequence=page.fetch_sequence,
        validation_status=judgement.status,
        rejection_reason=judgement.reason,
        rejection_kind=judgement.kind,
        rejected_by=SERVICE,
        rejected_at_ms=now_ms,
        url=page.url,
        origin=page.origin,
        crawl_spec_id=page.crawl_spec_id,
        kind=page.kind,
        hop=page.hop,
        depth=page.depth,
        priority=page.priority,
        is_start=page.is_start,
        referrer=page.referrer,
        redirect_chain=page.redirect_chain,
        metadata=page.metadata,
        detail=judgement.detail[:MAX_DETAIL_CHARS],
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

"""Result of an execution, by the end of its run, and the pages that are compared. Pure."""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.enums import ChangeBasis, EntryReason, JobState, RequestKind
from strider.contracts.generated.events import JobEvent, SourceSaved
from strider.jobs.lifecycle import own_interval_seconds
from strider.jobs.models import ExecutionResult, Job
from strider.jobs.states import ExecutionState
from strider.scheduler.core.runs.ending_runs import ACCEPTED_COUNT
from strider.scheduler.core.runs.start_pages import MAX_LISTED, StartPages

from .adaptive import ComparedRun, StartPageHashes
from .launch import LaunchFault, start_urls

NOTHING_FETCHED: Final = "no start page could be fetched"
NOTHING_ACCEPTED: Final = (
    "no start URL was accepted: `strider why URL` and the table url_decisions have the reason of each"
)
_SHOWN_REASONS: Final = 10


def is_job_run(event: JobEvent) -> bool:
    """Whether a run may be one of a job's: its id is that of the job with a number."""
    job_id, _, number = event.execution_id.rpartition("-")
    return bool(job_id) and number.isdecimal() and event.job_id in {"", job_id}


def outcome_of_run(end: JobEvent) -> ExecutionState:
    """Return how a run has ended; a run that fetched nothing has failed."""
    if end.state_after == JobState.CANCELLED:
        return ExecutionState.CANCELLED
    return ExecutionState.COMPLETED if _fetched(end) else ExecutionState.FAILED


def result_of_run(end: JobEvent, *, next_interval_seconds: int | None = None) -> ExecutionResult:
    """Return the result of an execution whose run has ended."""
    outcome = outcome_of_run(end)
    return ExecutionResult(
        outcome=outcome,
        items_crawled=_fetched(end),
        items_indexed=end.counts.get(EntryReason.SETTLED, 0),
        bytes_fetched=end.bytes,
        duration_ms=1000 * end.seconds if end.seconds else None,
        error_message=_error_of(end) if outcome is ExecutionState.FAILED else end.reason,
        counts=dict(end.counts),
        next_interval_seconds=next_interval_seconds,
    )


def compared_run(job: Job, end: JobEvent, pages: StartPages, *, source: SourceSaved | None) -> ComparedRun:
    """Return what is compared of a completed run."""
    basis = job.crawl_settings.get("change_basis") or (source.change_basis if source else "")
    expected = _expected_pages(job, source)
    is_complete = pages.count >= expected
    return ComparedRun(
        source_id=job.source_id,
        execution_id=end.execution_id,
        baseline_seconds=own_interval_seconds(job) or 0,
        pages={page.url_key: StartPageHashes(page.raw_hash, page.text_hash) for page in pages.listed},
        is_complete=is_complete,
        # Many pages have one hash, which is new where some of them failed; few that are left have new ones.
        counts_new_pages=is_complete or max(expected, pages.count) <= MAX_LISTED,
        basis=basis if basis in set(ChangeBasis) else ChangeBasis.TEXT.value,
        ended_at_ms=end.at_ms,
    )


def _expected_pages(job: Job, source: SourceSaved | None) -> int:
    """Return how many start pages the run of a job has; its feeds and sitemaps are none."""
    if source is None:
        return 1
    try:
        return sum(kind is RequestKind.PAGE for _, kind in start_urls(job, source))
    except LaunchFault:  # the source was changed since the launch
        return 1


def _fetched(end: JobEvent) -> int:
    """Return the pages whose content is known: fetched, or found unchanged."""
    return end.pages + end.counts.get(EntryReason.NOT_MODIFIED, 0)


def _error_of(end: JobEvent) -> str:
    reasons = {name: count for name, count in end.counts.items() if name != ACCEPTED_COUNT and count}
    if not reasons:
        return NOTHING_ACCEPTED
    by_count = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    shown = ", ".join(f"{count} {name}" for name, count in by_count[:_SHOWN_REASONS])
    return f"{NOTHING_FETCHED}: {shown}"

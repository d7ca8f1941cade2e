"""Jobs and executions as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from strider.cli.output import counted, json_text, time_text

if TYPE_CHECKING:
    from strider.client import RemoteExecution, RemoteJob, RemoteJobStats, RemoteRebalance, RemoteRun

NOTHING = "-"
COMMANDS = {"force-run": "run"}
"""Action of the API → its command, where that has another name."""


def interval_text(job: RemoteJob) -> str:
    """Return how often a job runs: `once`, or `6 hours`; in brackets the adaptive interval in force."""
    if job.interval_minutes is None or not job.schedule_enabled:
        return "once"
    text = counted(job.interval_minutes, job.interval_type.removesuffix("s"))
    seconds = job.current_interval_seconds
    return text if seconds in {None, _seconds_of(job)} else f"{text} (now {duration_text(seconds or 0)})"


def _seconds_of(job: RemoteJob) -> int:
    unit = {"hours": 3600, "days": 86_400}.get(job.interval_type, 60)
    return (job.interval_minutes or 0) * unit


def duration_text(seconds: float) -> str:
    """Return a duration in its largest fitting units: `90 s`, `12 min`, `3.5 h`."""
    if seconds < 120:  # noqa: PLR2004  # two minutes
        return f"{seconds:g} s"
    if seconds < 7_200:  # noqa: PLR2004  # two hours
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:.3g} h"


def commands_text(actions: Iterable[str]) -> str:
    """Return actions as the names of their commands."""
    return ", ".join(COMMANDS.get(action, action) for action in actions)


def job_row(job: RemoteJob) -> tuple[str, ...]:
    """Return a job as a row of a table."""
    planned = time_text(job.next_run_at) if job.next_run_at else NOTHING
    return (job.id, job.status, interval_text(job), planned, job.source_id or NOTHING, job.name or job.url)


JOB_HEADERS = ("job", "status", "every", "next run", "source", "name or url")


def job_fields(job: RemoteJob, stats: RemoteJobStats | None = None, *, progress: str = "") -> dict[str, str]:
    """Return the fields of a job as text; settings that are empty are left out."""
    fields = {
        "job": job.id,
        "name": job.name,
        "status": job.status,
        "possible": commands_text(job.allowed_actions),
        "url": job.url,
        "source": job.source_id or "none: its runs will fail",
        "every": interval_text(job),
        "adaptive": "yes" if job.adaptive_scheduling else "no",
        "next run": time_text(job.next_run_at) if job.next_run_at else NOTHING,
        "last run": time_text(job.last_run_at) if job.last_run_at else NOTHING,
        "running": progress,
        "retries": f"{job.current_retry_count} of {job.max_retries}, the first after "
        f"{duration_text(job.retry_backoff_seconds)}",
        "error": job.error_message,
        "settings": json_text(job.crawl_settings) if job.crawl_settings else "",
        "metadata": json_text(job.metadata) if job.metadata else "",
        "created": f"{time_text(job.created_at)}{f' by {job.created_by}' if job.created_by else ''}",
        "version": str(job.version),
    }
    if stats is not None:
        fields["runs"] = stats_text(stats)
    return {name: text for name, text in fields.items() if text}


def stats_text(stats: RemoteJobStats) -> str:
    """Return the statistics of a job as one line."""
    parts = [f"{stats.executions} kept"]
    parts += [
        f"{count} {name}"
        for name, count in (
            ("completed", stats.completed),
            ("failed", stats.failed),
            ("cancelled", stats.cancelled),
            ("running", stats.running),
        )
        if count
    ]
    if stats.average_duration_ms is not None:
        parts.append(f"{duration_text(stats.average_duration_ms / 1000)} on average")
    return ", ".join(parts)


EXECUTION_HEADERS = ("run", "status", "started", "took", "crawled", "indexed", "progress or error")


def execution_row(execution: RemoteExecution, progress: str = "") -> tuple[str, ...]:
    """Return an execution as a row of a table; `progress` is that of a run under way."""
    took = NOTHING if execution.duration_ms is None else duration_text(execution.duration_ms / 1000)
    counts = (str(execution.items_crawled), str(execution.items_indexed))
    last = execution.error_message
    if not execution.has_ended:  # pages are counted at the end
        counts, last = (NOTHING, NOTHING), progress
    started = time_text(execution.started_at)
    return (execution.id, execution.status, started, took, *counts, last)


def progress_text(run: RemoteRun) -> str:
    """Return how far a run is."""
    text = f"{counted(run.accepted, 'URL')} accepted, {run.accepted - run.open} closed, {run.open} open"
    return f"{text}; {run.state}" if run.state == "paused" else text


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts by name, those that are not 0."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


MOVE_HEADERS = ("job", "from", "to", "next run", "new next run")


def move_rows(plan: RemoteRebalance) -> Sequence[tuple[str, ...]]:
    """Return the moves of a rebalance as rows of a table."""
    return [
        (
            move.job_id,
            slot_text(move.from_slot),
            slot_text(move.to_slot),
            time_text(move.next_run_at),
            time_text(move.new_next_run_at),
        )
        for move in plan.moves
    ]


def slot_text(slot: int) -> str:
    """Return the time of the day of a slot, in UTC."""
    hours, quarters = divmod(slot, 4)
    return f"{hours:02}:{quarters * 15:02}"


def action_text(job: RemoteJob) -> str:
    """Return what became of a job as one line."""
    text = f"job {job.id} is {job.status}"
    return f"{text}; next run {time_text(job.next_run_at)}" if job.next_run_at else text

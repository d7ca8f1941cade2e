"""Rows of `jobs` and `job_executions`: their columns, and the values that they stand for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from strider.contracts.generated.enums import JobState
from strider.jobs.lifecycle import slot_in_use
from strider.jobs.models import IntervalType, Job, JobExecution
from strider.jobs.states import ExecutionState


class Row(Protocol):
    """A row by the names of its columns."""

    def __getitem__(self, column: str, /) -> Any:
        """Return a value."""


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

TIME: Final = "timestamptz"
JSON: Final = "jsonb"

DUE: Final = "status IN ('pending', 'scheduled') AND NOT is_paused AND lock_token IS NULL"
"""The condition of the index jobs_due."""

JOB_COLUMNS: Final[Mapping[str, tuple[str, str]]] = {
    "id": ("job_id", "text"),
    "source_id": ("source_id", "text"),
    "url": ("url", "text"),
    "name": ("name", "text"),
    "status": ("state", "text"),
    "interval_minutes": ("interval_minutes", "integer"),
    "interval_type": ("interval_type", "text"),
    "schedule_enabled": ("schedule_enabled", "boolean"),
    "adaptive_scheduling": ("adaptive_scheduling", "boolean"),
    "current_interval_seconds": ("current_interval_seconds", "bigint"),
    "next_run_at": ("next_run_at_ms", TIME),
    "phase_at": ("phase_at_ms", TIME),
    "moved_at": ("moved_at_ms", TIME),
    "is_paused": ("is_paused", "boolean"),
    "paused_at": ("paused_at_ms", TIME),
    "paused_by": ("paused_by", "text"),
    "cancelled_at": ("cancelled_at_ms", TIME),
    "lock_token": ("lock_token", "text"),
    "lock_acquired_at": ("lock_acquired_at_ms", TIME),
    "max_retries": ("max_retries", "integer"),
    "retry_backoff_seconds": ("retry_backoff_seconds", "integer"),
    "current_retry_count": ("current_retry_count", "integer"),
    "execution_count": ("execution_count", "bigint"),
    "last_run_at": ("last_run_at_ms", TIME),
    "error_message": ("error_message", "text"),
    "crawl_settings": ("crawl_settings", JSON),
    "metadata": ("metadata", JSON),
    "version": ("version", "bigint"),
    "created_by": ("created_by", "text"),
    "created_at": ("created_at_ms", TIME),
    "updated_at": ("updated_at_ms", TIME),
}
"""Column → field of `Job`, and the type."""

EXECUTION_COLUMNS: Final[Mapping[str, tuple[str, str]]] = {
    "id": ("execution_id", "text"),
    "job_id": ("job_id", "text"),
    "execution_number": ("execution_number", "bigint"),
    "status": ("state", "text"),
    "scheduled_for": ("scheduled_for_ms", TIME),
    "started_at": ("started_at_ms", TIME),
    "launched_at": ("launched_at_ms", TIME),
    "cancel_requested_at": ("cancel_requested_at_ms", TIME),
    "completed_at": ("completed_at_ms", TIME),
    "duration_ms": ("duration_ms", "bigint"),
    "items_crawled": ("items_crawled", "bigint"),
    "items_indexed": ("items_indexed", "bigint"),
    "bytes_fetched": ("bytes_fetched", "bigint"),
    "error_message": ("error_message", "text"),
    "stack_trace": ("stack_trace", "text"),
    "cpu_time_ms": ("cpu_time_ms", "bigint"),
    "memory_peak_mb": ("memory_peak_mb", "integer"),
    "relaunches": ("relaunches", "integer"),
    "retry_attempt": ("retry_attempt", "integer"),
    "counts": ("counts", JSON),
    "metadata": ("metadata", JSON),
}
"""Column → field of `JobExecution`, and the type."""


def time_of(milliseconds: int | None) -> datetime | None:
    """Return the moment of milliseconds since 1970."""
    return None if milliseconds is None else EPOCH + timedelta(milliseconds=milliseconds)


def milliseconds_of(moment: datetime | None) -> int | None:
    """Return a moment as milliseconds since 1970."""
    return None if moment is None else (moment - EPOCH) // timedelta(milliseconds=1)


def storable(text: str) -> str:
    """Return a text without what PostgreSQL cannot store: NUL and lone surrogates."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def listed(columns: Mapping[str, Any], *, table: str = "", prefix: str = "") -> str:
    """Return columns for a SELECT or RETURNING; with a prefix, each under another name."""
    of = f"{table}." if table else ""
    return ", ".join(f"{of}{name} AS {prefix}{name}" if prefix else f"{of}{name}" for name in columns)


def job_of(row: Row) -> Job:
    """Return the job of a row."""
    values = _values(row, JOB_COLUMNS)
    values["state"] = JobState(values["state"])
    values["interval_type"] = IntervalType(values["interval_type"])
    return Job(**values)


def execution_of(row: Row, prefix: str = "") -> JobExecution:
    """Return the execution of a row."""
    values = _values(row, EXECUTION_COLUMNS, prefix)
    values["state"] = ExecutionState(values["state"])
    return JobExecution(**values)


def job_values(job: Job) -> list[Any]:
    """Return the values of a job's columns, the slot last."""
    return [*_parameters(job, JOB_COLUMNS), slot_in_use(job)]


def execution_values(execution: JobExecution) -> list[Any]:
    """Return the values of an execution's columns."""
    return _parameters(execution, EXECUTION_COLUMNS)


def placeholders(kinds: Sequence[str], *, first: int = 1) -> list[str]:
    """Return typed parameters, numbered from the first."""
    return [f"${number}::{kind}" for number, kind in enumerate(kinds, start=first)]


def _values(row: Row, columns: Mapping[str, tuple[str, str]], prefix: str = "") -> dict[str, Any]:
    values = {}
    for column, (field, kind) in columns.items():
        value = row[prefix + column]
        if kind == TIME:
            value = milliseconds_of(value)
        elif kind == JSON:
            value = json.loads(value)
        values[field] = value
    return values


def _parameters(item: object, columns: Mapping[str, tuple[str, str]]) -> list[Any]:
    values = []
    for field, kind in columns.values():
        value = getattr(item, field)
        if kind == TIME:
            value = time_of(value)
        elif kind == JSON:
            value = json.dumps(dict(value), ensure_ascii=False)
        elif isinstance(value, str):
            value = storable(value)
        values.append(value)
    return values

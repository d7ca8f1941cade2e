"""Examples of responses about jobs, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from strider.contracts.generated.enums import JobState

STARTED: Final = "2026-11-20T12:00:00.000Z"
NEXT: Final = "2026-11-20T18:00:00.000Z"
CURSOR: Final = "MTc5NTE3NjAwMDAwMCwwYzhmMmQ3ZTViMWE0ZTYz"
JOB_ID: Final = "0c8f2d7e5b1a4e63"

JOB: Final[dict[str, Any]] = {
    "id": JOB_ID,
    "source_id": "example",
    "url": "https://example.org/news",
    "name": "news",
    "status": "scheduled",
    "allowed_actions": ["pause", "cancel", "force-run"],
    "interval_minutes": 360,
    "interval_type": "minutes",
    "schedule_enabled": True,
    "adaptive_scheduling": True,
    "current_interval_seconds": 21_600,
    "next_run_at": NEXT,
    "is_paused": False,
    "max_retries": 3,
    "retry_backoff_seconds": 60,
    "current_retry_count": 0,
    "execution_count": 1,
    "last_run_at": STARTED,
    "error_message": "",
    "crawl_settings": {"max_depth": 2},
    "metadata": {"team": "news"},
    "version": 3,
    "created_by": "ada",
    "created_at": STARTED,
    "updated_at": STARTED,
}

EXECUTION: Final[dict[str, Any]] = {
    "id": f"{JOB_ID}-1",
    "job_id": JOB_ID,
    "execution_number": 1,
    "status": "completed",
    "scheduled_for": STARTED,
    "started_at": STARTED,
    "launched_at": STARTED,
    "completed_at": "2026-11-20T12:04:10.000Z",
    "duration_ms": 250_000,
    "items_crawled": 212,
    "items_indexed": 198,
    "bytes_fetched": 7_340_032,
    "error_message": "",
    "stack_trace": "",
    "retry_attempt": 0,
    "counts": {"fetched": 212, "robots_denied": 3},
    "metadata": {},
}

STATS: Final[dict[str, Any]] = {
    "job_id": JOB_ID,
    "executions": 1,
    "running": 0,
    "completed": 1,
    "failed": 0,
    "cancelled": 0,
    "success_rate": 1.0,
    "average_duration_ms": 250_000,
    "items_crawled": 212,
    "items_indexed": 198,
    "bytes_fetched": 7_340_032,
    "last_started_at": STARTED,
    "last_completed_at": "2026-11-20T12:04:10.000Z",
    "next_run_at": NEXT,
}

COUNTS: Final[dict[str, Any]] = {
    "counts": {state.value: 0 for state in JobState} | {"scheduled": 12, "running": 1},
    "total": 13,
}

METRICS: Final[dict[str, Any]] = {
    "jobs": {"scheduled": 12, "running": 1},
    "executions": {
        "total": 49,
        "by_status": {"completed": 47, "failed": 1, "running": 1},
        "success_rate": 0.979,
        "average_duration_ms": 250_000,
    },
    "due": 0,
    "oldest_due_ms": 0,
    "launching": 0,
    "stale_locks_cleared": 0,
}

DISTRIBUTION: Final[dict[str, Any]] = {
    "distribution_score": 0.83,
    "jobs": 12,
    "slots": [{"slot": 0, "starts_at": "00:00", "jobs": 1, "runs": 4.0}],
}
"""One of the 96 slots."""

REBALANCE: Final[dict[str, Any]] = {
    "moves": [
        {
            "job_id": JOB_ID,
            "from_slot": 72,
            "to_slot": 75,
            "next_run_at": NEXT,
            "new_next_run_at": "2026-11-20T18:45:00.000Z",
        }
    ],
    "score_before": 0.64,
    "score_after": 0.83,
    "applied": 0,
}

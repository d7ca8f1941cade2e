"""Jobs for tests, as they are after their creation."""

from __future__ import annotations

from typing import Any

from strider.jobs.lifecycle import create_job
from strider.jobs.models import Job, NewJob
from strider.jobs.slots import SLOTS
from strider.jobs.validation import check_new_job

NOW_MS = 1_763_640_000_000
"""2025-11-20 12:00 UTC."""
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
EMPTY = [0.0] * SLOTS


def a_new_job(**fields: Any) -> NewJob:
    """Return a checked request for a job."""
    return check_new_job(NewJob(**{"url": "https://example.com/", "source_id": "news", **fields}))


def a_job(*, now_ms: int = NOW_MS, **fields: Any) -> Job:
    """Return a job that has just been created."""
    return create_job(a_new_job(**fields), fields.get("job_id", "job-1"), loads=EMPTY, now_ms=now_ms)

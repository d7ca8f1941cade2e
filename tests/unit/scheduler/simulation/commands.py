"""Builders of job commands."""

from __future__ import annotations

from typing import Any

from strider.contracts.generated.events import JobEvent
from strider.crawl.runs.commands import with_command_id


def a_command(what: str, **changes: Any) -> JobEvent:
    """Return a command about the run of these tests, or about a host."""
    told: dict[str, Any] = {"event_id": what, "what": what, "is_wish": True, "at_ms": 1, "by": "ada"}
    about = {} if "group" in changes or "job_id" in changes else {"job_id": "job", "execution_id": "run"}
    return with_command_id(JobEvent(**(told | about | changes)))

"""History of executions: which are kept, and what they amount to. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

STALE_LOCK: Final = timedelta(minutes=5)
"""Age from which a lock is that of a scheduler which has stopped."""
KEPT_EXECUTIONS: Final = 100
"""Of each job, the newest."""

KEPT_MS: Final = 30 * 86_400_000
"""30 days after the end."""


def is_prunable(number: int, *, newest: int, completed_at_ms: int | None, now_ms: int) -> bool:
    """Whether an execution is deleted: beyond the newest 100 of its job, or older than 30 days.

    One that has not ended stays.
    """
    if completed_at_ms is None:
        return False
    return number <= newest - KEPT_EXECUTIONS or completed_at_ms < now_ms - KEPT_MS


def success_rate(completed: int, failed: int) -> float | None:
    """Return the share of completed ones, without cancelled ones; None before the first."""
    return completed / (completed + failed) if completed + failed else None

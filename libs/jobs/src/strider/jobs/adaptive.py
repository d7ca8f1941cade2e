"""Adaptive interval: a source that does not change is crawled less and less often. Pure.

    interval = min(baseline x 2^unchanged, cap)

    changed                    the baseline again
    unchanged n runs in a row  baseline x 2^n, at most 24 h
    no hash (a failure)        nothing changes

With a baseline of 30 minutes: 30m 1h 2h 4h 8h 16h 24h. A baseline above the cap stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ADAPTIVE_CAP_SECONDS: Final = 86_400

_MOST_DOUBLINGS: Final = 40
"""Beyond this, the cap is reached from any baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeHistory:
    """Number of runs in a row without a change of a source, and its latest hash."""

    baseline_seconds: int
    cap_seconds: int = ADAPTIVE_CAP_SECONDS
    unchanged_count: int = 0
    last_hash: str = ""
    """Empty before the first hash."""
    last_change_at_ms: int = 0
    """0 before the first hash."""

    @property
    def interval_seconds(self) -> int:
        """Return the interval that follows from it."""
        return adaptive_interval_seconds(
            self.baseline_seconds, self.unchanged_count, cap_seconds=self.cap_seconds
        )


def adaptive_interval_seconds(
    baseline_seconds: int, unchanged_count: int, *, cap_seconds: int = ADAPTIVE_CAP_SECONDS
) -> int:
    """Return the interval after so many runs without a change; never below the baseline."""
    doubled = baseline_seconds << min(max(unchanged_count, 0), _MOST_DOUBLINGS)
    return max(baseline_seconds, min(doubled, cap_seconds))


def record_hash(
    history: ChangeHistory | None,
    content_hash: str,
    *,
    baseline_seconds: int,
    now_ms: int,
    cap_seconds: int = ADAPTIVE_CAP_SECONDS,
) -> ChangeHistory:
    """Return the history after a run, with the hash of its start pages; an empty one is of a failed run."""
    known = history or ChangeHistory(baseline_seconds=baseline_seconds, cap_seconds=cap_seconds)
    is_same = bool(content_hash) and content_hash == known.last_hash
    is_change = bool(content_hash) and not is_same
    return ChangeHistory(
        baseline_seconds=baseline_seconds,
        cap_seconds=cap_seconds,
        unchanged_count=0 if is_change else known.unchanged_count + is_same,
        last_hash=content_hash or known.last_hash,
        last_change_at_ms=now_ms if is_change else known.last_change_at_ms,
    )

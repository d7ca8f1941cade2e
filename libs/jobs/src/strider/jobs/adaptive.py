"""Adaptive interval: a source that does not change is crawled less and less often. Pure.

    interval = min(baseline x 2^unchanged, cap)

With a baseline of 30 minutes: 30m 1h 2h 4h 8h 16h 24h. A baseline above the cap stays as it is. What counts
as a change is decided by the scheduler, which compares start pages.
"""

from __future__ import annotations

from typing import Final

ADAPTIVE_CAP_SECONDS: Final = 86_400

_MOST_DOUBLINGS: Final = 40
"""Beyond this, the cap is reached from any baseline."""


def adaptive_interval_seconds(
    baseline_seconds: int, unchanged_count: int, *, cap_seconds: int = ADAPTIVE_CAP_SECONDS
) -> int:
    """Return the interval after so many runs without a change; never below the baseline."""
    doubled = baseline_seconds << min(max(unchanged_count, 0), _MOST_DOUBLINGS)
    return max(baseline_seconds, min(doubled, cap_seconds))

"""Intervals of jobs, and the next regular run. Pure.

A job's regular runs are at its phase plus or minus whole intervals. The next one is the first of these after
now: a run that took long, retries, forced runs and outages neither move the phase nor are made up for.
"""

from __future__ import annotations

from typing import Final

from .errors import InvalidJobField
from .models import IntervalType

SECONDS: Final = {IntervalType.MINUTES: 60, IntervalType.HOURS: 3600, IntervalType.DAYS: 86_400}
"""Length of each unit."""

MAX_INTERVAL_SECONDS: Final = 366 * 86_400
"""A year; also the longest interval of any unit."""

RETRY_CAP_SECONDS: Final = 3600
"""The longest back-off before a retry."""

_MOST_DOUBLINGS: Final = 40
"""Beyond this, the cap is reached from any base."""


def parse_interval_type(value: object) -> IntervalType:
    """Return the unit of a text; InvalidJobField where there is none of this name."""
    try:
        return IntervalType(str(value))
    except ValueError:
        units = ", ".join(IntervalType)
        raise InvalidJobField("interval_type", f"{_shown(value)} is none of {units}") from None


def interval_seconds(number: object, unit: IntervalType) -> int:
    """Return an interval in seconds; InvalidJobField where it is none, or is longer than a year."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidJobField("interval_minutes", f"{_shown(number)} is not a whole number")
    most = MAX_INTERVAL_SECONDS // SECONDS[unit]
    if not 1 <= number <= most:
        raise InvalidJobField(
            "interval_minutes", f"{_shown(number)} is not within 1 to {most} {unit}; null means once"
        )
    return number * SECONDS[unit]


def next_regular_run_ms(phase_ms: int, interval_ms: int, *, now_ms: int) -> int:
    """Return the first time after now that is whole intervals before or after the phase."""
    return phase_ms + ((now_ms - phase_ms) // interval_ms + 1) * interval_ms


def retry_wait_seconds(base_seconds: int, attempt: int) -> int:
    """Return the wait before the n-th retry: base x 2^(n-1), at most an hour."""
    doublings = min(max(attempt, 1) - 1, _MOST_DOUBLINGS)
    return int(min(base_seconds << doublings, RETRY_CAP_SECONDS))


def _shown(value: object) -> str:
    """Return a value for a message, however long it is."""
    if isinstance(value, int) and value.bit_length() > 128:  # noqa: PLR2004  # str() of a huge number fails
        return "a huge number"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004  # one line

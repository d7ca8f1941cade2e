"""Is the log to be looked through for parked entries? When, and how much of it at a time.

Pure. Knows what the working set says of how full it is; not what a log is.
"""

from __future__ import annotations

from typing import Final

from strider.frontier.models import QueueLimits, ShardStats

HEADROOM_PERCENT: Final = 10
"""So far below its limit memory must be before parked entries come back, or they go in and out."""

WAKE_AHEAD_DIVISOR: Final = 12
"""Sleepers are looked for so small a part of the horizon ahead: one look finds all within the whole of it."""

MAX_PAUSE_SECONDS: Final = 300.0
"""Longest pause after rounds that found nothing."""

DUTY_CYCLE_DIVISOR: Final = 4
"""Of the time, at most one part in so many is spent on looking through the log."""


def is_wanted(figures: ShardStats, room: QueueLimits) -> bool:
    """Say whether something parked may be queued now."""
    if is_entry_nearly_due(figures, room):
        return True
    has_room = room.memory_percent == 0 or figures.memory_percent < room.memory_percent - HEADROOM_PERCENT
    return figures.refillable_groups > 0 and (has_room or figures.queued < room.minimum_entries)


def is_entry_nearly_due(figures: ShardStats, room: QueueLimits) -> bool:
    """Say whether somebody that sleeps is nearly due."""
    return (
        figures.deferred > 0
        and figures.next_deferred_due_ms <= figures.now_ms + room.horizon_ms // WAKE_AHEAD_DIVISOR
    )


def is_full(figures: ShardStats, room: QueueLimits) -> bool:
    """Say whether a look may end: the server counts what is under way to it, so it says so a little early."""
    enough_percent = room.memory_percent - HEADROOM_PERCENT // 2
    return 0 < enough_percent <= figures.memory_percent and figures.queued >= room.minimum_entries


def round_parts(figures: ShardStats, *, keys_a_part: int) -> int:
    """Say in how many parts a round goes through the log, so that each fits into memory."""
    known = max(figures.seen, figures.queued + figures.in_pipeline + figures.overflow + figures.deferred)
    return max(1, -(-known // keys_a_part))


def pause_seconds(
    took_seconds: float, figures: ShardStats, *, empty_rounds: int, least_seconds: float
) -> float:
    """Say how long to wait until the next part; not at all where nothing else is left to do."""
    if empty_rounds:
        return float(min(least_seconds * 2 ** min(empty_rounds, 16), MAX_PAUSE_SECONDS))
    return 0.0 if figures.queued == 0 else max(least_seconds, took_seconds * (DUTY_CYCLE_DIVISOR - 1))

"""Rebalance: moves of jobs from loaded slots to others. Pure.

A preview is the same plan, not applied. A job is moved by at most half of its interval (and half a day), so
that it neither runs twice nor misses a run. It stays where its next run is within 30 minutes, or where it was
moved within an hour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from .models import JobMove, RebalancePlan
from .slots import DAY_MS, SLOT_MS, distribution_score, occupied_slots, slot_of

NEXT_RUN_MARGIN_MS: Final = 30 * 60_000
MOVE_PAUSE_MS: Final = 60 * 60_000

MOST_MOVES: Final = 1_000
"""Of one plan; the next one continues."""

_LEAST_GAIN: Final = 1e-6


class MovableJob(NamedTuple):
    """A scheduled job with what decides about its move."""

    job_id: str
    version: int
    interval_seconds: int
    next_run_at_ms: int
    moved_at_ms: int | None


def is_movable(job: MovableJob, *, now_ms: int) -> bool:
    """Whether a rebalance may move a job now."""
    if job.interval_seconds * 1000 <= SLOT_MS or job.next_run_at_ms - now_ms <= NEXT_RUN_MARGIN_MS:
        return False
    return job.moved_at_ms is None or now_ms - job.moved_at_ms >= MOVE_PAUSE_MS


def plan_rebalance(
    jobs: Iterable[MovableJob], loads: Sequence[float], *, now_ms: int, most_moves: int = MOST_MOVES
) -> RebalancePlan:
    """Plan moves that each make the loads more equal, from the most loaded slots first."""
    current = list(loads)
    movable = [job for job in jobs if is_movable(job, now_ms=now_ms)]
    movable.sort(key=lambda job: (-loads[slot_of(job.next_run_at_ms)], job.job_id))
    moves: list[JobMove] = []
    for job in movable:
        if len(moves) >= most_moves:
            break
        new_ms = _best_start_ms(job, current, now_ms=now_ms)
        if new_ms == job.next_run_at_ms:
            continue
        _shift(current, job.next_run_at_ms, job.interval_seconds, sign=-1)
        _shift(current, new_ms, job.interval_seconds, sign=1)
        slots = slot_of(job.next_run_at_ms), slot_of(new_ms)
        moves.append(JobMove(job.job_id, job.version, *slots, job.next_run_at_ms, new_ms))
    return RebalancePlan(
        moves=tuple(moves),
        score_before=distribution_score(loads),
        score_after=distribution_score(current),
    )


def _best_start_ms(job: MovableJob, loads: Sequence[float], *, now_ms: int) -> int:
    """Return the start that makes the loads most equal; the present one where none makes them more so."""
    without = list(loads)
    _shift(without, job.next_run_at_ms, job.interval_seconds, sign=-1)

    def cost(start_ms: int) -> float:
        occupied = occupied_slots(slot_of(start_ms), job.interval_seconds * 1000)
        return sum(2 * without[slot] * runs + runs * runs for slot, runs in occupied)

    best, lowest = job.next_run_at_ms, cost(job.next_run_at_ms) - _LEAST_GAIN
    for start_ms in _starts(job, now_ms=now_ms):
        if (found := cost(start_ms)) < lowest:
            best, lowest = start_ms, found - _LEAST_GAIN
    return best


def _starts(job: MovableJob, *, now_ms: int) -> Iterator[int]:
    """Yield possible starts, the nearest first."""
    most = min(job.interval_seconds * 1000, DAY_MS) // 2 // SLOT_MS
    for distance in range(1, most + 1):
        for start_ms in (
            job.next_run_at_ms + distance * SLOT_MS,
            job.next_run_at_ms - distance * SLOT_MS,
        ):
            if start_ms - now_ms > NEXT_RUN_MARGIN_MS:
                yield start_ms


def _shift(loads: list[float], start_ms: int, interval_seconds: int, *, sign: int) -> None:
    for slot, runs in occupied_slots(slot_of(start_ms), interval_seconds * 1000):
        loads[slot] += sign * runs

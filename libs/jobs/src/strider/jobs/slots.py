"""Slots (BucketMap): the 96 quarters of an hour of a day (UTC), and their loads. Pure.

The load of a slot is the number of runs that start in it each day: a job of six hours adds one to each of
four slots, a weekly job a seventh to one, a job of five minutes three to every slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from statistics import fmean, pstdev
from typing import Final, NamedTuple

SLOTS: Final = 96
SLOT_MS: Final = 900_000
DAY_MS: Final = SLOTS * SLOT_MS

_DIGITS: Final = 6
"""Loads are compared to so many digits: sums of fractions differ in the last ones."""


class SlotGroup(NamedTuple):
    """Jobs with the same interval and their phase in the same slot."""

    slot: int
    interval_seconds: int
    jobs: int


def slot_of(time_ms: int) -> int:
    """Return the slot of a time."""
    return time_ms % DAY_MS // SLOT_MS


def slot_time(slot: int) -> str:
    """Return the time of day at which a slot begins."""
    hours, quarters = divmod(slot, 4)
    return f"{hours:02}:{quarters * 15:02}"


def occupied_slots(slot: int, interval_ms: int) -> Iterator[tuple[int, float]]:
    """Yield the slots that a job's runs start in, with the number of runs a day, from its phase's slot."""
    if interval_ms <= SLOT_MS:
        yield from ((each, SLOT_MS / interval_ms) for each in range(SLOTS))
    elif interval_ms >= DAY_MS:
        yield slot, DAY_MS / interval_ms
    else:
        for start_ms in range(0, DAY_MS, interval_ms):
            yield (slot + start_ms // SLOT_MS) % SLOTS, 1.0


def slot_loads(groups: Iterable[SlotGroup]) -> list[float]:
    """Return the load of each slot."""
    loads = [0.0] * SLOTS
    for group in groups:
        for slot, runs in occupied_slots(group.slot, group.interval_seconds * 1000):
            loads[slot] += runs * group.jobs
    return loads


def offset_ms(job_id: str, interval_ms: int) -> int:
    """Return a job's place within its slot: by its id, so that the jobs of a slot do not start at once."""
    return int.from_bytes(sha256(job_id.encode()).digest()[:6]) % min(SLOT_MS, interval_ms)


def choose_phase_ms(job_id: str, interval_ms: int, *, loads: Sequence[float], now_ms: int) -> int:
    """Return the first run of a new or resumed job: within an interval and a day, in the least loaded slot.

    Of equal ones the earliest; a job that runs more often than a slot is long runs at its next offset.
    """
    step = min(SLOT_MS, interval_ms)
    first = now_ms + (offset_ms(job_id, interval_ms) - now_ms) % step
    candidates = range(first, max(now_ms + min(interval_ms, DAY_MS), first + 1), step)
    return min(candidates, key=lambda start: (load_at(loads, start, interval_ms), start))


def load_at(loads: Sequence[float], phase_ms: int, interval_ms: int) -> float:
    """Return the load of the slots that a job of this phase occupies."""
    return round(
        sum(loads[slot] * runs for slot, runs in occupied_slots(slot_of(phase_ms), interval_ms)), _DIGITS
    )


def distribution_score(loads: Sequence[float]) -> float:
    """Return 1 - standard deviation / mean, within 0 to 1; 1 for no load."""
    mean = fmean(loads)
    return 1.0 if mean == 0 else min(1.0, max(0.0, 1.0 - pstdev(loads) / mean))

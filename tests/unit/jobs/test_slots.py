"""Slots of the day: loads, the least loaded one, and the score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.jobs.slots import (
    DAY_MS,
    SLOT_MS,
    SLOTS,
    SlotGroup,
    choose_phase_ms,
    distribution_score,
    load_at,
    offset_ms,
    slot_loads,
    slot_of,
    slot_time,
)

from .builders import EMPTY, HOUR_MS, MINUTE_MS, NOW_MS

INTERVALS = st.integers(60, 366 * 86_400).map(lambda seconds: seconds * 1000)
LOADS = st.lists(st.integers(0, 5).map(float), min_size=SLOTS, max_size=SLOTS)


@pytest.mark.req("S1.10.1")
def test_slots_are_quarters_of_an_hour() -> None:
    assert (SLOTS, SLOT_MS) == (96, 15 * MINUTE_MS)
    assert [slot_time(slot) for slot in (0, 1, 47, 95)] == ["00:00", "00:15", "11:45", "23:45"]
    assert slot_of(NOW_MS) == 48
    assert slot_of(NOW_MS + 14 * MINUTE_MS) == 48


def test_a_job_loads_each_slot_that_it_runs_in() -> None:
    six_hours = slot_loads([SlotGroup(3, 21_600, jobs=2)])
    weekly = slot_loads([SlotGroup(5, 7 * 86_400, jobs=7)])
    five_minutes = slot_loads([SlotGroup(5, 300, jobs=1)])

    assert {slot: load for slot, load in enumerate(six_hours) if load} == {3: 2, 27: 2, 51: 2, 75: 2}
    assert {slot: round(load, 9) for slot, load in enumerate(weekly) if load} == {5: 1}
    assert five_minutes == [3.0] * SLOTS


@given(st.text(min_size=1), INTERVALS, LOADS, st.integers(0, 2**41))
def test_the_first_run_is_in_a_least_loaded_slot_within_an_interval_and_a_day(
    job_id: str, interval: int, loads: list[float], now: int
) -> None:
    phase = choose_phase_ms(job_id, interval, loads=loads, now_ms=now)

    step = min(SLOT_MS, interval)
    assert now <= phase < now + max(min(interval, DAY_MS), step)
    assert phase % step == offset_ms(job_id, interval)
    others = range(phase % step + now - now % step + step, now + min(interval, DAY_MS), step)
    assert all(load_at(loads, phase, interval) <= load_at(loads, each, interval) for each in others)


@pytest.mark.req("S1.10.2", part="the choice of the slot")
def test_new_jobs_fill_the_day_evenly() -> None:
    groups: list[SlotGroup] = []
    for number in range(2 * SLOTS):
        phase = choose_phase_ms(f"job-{number}", DAY_MS, loads=slot_loads(groups), now_ms=NOW_MS)
        groups.append(SlotGroup(slot_of(phase), 86_400, jobs=1))

    assert slot_loads(groups) == [2.0] * SLOTS
    assert distribution_score(slot_loads(groups)) == 1.0


def test_the_first_of_equal_slots_is_taken() -> None:
    assert choose_phase_ms("job-1", 6 * HOUR_MS, loads=EMPTY, now_ms=NOW_MS) < NOW_MS + SLOT_MS


@pytest.mark.req("S1.10.7", part="the formula")
def test_the_score() -> None:
    assert distribution_score(EMPTY) == 1.0
    assert distribution_score([2.0] * SLOTS) == 1.0
    assert distribution_score([1.0, 3.0] * 48) == 0.5  # mean 2, deviation 1
    assert distribution_score([96.0] + [0.0] * 95) == 0.0


@given(LOADS)
def test_the_score_is_within_0_and_1(loads: list[float]) -> None:
    assert 0.0 <= distribution_score(loads) <= 1.0

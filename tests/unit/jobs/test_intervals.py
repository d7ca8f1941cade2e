"""Intervals, the phase of regular runs, and back-off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.jobs.errors import InvalidJobField
from strider.jobs.intervals import (
    MAX_INTERVAL_SECONDS,
    interval_seconds,
    next_regular_run_ms,
    parse_interval_type,
    retry_wait_seconds,
)
from strider.jobs.models import IntervalType

from .builders import HOUR_MS, MINUTE_MS, NOW_MS


@pytest.mark.req("S1.4.1", part="units and their lengths")
def test_units() -> None:
    assert [interval_seconds(6, unit) for unit in IntervalType] == [360, 21_600, 518_400]


@pytest.mark.parametrize(
    "number", [0, -1, 10**12, 1 << 200, 1.5, "30", True, None], ids=lambda number: type(number).__name__
)
def test_a_bad_number_is_refused_by_field(number: object) -> None:
    with pytest.raises(InvalidJobField, match=r"^interval_minutes: ") as refused:
        interval_seconds(number, IntervalType.MINUTES)

    assert refused.value.field == "interval_minutes"
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("name", ["weeks", "", "Minutes", None, 3, "x" * 10_000])
def test_a_bad_unit_is_refused_by_field(name: object) -> None:
    with pytest.raises(
        InvalidJobField, match=r"^interval_type: .* is none of minutes, hours, days"
    ) as refused:
        parse_interval_type(name)

    assert len(str(refused.value)) < 200


def test_the_longest_interval_is_a_year_in_each_unit() -> None:
    for unit, most in zip(IntervalType, (527_040, 8_784, 366), strict=True):
        assert interval_seconds(most, unit) == MAX_INTERVAL_SECONDS
        with pytest.raises(InvalidJobField, match=f"not within 1 to {most} {unit}"):
            interval_seconds(most + 1, unit)


@given(st.integers(0, 2**42), st.integers(1_000, MAX_INTERVAL_SECONDS * 1000), st.integers(0, 2**42))
def test_the_next_run_keeps_the_phase_and_is_the_first_after_now(phase: int, interval: int, now: int) -> None:
    following = next_regular_run_ms(phase, interval, now_ms=now)

    assert (following - phase) % interval == 0
    assert now < following <= now + interval


@pytest.mark.req("S1.10.4", part="the next run of a phase")
def test_an_outage_is_followed_by_one_run() -> None:
    planned = NOW_MS + 15 * MINUTE_MS

    for late in (7 * HOUR_MS, 7 * HOUR_MS + 20 * MINUTE_MS):
        assert next_regular_run_ms(planned, HOUR_MS, now_ms=planned + late) == planned + 8 * HOUR_MS


@pytest.mark.req("S1.11.1", part="the formula, with 1920 s between 960 and 3600 s")
def test_waits_before_retries() -> None:
    assert [retry_wait_seconds(60, attempt) for attempt in range(1, 9)] == [
        *(60, 120, 240, 480, 960, 1920, 3600, 3600)
    ]
    assert retry_wait_seconds(1, 10_000) == 3600

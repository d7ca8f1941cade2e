"""The adaptive interval: its curve, and what does not change it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.jobs.adaptive import ADAPTIVE_CAP_SECONDS, ChangeHistory, adaptive_interval_seconds, record_hash

from .builders import NOW_MS

BASELINE = 1800
CURVE = [1800, 3600, 7200, 14_400, 28_800, 57_600, 86_400, 86_400]


def _after(*hashes: str) -> ChangeHistory:
    history = None
    for number, each in enumerate(hashes):
        history = record_hash(history, each, baseline_seconds=BASELINE, now_ms=NOW_MS + number)
    assert history is not None
    return history


@pytest.mark.req("S0.2.4", "S0.2.6", "S0.2.7", part="the curve")
def test_unchanged_runs_double_the_interval_up_to_a_day() -> None:
    found = [_after(*["same"] * (1 + count)).interval_seconds for count in range(8)]

    assert found == CURVE


@pytest.mark.req("S0.2.3", part="the curve")
def test_a_change_returns_to_the_baseline() -> None:
    changed = _after("a", "a", "a", "b")

    assert (changed.interval_seconds, changed.unchanged_count, changed.last_hash) == (BASELINE, 0, "b")
    assert changed.last_change_at_ms == NOW_MS + 3


@pytest.mark.req("S0.2.15", part="the curve")
def test_a_run_without_a_hash_changes_nothing() -> None:
    assert _after("a", "a", "") == _after("a", "a")
    assert _after("") == ChangeHistory(baseline_seconds=BASELINE)


@pytest.mark.req("S0.2.5", part="the curve")
@given(st.integers(1, 40_000_000), st.integers(0, 10**9), st.integers(1, 200_000))
def test_an_interval_is_never_below_its_baseline(baseline: int, count: int, cap: int) -> None:
    found = adaptive_interval_seconds(baseline, count, cap_seconds=cap)

    assert found >= baseline
    assert found <= max(baseline, cap)


def test_another_baseline_holds_at_once() -> None:
    longer = record_hash(_after("a", "a"), "a", baseline_seconds=3600, now_ms=NOW_MS)

    assert longer.interval_seconds == 4 * 3600


def test_a_baseline_beyond_the_cap_stays() -> None:
    assert adaptive_interval_seconds(2 * ADAPTIVE_CAP_SECONDS, 3) == 2 * ADAPTIVE_CAP_SECONDS

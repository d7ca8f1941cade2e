"""The curve of the adaptive interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.jobs.adaptive import ADAPTIVE_CAP_SECONDS, adaptive_interval_seconds

BASELINE = 1800
CURVE = [1800, 3600, 7200, 14_400, 28_800, 57_600, 86_400, 86_400]


@pytest.mark.req("S0.2.4", "S0.2.6", "S0.2.7", part="the curve")
def test_unchanged_runs_double_the_interval_up_to_a_day() -> None:
    found = [adaptive_interval_seconds(BASELINE, count) for count in range(8)]

    assert found == CURVE


@pytest.mark.req("S0.2.5", part="the curve")
@given(st.integers(1, 40_000_000), st.integers(0, 10**9), st.integers(1, 200_000))
def test_an_interval_is_never_below_its_baseline(baseline: int, count: int, cap: int) -> None:
    found = adaptive_interval_seconds(baseline, count, cap_seconds=cap)

    assert found >= baseline
    assert found <= max(baseline, cap)


def test_a_baseline_beyond_the_cap_stays() -> None:
    assert adaptive_interval_seconds(2 * ADAPTIVE_CAP_SECONDS, 3) == 2 * ADAPTIVE_CAP_SECONDS

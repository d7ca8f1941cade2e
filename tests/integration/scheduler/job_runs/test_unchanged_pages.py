"""The adaptive interval of jobs of the API, on a running scheduler: forced runs are compared, too."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from .adaptive_histories import CURVE, History
from .job_client import whole_intervals

Histories = dict[str, asyncio.Task[History]]

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.timeout(900)]


@pytest.mark.req("S0.2.3", "S0.2.4", "S0.2.5", "S0.2.6", "S0.2.7", "S0.2.12", "S0.2.13")
@pytest.mark.req("S1.2.17", "S1.8.1", "S1.10.4")
async def test_unchanged_runs_double_the_interval_up_to_a_day_and_a_change_resets_it(
    histories: Histories,
) -> None:
    """Nothing is said about adaptation: that it is on is the default. The phase stays."""
    found = await histories["curve"]
    phase, own = found.job["next_run_at"], timedelta(minutes=30)

    assert found.job["adaptive_scheduling"] is True
    assert found.job["current_interval_seconds"] == 1800
    assert {each["status"] for each in found.executions} == {"completed"}
    assert found.intervals == [*CURVE, 1800]
    assert all(whole_intervals(phase, each["next_run_at"], own) for each in found.states)


@pytest.mark.req("S0.2.14", "S1.2.11")
async def test_a_job_that_opts_out_keeps_its_interval(histories: Histories) -> None:
    found = await histories["fixed"]

    assert {each["status"] for each in found.executions} == {"completed"}
    assert found.intervals == [1800] * 3
    phase, own = found.job["next_run_at"], timedelta(minutes=30)
    assert all(whole_intervals(phase, each["next_run_at"], own) for each in found.states)


@pytest.mark.req("S0.2.15")
@pytest.mark.parametrize(
    ("how", "outcome"),
    [pytest.param("missing", "not_found", id="404"), pytest.param("late", "timed_out", id="timeout")],
)
async def test_a_start_page_that_cannot_be_loaded_is_neither_a_change_nor_a_reward(
    histories: Histories, how: str, outcome: str
) -> None:
    """The run between two equal ones has no hash: the interval stays, and the count continues after it."""
    found = await histories[how]
    failed = found.executions[2]

    assert [each["status"] for each in found.executions] == ["completed", "completed", "failed", "completed"]
    assert failed["items_crawled"] == 0
    assert "no start page could be fetched" in failed["error_message"]
    assert set(found.outcomes) == {"fetched", outcome}
    assert found.intervals == [1800, 3600, 3600, 7200]

"""Rebalance plans: they make the loads more equal, and leave jobs that may not be moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.jobs.rebalance import MovableJob, is_movable, plan_rebalance
from strider.jobs.slots import SlotGroup, distribution_score, slot_loads, slot_of

from .builders import HOUR_MS, MINUTE_MS, NOW_MS

DAY_SECONDS = 86_400
JOBS = st.lists(
    st.tuples(
        st.integers(-60, 1440), st.sampled_from([300, 1800, 21_600, DAY_SECONDS, 7 * DAY_SECONDS]),
        st.none() | st.integers(0, 120),
    ),
    max_size=60,
)  # fmt: skip


def _job(
    name: str, *, in_minutes: int, seconds: int = DAY_SECONDS, moved_ago: int | None = None
) -> MovableJob:
    moved = None if moved_ago is None else NOW_MS - moved_ago * MINUTE_MS
    return MovableJob(name, 1, seconds, NOW_MS + in_minutes * MINUTE_MS, moved)


def _loads(jobs: list[MovableJob]) -> list[float]:
    return slot_loads(SlotGroup(slot_of(job.next_run_at_ms), job.interval_seconds, 1) for job in jobs)


@pytest.mark.req("S1.10.5", "S1.10.6", part="the rule")
def test_what_may_be_moved() -> None:
    assert not is_movable(_job("a", in_minutes=30), now_ms=NOW_MS)
    assert is_movable(_job("a", in_minutes=31), now_ms=NOW_MS)
    assert not is_movable(_job("a", in_minutes=90, moved_ago=59), now_ms=NOW_MS)
    assert is_movable(_job("a", in_minutes=90, moved_ago=60), now_ms=NOW_MS)
    assert not is_movable(_job("a", in_minutes=90, seconds=600), now_ms=NOW_MS)


def test_a_crowd_is_distributed() -> None:
    jobs = [_job(f"job-{number}", in_minutes=6 * 60) for number in range(20)]

    plan = plan_rebalance(jobs, _loads(jobs), now_ms=NOW_MS)

    starts = {job.job_id: job.next_run_at_ms for job in jobs} | {
        move.job_id: move.new_next_run_at_ms for move in plan.moves
    }
    assert len({slot_of(start) for start in starts.values()}) == 20
    assert len(plan.moves) == 19
    assert plan.applied == 0


def test_an_even_distribution_stays() -> None:
    jobs = [_job(f"job-{number}", in_minutes=45 + 15 * number) for number in range(96)]

    assert plan_rebalance(jobs, _loads(jobs), now_ms=NOW_MS).moves == ()


def test_a_plan_has_an_end() -> None:
    jobs = [_job(f"job-{number}", in_minutes=6 * 60) for number in range(20)]

    assert len(plan_rebalance(jobs, _loads(jobs), now_ms=NOW_MS, most_moves=3).moves) == 3


@given(JOBS)
def test_a_plan_never_makes_it_worse_and_moves_by_half_an_interval_at_most(
    drawn: list[tuple[int, int, int | None]],
) -> None:
    jobs = [
        _job(f"job-{number}", in_minutes=at, seconds=seconds, moved_ago=moved)
        for number, (at, seconds, moved) in enumerate(drawn)
    ]
    known = {job.job_id: job for job in jobs}

    plan = plan_rebalance(jobs, _loads(jobs), now_ms=NOW_MS)

    assert plan.score_before == distribution_score(_loads(jobs))
    assert plan.score_after >= plan.score_before
    for move in plan.moves:
        job = known[move.job_id]
        assert is_movable(job, now_ms=NOW_MS)
        assert move.new_next_run_at_ms > NOW_MS + 30 * MINUTE_MS
        moved_ms = abs(move.new_next_run_at_ms - job.next_run_at_ms)
        assert moved_ms <= min(job.interval_seconds * 1000, 24 * HOUR_MS) // 2

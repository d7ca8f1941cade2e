"""Slots in PostgreSQL: loads, distribution and rebalance."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Final

from strider.jobs.lifecycle import FARTHEST_RUN_MS, bring_forward, slot_in_use
from strider.jobs.models import Distribution, JobMove, RebalancePlan, SlotLoad
from strider.jobs.rebalance import MOVE_PAUSE_MS, NEXT_RUN_MARGIN_MS, MovableJob, plan_rebalance
from strider.jobs.slots import SLOTS, SlotGroup, distribution_score, slot_loads
from strider.storage.postgres import Connection, Postgres

from .rows import DUE, JOB_COLUMNS, job_of, listed, milliseconds_of, time_of

_GROUPS: Final = """
    SELECT slot, current_interval_seconds, count(*) FROM jobs
     WHERE slot IS NOT NULL AND current_interval_seconds IS NOT NULL GROUP BY 1, 2
"""

_MOST_CONSIDERED: Final = 2_000
"""Jobs that one plan looks at; the next plan looks at the others."""

_MOVABLE: Final = """
    SELECT id, version, current_interval_seconds, next_run_at, moved_at FROM jobs
     WHERE slot = ANY($1::smallint[]) AND status = 'scheduled' AND lock_token IS NULL
       AND next_run_at = phase_at AND next_run_at > $2 AND (moved_at IS NULL OR moved_at <= $3)
     ORDER BY array_position($1::smallint[], slot), id LIMIT $4
"""

FARTHEST_RUN: Final = timedelta(milliseconds=FARTHEST_RUN_MS)

_MOVE: Final = """
    UPDATE jobs SET next_run_at = planned.new_run, phase_at = planned.new_run, slot = planned.slot,
                    moved_at = $6, updated_at = $6, version = jobs.version + 1
      FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $5::smallint[])
           AS planned(id, version, next_run, new_run, slot)
     WHERE jobs.id = planned.id AND jobs.version = planned.version AND next_run_at = planned.next_run
       AND status = 'scheduled' AND lock_token IS NULL
"""


_FAR: Final = f"""
    SELECT {listed(JOB_COLUMNS)} FROM jobs
     WHERE {DUE} AND next_run_at > $1::timestamptz + $2::interval
       AND next_run_at > $1::timestamptz + 2 * coalesce(current_interval_seconds, 0) * interval '1 second'
     ORDER BY next_run_at, id LIMIT $3 FOR UPDATE SKIP LOCKED
"""  # noqa: S608  # fixed texts

_BRING_FORWARD: Final = """
    UPDATE jobs SET next_run_at = planned.next_run, phase_at = planned.phase, slot = planned.slot,
                    updated_at = $5
      FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::smallint[])
           AS planned(id, next_run, phase, slot)
     WHERE jobs.id = planned.id
"""


async def read_groups(connection: Connection) -> list[SlotGroup]:
    """Return the jobs on schedule by slot and interval: one index is read."""
    return [SlotGroup(*row) for row in await connection.fetch(_GROUPS)]


async def read_loads(connection: Connection) -> list[float]:
    """Return the load of each slot."""
    return slot_loads(await read_groups(connection))


class Balance:
    """Shows and changes how jobs are distributed over the day."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def distribution(self, *, now_ms: int) -> Distribution:  # noqa: ARG002  # as the port has it
        """Return how recurring jobs are distributed over the slots of a day."""
        groups = await self._postgres.run(read_groups)
        loads = slot_loads(groups)
        jobs: Counter[int] = Counter()
        for group in groups:
            jobs[group.slot] += group.jobs
        return Distribution(
            slots=tuple(SlotLoad(slot, jobs[slot], loads[slot]) for slot in range(SLOTS)),
            score=distribution_score(loads),
            jobs=jobs.total(),
        )

    async def rebalance_preview(self, *, now_ms: int) -> RebalancePlan:
        """Return the moves that a rebalance would make now."""
        return await self._postgres.run(lambda connection: _plan(connection, now_ms))

    async def rebalance(self, *, now_ms: int) -> RebalancePlan:
        """Plan moves and make them."""

        async def apply(connection: Connection) -> RebalancePlan:
            plan = await _plan(connection, now_ms)
            return replace(plan, applied=await _move(connection, plan.moves, now_ms))

        return await self._postgres.run(apply)

    async def bring_forward(self, *, now_ms: int) -> int:
        """Plan the next run of jobs again that is too far away; return how many."""
        brought, count = 0, _MOST_CONSIDERED
        while count == _MOST_CONSIDERED:
            count = await self._postgres.run(lambda connection: _bring_forward(connection, now_ms))
            brought += count
        return brought


async def _bring_forward(connection: Connection, now_ms: int) -> int:
    far = await connection.fetch(_FAR, time_of(now_ms), FARTHEST_RUN, _MOST_CONSIDERED)
    jobs = [bring_forward(job_of(row), now_ms=now_ms) for row in far]
    await connection.execute(
        _BRING_FORWARD,
        [job.job_id for job in jobs],
        [time_of(job.next_run_at_ms) for job in jobs],
        [time_of(job.phase_at_ms) for job in jobs],
        [slot_in_use(job) for job in jobs],
        time_of(now_ms),
    )
    return len(jobs)


async def _plan(connection: Connection, now_ms: int) -> RebalancePlan:
    loads = await read_loads(connection)
    order = sorted(range(SLOTS), key=lambda slot: (-loads[slot], slot))
    rows = await connection.fetch(
        _MOVABLE,
        order,
        time_of(now_ms + NEXT_RUN_MARGIN_MS),
        time_of(now_ms - MOVE_PAUSE_MS),
        _MOST_CONSIDERED,
    )
    jobs = [
        MovableJob(name, version, seconds, milliseconds_of(due) or 0, milliseconds_of(moved))
        for name, version, seconds, due, moved in rows
    ]
    return plan_rebalance(jobs, loads, now_ms=now_ms)


async def _move(connection: Connection, moves: tuple[JobMove, ...], now_ms: int) -> int:
    done = await connection.execute(
        _MOVE,
        [move.job_id for move in moves],
        [move.version for move in moves],
        [time_of(move.next_run_at_ms) for move in moves],
        [time_of(move.new_next_run_at_ms) for move in moves],
        [move.to_slot for move in moves],
        time_of(now_ms),
    )
    return int(done.rpartition(" ")[2])

"""Faults of one job, of one store or of upkeep: nothing else waits for them, and no loop ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from strider.contracts import EncodeError, UnknownSchema
from strider.jobs.states import ExecutionState
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.inprocess import simulate
from strider.scheduler.adapters.jobs.metrics import JOBS_DUE
from strider.storage.errors import StoreRejected

from .job_world import JobWorld, a_site, stop_all

SITES = ("www.a.test", "www.b.test")
REFUSED = StoreRejected("postgres", "22003", "value out of range")


def play(scenario: Callable[[JobWorld], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        world = JobWorld(a_site(*SITES, pages=1))
        await world.begin()
        await scenario(world)

    simulate(run())


def refuse(world: JobWorld, method: str, execution_id: str, *, times: int) -> None:
    """Let the store refuse a method for one execution, so many times."""
    real = getattr(world.store, method)
    left = times

    async def call(names: str | list[str], *args: Any, **kwargs: Any) -> Any:
        nonlocal left
        if execution_id in ([names] if isinstance(names, str) else names) and left:
            left -= 1
            raise REFUSED
        return await real(names, *args, **kwargs)

    setattr(world.store, method, call)


@pytest.mark.parametrize("method", ["mark_launched", "finish"])
def test_an_execution_that_the_store_refuses_delays_no_other_and_is_tried_again(method: str) -> None:
    async def scenario(world: JobWorld) -> None:
        await world.add_job("bad", f"http://{SITES[0]}/")
        await world.add_job("good", f"http://{SITES[1]}/")
        refuse(world, method, "bad-1", times=40)
        scheduler = world.start()
        await world.until_finished("good-1", seconds=60)
        is_bad_open = world.store.executions["bad-1"].completed_at_ms is None
        refuse(world, method, "none", times=0)
        await world.until_finished("bad-1", seconds=40_000)
        await stop_all(scheduler)

        assert is_bad_open
        assert {each.state for each in world.store.executions.values()} == {ExecutionState.COMPLETED}

    play(scenario)


@pytest.mark.parametrize(
    ("method", "failure"),
    [
        ("claim_due", UnknownSchema(fingerprint=b"12345678")),
        ("claim_due", ShardFenced(3)),
        ("claim_due", REFUSED),
        ("running", EncodeError("too large")),
        ("running", REFUSED),
        ("metrics", REFUSED),
    ],
)
def test_no_failure_of_a_store_ends_a_loop(method: str, failure: Exception) -> None:
    async def scenario(world: JobWorld) -> None:
        await world.add_job("job", f"http://{SITES[0]}/")
        real, left = getattr(world.store, method), 3

        async def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            if left:
                left -= 1
                raise failure
            return await real(*args, **kwargs)

        setattr(world.store, method, call)
        scheduler = world.start()
        await world.until_finished("job-1", seconds=300)
        await world.until(lambda: left == 0, seconds=300)
        await stop_all(scheduler)

    play(scenario)


def test_metrics_that_fail_do_not_keep_executions_from_being_pruned() -> None:
    async def scenario(world: JobWorld) -> None:
        async def fail(**_: Any) -> Any:
            raise Unavailable("postgres", "canceling statement due to statement timeout")

        world.store.metrics = fail  # type: ignore[method-assign]
        scheduler = world.start()
        await asyncio.sleep(3_700)
        await stop_all(scheduler)

        assert world.store.pruned == 2  # at the start, and an hour later

    play(scenario)


def test_a_pruning_that_fails_keeps_the_metrics_and_is_repeated_soon() -> None:
    async def scenario(world: JobWorld) -> None:
        real, calls = world.store.prune, 0

        async def fail_once(**times: Any) -> int:
            nonlocal calls
            calls += 1
            if calls == 1:
                raise REFUSED
            return await real(**times)

        world.store.prune = fail_once  # type: ignore[method-assign]
        scheduler = world.start()
        await asyncio.sleep(400)
        await stop_all(scheduler)

        assert (calls, world.store.pruned) == (2, 1)
        assert world.metrics.value(JOBS_DUE) is not None

    play(scenario)

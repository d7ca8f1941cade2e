"""A process ends where a dependency is away for longer than its limit, and only then."""

from __future__ import annotations

import asyncio

from strider.messaging.inprocess.virtual_clock import EventLoopClock, simulate
from strider.runtime.process.dependency_limit import limit_dependency_outage
from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.process.health import Readiness

LIMIT_SECONDS = 60.0


def exits(*changes: tuple[float, str, bool], is_vital: bool = True) -> list[tuple[float, ExitCode]]:
    """Return when the exit is requested, with these changes (time, dependency, whether it responds)."""

    async def live() -> list[tuple[float, ExitCode]]:
        clock = EventLoopClock()
        began, found = clock.monotonic(), list[tuple[float, ExitCode]]()
        readiness = Readiness(clock)
        readiness.register("postgres", is_vital=is_vital)
        limit = limit_dependency_outage(
            readiness,
            limit_seconds=LIMIT_SECONDS,
            clock=clock,
            on_exit=lambda code: found.append((clock.monotonic() - began, code)),
        )
        task = asyncio.create_task(limit)
        for at, name, ok in changes:
            await clock.sleep(began + at - clock.monotonic())
            readiness.record(name, ok=ok, detail="refused")
        await clock.sleep(10 * LIMIT_SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return found

    return simulate(live())


def test_a_dependency_that_is_away_for_the_limit_ends_the_process_once() -> None:
    assert exits((10, "postgres", True), (100, "postgres", False)) == [(160, ExitCode.UNAVAILABLE)]


def test_one_that_never_came_ends_the_startup() -> None:
    assert exits() == [(60, ExitCode.UNAVAILABLE)]


def test_outages_are_not_added_up() -> None:
    breaks = [(at, "postgres", (at // 50) % 2 == 0) for at in range(0, 1000, 50)]

    assert exits(*breaks, (1000, "postgres", True)) == []


def test_what_the_process_works_without_does_not_end_it() -> None:
    assert exits((10, "postgres", False), is_vital=False) == []

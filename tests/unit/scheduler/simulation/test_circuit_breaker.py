"""Circuit breaker in whole crawls, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from strider.contracts.generated.topics import HOSTS
from strider.messaging.inprocess import simulate
from strider.runtime.observability.log_events import LogEvent
from strider.scheduler.log_events import HOST_WAITS
from strider.scheduler.ports import NoSchedulerMeter

from .web import Host, Page, Visit, Web
from .world import SPEC, SchedulerInstance, SimulatedWorld

SITE = "www.site.test"
PATIENT = replace(SPEC, host_patience_seconds=86_400)


def a_broken_site(pages: int = 3) -> Web:
    urls = [f"http://{SITE}/{n}" for n in range(pages)]
    return Web({SITE: Host(SITE)}, {url: Page(url, "broken") for url in urls}, tuple(urls))


def pages_asked(world: SimulatedWorld) -> list[Visit]:
    return [visit for visit in world.web.log if not visit.url.endswith("/robots.txt")]


async def tripped(world: SimulatedWorld) -> None:
    while len(pages_asked(world)) < 5:
        await asyncio.sleep(0.1)
    await asyncio.sleep(1)


@pytest.mark.req("S2.1.13", "S2.1.12", "S3.19.12", "S3.19.13", "S3.19.15")
def test_a_failing_host_gets_one_request_a_minute() -> None:
    """Five failures in a row, then a request a minute to see; each URL has its four tries all the same."""

    async def scenario() -> None:
        world = SimulatedWorld(a_broken_site(), spec=PATIENT)
        await world.begin()
        scheduler = world.start()
        with capture_logs() as lines:
            await world.until_complete(scheduler)
        await scheduler.stop()

        began = [visit.began for visit in pages_asked(world)]
        assert len(began) == 12
        waits = [after - before for before, after in pairwise(began[4:])]
        assert all(60 <= wait < 62 for wait in waits)
        assert set(world.reasons().values()) == {"retries_exhausted"}
        told = [line for line in lines if line["event"] == f"Circuit Breaker Tripped for {SITE}"]
        assert len(told) == 8
        assert {(line["group"], line["why"]) for line in told} == {(SITE, "breaker")}

    simulate(scenario())


@pytest.mark.req("S5.2.1", part="an open circuit breaker, over a restart and an emptied working set")
@pytest.mark.parametrize("is_lost", [pytest.param(False, id="restart"), pytest.param(True, id="redis-lost")])
def test_an_open_breaker_survives(is_lost: bool) -> None:
    """C-8: a scheduler that comes back, even to an empty working set, leaves the host alone as long."""

    async def scenario() -> None:
        world = SimulatedWorld(a_broken_site(), spec=PATIENT)
        await world.begin()
        scheduler = world.start()
        await tripped(world)
        fifth = pages_asked(world)[4]
        await scheduler.kill()
        if is_lost:
            world.lose_frontier()
        last = world.start()
        while len(pages_asked(world)) < 6:
            await asyncio.sleep(0.1)
        await last.stop()

        assert pages_asked(world)[5].began >= fifth.ended + 60
        assert "open" in {host.breaker for host in world.published(HOSTS)}

    simulate(scenario())


def test_a_host_that_stays_broken_does_not_hold_up_the_end() -> None:
    """With two minutes of patience, what is left of it after those is closed as unavailable."""

    async def scenario() -> None:
        world = SimulatedWorld(a_broken_site(40), spec=replace(SPEC, host_patience_seconds=120))
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=1_000)
        await scheduler.stop()

        reasons = list(world.reasons().values())
        assert set(reasons) == {"host_unavailable"}
        assert len(reasons) == 40
        assert len(pages_asked(world)) < 10

    simulate(scenario())


class Waits(NoSchedulerMeter):
    """A meter that keeps the hosts that runs wait for."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []

    def note_run_event(self, event: LogEvent, job_id: str, execution_id: str, kind: str, count: int) -> None:
        if event is HOST_WAITS:
            self.noted.append((execution_id, kind.partition(" until ")[0]))


def test_the_runs_of_a_blocked_host_have_it_in_their_logs() -> None:
    """The run whose request failed, and one that begins while the host is blocked; once for each block."""

    async def scenario() -> None:
        world = SimulatedWorld(a_broken_site(), spec=PATIENT)
        world.meter = waits = Waits()
        await world.begin()
        scheduler = world.start()
        await tripped(world)
        first = list(waits.noted)
        for number in (8, 9):
            url = f"http://{SITE}/{number}"
            await world.pipeline.discover([url], via="seed", from_execution_ids=("later",), offset=number)
            await asyncio.sleep(2)
        await scheduler.kill()

        assert first == [("run", SITE)]
        assert waits.noted == [("run", SITE), ("later", SITE)]

    simulate(scenario())


@pytest.mark.req("S3.19.14", "S3.19.16")
def test_a_host_that_is_well_again_is_crawled_as_before() -> None:
    urls = [f"http://{SITE}/{n}" for n in range(4)]
    pages = {url: Page(url, "flaky") for url in urls}

    async def scenario() -> None:
        world = SimulatedWorld(Web({SITE: Host(SITE)}, pages, tuple(urls)), spec=PATIENT)
        await world.begin()
        scheduler: SchedulerInstance = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()

        assert world.web.tries == dict.fromkeys(urls, 3) | {f"http://{SITE}/robots.txt": 1}
        assert world.reasons() == {}
        last = world.published(HOSTS)[-1]
        assert (last.breaker, last.blocked_until_ms) == ("closed", 0)

    simulate(scenario())

"""Runs of which nothing comes, and runs with a service that is dead for an hour: each ends, once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import FetchRequested, JobEvent
from strider.contracts.generated.topics import LINKS_DISCOVERED
from strider.messaging.inprocess import simulate
from tests.unit.scheduler.simulation.pipeline import SimulatedPipeline
from tests.unit.scheduler.simulation.web import Host, Page, SimulatedResponse, Web
from tests.unit.scheduler.simulation.world import SPEC

from .ending_world import SITE, EndingWorld, a_site, numbered

HOUR = 3_600.0


def run_to_its_end(world_of: Callable[[], EndingWorld], *seeds: str) -> tuple[JobEvent, EndingWorld]:
    """Close a run of these seeds, and wait for its end."""

    async def scenario() -> tuple[JobEvent, EndingWorld]:
        world = world_of()
        await world.begin_seeds()
        scheduler = world.start()
        await world.send_seeds(*(seeds or world.web.starts))
        await world.command("close")
        await world.until_ended()
        end = await world.check_ended()
        await scheduler.stop()
        return end, world

    return simulate(scenario())


def test_a_run_whose_seeds_are_all_refused_ends_with_zeros() -> None:
    end, world = run_to_its_end(lambda: EndingWorld(a_site()), "http://127.0.0.1/", "http://10.0.0.1:81/")

    assert (end.counts, end.pages, end.state_after) == ({"accepted": 0}, 0, "completed")
    assert len(world.reasons()) == 2


def test_a_run_whose_urls_are_all_denied_ends_with_their_reason() -> None:
    denied = f"http://{SITE}/private/1"
    web = Web({SITE: Host(SITE, "denying")}, {denied: Page(denied)}, (denied,))
    end, _ = run_to_its_end(lambda: EndingWorld(web))

    assert (end.counts, end.pages, end.start_pages) == ({"accepted": 1, "robots_denied": 1}, 0, 0)


class LeavingWeb(Web):
    """Its host is away after so many responses."""

    def __init__(self, responses: int, *parts: Any) -> None:
        super().__init__(*parts)
        self.responses = responses

    def respond(self, url: str, chance: Any, *, etag: str = "") -> SimulatedResponse:
        self.responses -= 1
        if self.responses < 0:
            self.hosts[SITE] = Host(SITE, "gone")
        return super().respond(url, chance, etag=etag)


def test_a_run_ends_when_its_host_goes_away_in_the_middle() -> None:
    site = a_site(*numbered(20))
    web = LeavingWeb(6, site.hosts, site.pages, site.starts)
    spec = replace(SPEC, host_patience_seconds=300)
    end, _ = run_to_its_end(lambda: EndingWorld(web, spec=spec))

    assert end.pages == 5
    assert end.counts["host_unavailable"] > 0
    assert sum(count for name, count in end.counts.items() if name != "accepted") == 21


async def stop_schedulers(world: EndingWorld) -> Callable[[], Awaitable[None]]:
    assert world.running is not None
    await world.running.kill()

    async def start() -> None:
        world.running = world.start()

    return start


async def stop_intake(world: EndingWorld) -> Callable[[], Awaitable[None]]:
    await world.kill_intake()

    async def start() -> None:
        world.start_intake()

    return start


async def stop_pipeline(world: EndingWorld) -> Callable[[], Awaitable[None]]:
    world.pipeline.is_running.clear()

    async def start() -> None:
        world.pipeline.is_running.set()

    return start


@pytest.mark.parametrize(
    ("stop", "seconds"),
    [
        pytest.param(stop_schedulers, 0.5, id="schedulers-at-its-seeds"),
        pytest.param(stop_schedulers, 6.0, id="schedulers-in-the-middle"),
        pytest.param(stop_intake, 0.5, id="link-ingestion-at-its-seeds"),
        pytest.param(stop_pipeline, 0.5, id="pipeline-at-its-seeds"),
        pytest.param(stop_pipeline, 6.0, id="pipeline-in-the-middle"),
    ],
)
@pytest.mark.fault("F1", part="each service dead for an hour while a run ends, simulated")
def test_a_service_that_is_dead_for_an_hour_delays_the_end_and_brings_none_about(
    stop: Callable[[EndingWorld], Awaitable[Callable[[], Awaitable[None]]]], seconds: float
) -> None:
    async def scenario() -> tuple[JobEvent, float]:
        world = EndingWorld(a_site(*numbered(8)))
        world.slow_intake_seconds = 1.0
        await world.begin_seeds()
        world.running = world.start()
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        await asyncio.sleep(seconds)
        start = await stop(world)
        await asyncio.sleep(HOUR)
        ended_early = world.ends()
        await start()
        await world.until_ended()
        end = await world.check_ended()
        await world.running.stop()
        assert not ended_early
        return end, world.clock.monotonic()

    end, took = simulate(scenario())
    assert end.counts == {"accepted": 9, "settled": 9}
    assert took > HOUR


def test_a_seed_whose_links_are_published_and_not_committed_holds_its_run_up() -> None:
    """Link-ingestion is killed between its two writes, and its links are crawled long before it is back."""

    async def scenario() -> EndingWorld:
        world = EndingWorld(a_site(*numbered(2)))
        world.slow_intake_seconds = 4.0
        await world.begin_seeds()
        world.running = world.start()
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        while not world.published(LINKS_DISCOVERED):
            await asyncio.sleep(0.05)
        await world.kill_intake()
        await asyncio.sleep(HOUR)
        assert {entry.state for entry in world.last_records()} == {"completed"}
        assert not world.ends()
        world.start_intake()
        await world.until_ended()
        end = await world.check_ended()
        await world.running.stop()
        assert end.counts == {"accepted": 3, "settled": 3}
        return world

    world = simulate(scenario())
    assert Counter(visit.url for visit in world.web.log)[world.web.starts[0]] == 1


class InterruptedPipeline(SimulatedPipeline):
    """Each page's links are published an hour before its settlement, and a second time with it."""

    async def _settle(self, request: FetchRequested, answer: SimulatedResponse) -> None:
        await self.discover(answer.links, page=request.url)
        await self.clock.sleep(HOUR)
        await super()._settle(request, answer)


def test_a_page_whose_links_are_published_and_not_settled_holds_its_run_up() -> None:
    """The same kill at a page: its links are repeated, and none of them is fetched twice."""

    async def scenario() -> tuple[JobEvent, EndingWorld]:
        world = EndingWorld(a_site(*numbered(3)))
        world.pipeline = InterruptedPipeline(
            world.web, world.pipeline.publisher, world.clock, world.pipeline.marks
        )
        await world.begin_seeds()
        world.running = world.start()
        await world.send_seeds(*world.web.starts)
        await world.command("close")
        await asyncio.sleep(HOUR - 100)
        assert not world.ends()
        await world.until_ended(seconds=3 * HOUR)
        end = await world.check_ended()
        await world.running.stop()
        return end, world

    end, world = simulate(scenario())
    assert end.counts == {"accepted": 4, "settled": 4}
    assert set(world.web.tries.values()) == {1}

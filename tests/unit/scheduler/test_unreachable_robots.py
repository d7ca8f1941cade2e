"""URLs that wait in vain for an unreachable robots.txt, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from strider.contracts.generated.topics import HOSTS, URLS_DECIDED
from strider.messaging.inprocess import simulate

from .simulation.web import Host, Page, Web
from .simulation.world import SPEC, SimulatedWorld

SITE = "www.site.test"
ORIGIN = f"http://{SITE}"
PATIENCE_SECONDS = 90


def a_site(robots: str) -> Web:
    urls = [f"{ORIGIN}/{number}" for number in range(3)]
    return Web({SITE: Host(SITE, robots)}, {url: Page(url) for url in urls}, tuple(urls))


def details(world: SimulatedWorld) -> dict[str, str]:
    return {
        url: detail
        for event in world.published(URLS_DECIDED)
        for url, detail in zip(event.urls, event.details, strict=True)
    }


@pytest.mark.parametrize(
    ("robots", "restart"),
    [
        pytest.param("down", "", id="500"),
        pytest.param("overloaded", "", id="503"),
        pytest.param("overloaded", "kill", id="503-restart"),
        pytest.param("overloaded", "loss", id="503-redis-lost"),
    ],
)
def test_the_decision_names_robots_its_status_and_the_last_request(robots: str, restart: str) -> None:
    """The third 503 is a backoff of the host as well, which hides no reason; nor does a restart."""

    async def scenario() -> None:
        world = SimulatedWorld(a_site(robots), spec=replace(SPEC, host_patience_seconds=PATIENCE_SECONDS))
        await world.begin()
        scheduler = world.start()
        while len(world.web.log) < 3:
            await asyncio.sleep(0.1)
        await asyncio.sleep(2)
        if restart:
            await scheduler.kill()
            if restart == "loss":
                world.lose_frontier()
            scheduler = world.start()
        await world.until_complete(scheduler, seconds=1_000)
        await scheduler.stop()

        assert set(world.reasons()) == set(world.web.starts)
        assert set(world.reasons().values()) == {"robots_unreachable"}
        status = {"down": 500, "overloaded": 503}[robots]
        (detail,) = set(details(world).values())
        assert detail.startswith(f"robots.txt of {ORIGIN}: status {status}, last requested ")
        assert ", unreachable since " in detail

    simulate(scenario())


def test_a_robots_request_without_outcome_is_recorded_as_failed() -> None:
    """Its fetcher was killed: the time and the failure are in the log of hosts, as after a response."""

    async def scenario() -> None:
        spec = replace(SPEC, host_patience_seconds=PATIENCE_SECONDS)
        world = SimulatedWorld(a_site("fine"), spec=spec, lost_outcomes=1.0)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler, seconds=1_000)
        await scheduler.stop()

        assert set(world.reasons().values()) == {"host_unavailable"}
        text = f"robots.txt of {ORIGIN}: no outcome, last requested "
        assert [detail.startswith(text) for detail in details(world).values()] == [True] * 3
        records = [record for record in world.published(HOSTS) if record.origin == ORIGIN]
        assert [record.robots_failures for record in records] == [*range(1, len(records) + 1)]
        assert {record.robots_state for record in records} == {"unreachable"}
        assert all(record.robots_asked_at_ms for record in records)

    simulate(scenario())


def test_a_run_that_waits_for_robots_alone_is_known_as_such() -> None:
    """Until its URLs are given up; before the first response, and after the last decision, it is not."""

    async def scenario() -> None:
        world = SimulatedWorld(a_site("overloaded"), spec=replace(SPEC, host_patience_seconds=90))
        await world.begin()
        scheduler = world.start()
        assert await scheduler.scheduler.robots_waits("run") == []
        while not (waits := await scheduler.scheduler.robots_waits("run")):
            await asyncio.sleep(0.1)
        await world.until_complete(scheduler, seconds=1_000)
        after = await scheduler.scheduler.robots_waits("run")
        await scheduler.stop()

        (wait,) = waits
        assert (wait.origin, wait.urls, wait.response) == (ORIGIN, 3, "status 503")
        assert wait.since_ms < wait.next_request_ms < wait.ends_at_ms
        assert after == []

    simulate(scenario())

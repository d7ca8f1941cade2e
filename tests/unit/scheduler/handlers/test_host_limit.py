"""The number of hosts of one domain in a run is limited, whatever is killed or lost meanwhile."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from strider.messaging.inprocess import simulate
from tests.unit.scheduler.simulation.web import Host, Page, Web
from tests.unit.scheduler.simulation.world import SimulatedWorld

LIMIT = 6
NAMES = 40


def wildcard_site() -> Web:
    """Every name below the domain is a host; each page links to all of them, and to a neighbour."""
    names = ["www.wild.test", "wild.test", *(f"h{number}.wild.test" for number in range(NAMES))]
    names.append("www.neighbour.test")
    urls = tuple(f"http://{name}/{page}" for name in names for page in ("", "a"))
    return Web({name: Host(name) for name in names}, {url: Page(url, links=urls) for url in urls}, urls[:1])


def fetched_hosts(world: SimulatedWorld) -> set[str]:
    return {visit.host for visit in world.web.log if not visit.url.endswith("/robots.txt")}


@pytest.mark.fault("A6", part="hosts of a domain in a run")
@pytest.mark.fault("S16", part="host names without end")
@pytest.mark.parametrize("kills", [0, 6])
def test_a_domain_gets_no_more_hosts_than_the_limit(kills: int) -> None:
    """Each kill loses the memory of the process, each second one the working set as well."""

    async def scenario() -> SimulatedWorld:
        world = SimulatedWorld(wildcard_site(), seed=kills + 1)
        world.options = replace(world.options, max_hosts_per_domain=LIMIT)
        await world.begin()
        chance = random.Random(kills)
        for number in range(kills):
            scheduler = world.start()
            await asyncio.sleep(chance.uniform(3, 40))
            await scheduler.kill()
            if number % 2:
                world.lose_frontier()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()
        return world

    world = simulate(scenario())

    hosts = fetched_hosts(world)
    assert {"www.wild.test", "wild.test", "www.neighbour.test"} < hosts
    assert len(hosts) == 3 + LIMIT
    refused = {url for url, reason in world.reasons().items() if reason == "too_many_hosts"}
    assert {url.split("/")[2] for url in refused} == {
        f"h{number}.wild.test" for number in range(NAMES)
    } - hosts
    asked = [tries for url, tries in world.web.tries.items() if not url.endswith("/robots.txt")]
    assert len(asked) == 2 * (3 + LIMIT)


def test_no_limit_refuses_nothing() -> None:
    async def scenario() -> SimulatedWorld:
        world = SimulatedWorld(wildcard_site())
        world.options = replace(world.options, max_hosts_per_domain=0)
        await world.begin()
        scheduler = world.start()
        await world.until_complete(scheduler)
        await scheduler.stop()
        return world

    assert len(fetched_hosts(simulate(scenario()))) == NAMES + 3

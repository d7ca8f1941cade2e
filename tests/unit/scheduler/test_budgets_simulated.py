"""Budgets of whole crawls: exact, whoever owns the shards and whatever is lost on the way."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from strider.runtime.inprocess import simulate

from .web import Host, Page, Web
from .world import SPEC, World

HOSTS = 9
PAGES = 20
MOST = 60


def a_wide_site() -> Web:
    """Hosts in every shard; one has most of the pages, and some pages are missing."""
    chance = random.Random(7)
    hosts = {name: Host(name) for name in (f"www.wide{number}.test" for number in range(HOSTS))}
    first = next(iter(hosts))
    urls = [f"http://{first}/p{n}" for n in range(PAGES * 3)]
    urls += [f"http://{name}/p{n}" for name in hosts if name != first for n in range(PAGES // 4)]
    pages = {url: Page(url, "missing" if chance.random() < 0.1 else "fine") for url in urls}
    start = f"http://{first}/"
    return Web(hosts, pages | {start: Page(start, links=tuple(urls))}, (start,))


def fetched(world: World) -> int:
    return sum(
        visit.outcome == "fetched" and not visit.url.endswith("/robots.txt") for visit in world.web.log
    )


@pytest.mark.parametrize(
    ("kills", "is_lost"),
    [
        pytest.param(0, False, id="undisturbed"),
        pytest.param(4, False, id="restarted"),
        pytest.param(4, True, id="rebuilt"),
    ],
)
@pytest.mark.parametrize("most", [1, 10, MOST])
def test_as_many_pages_as_the_budget_has(most: int, kills: int, is_lost: bool) -> None:
    """Never one more, and no run that waits for ever for what nobody needs."""

    async def scenario() -> World:
        spec = replace(SPEC, max_pages=most, delay_seconds=0.5)
        world = World(a_wide_site(), spec=spec, seed=most)
        await world.begin()
        chance = random.Random(most)
        for _ in range(kills):
            scheduler = world.start()
            await asyncio.sleep(chance.uniform(1, 9))
            await scheduler.kill()
            if is_lost:
                world.lose_frontier()
        last = world.start()
        await world.until_complete(last, seconds=1_000)
        await last.stop()
        return world

    world = simulate(scenario())

    assert fetched(world) == most
    untried = {url for url in world.web.pages if url not in world.web.tries}
    assert {world.reasons()[url] for url in untried if url in world.reasons()} <= {"budget"}


def test_two_schedulers_share_a_budget() -> None:
    """One comes later, takes shards over, and goes again."""

    async def scenario() -> World:
        spec = replace(SPEC, max_pages=MOST, delay_seconds=0.5)
        world = World(a_wide_site(), spec=spec)
        await world.begin()
        first = world.start()
        await asyncio.sleep(6)
        second = world.start()
        await asyncio.sleep(8)
        await first.kill()
        await world.until_complete(second, seconds=1_000)
        await second.stop()
        return world

    assert fetched(simulate(scenario())) == MOST

"""Budgets of whole crawls are exact, for every change of owners and every loss."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.messaging.inprocess import simulate
from tests.unit.scheduler.simulation.web import Host, Page, SimulatedResponse, Web
from tests.unit.scheduler.simulation.world import SPEC, SimulatedWorld

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


def fetched(world: SimulatedWorld, host: str = "") -> int:
    return sum(
        visit.outcome == "fetched" and not visit.url.endswith("/robots.txt") and host in {"", visit.host}
        for visit in world.web.log
    )


def read(world: SimulatedWorld, host: str = "") -> int:
    return sum(visit.size for visit in world.web.log if host in {"", visit.host})


async def crawled(
    web: Web, spec: CrawlSpecDeclared, *, kills: int, is_lost: bool, seed: int = 1
) -> SimulatedWorld:
    """Crawl to the end, with a scheduler that is killed and finds its working set lost or not."""
    world = SimulatedWorld(web, spec=spec, seed=seed)
    await world.begin()
    chance = random.Random(seed)
    for _ in range(kills):
        scheduler = world.start()
        await asyncio.sleep(chance.uniform(1, 9))
        await scheduler.kill()
        if is_lost:
            world.lose_frontier()
    last = world.start()
    await world.until_complete(last, seconds=3_000)
    await last.stop()
    return world


FATES = pytest.mark.parametrize(
    ("kills", "is_lost"),
    [
        pytest.param(0, False, id="undisturbed"),
        pytest.param(4, False, id="restarted"),
        pytest.param(4, True, id="rebuilt"),
    ],
)


@FATES
@pytest.mark.parametrize("most", [1, 10, MOST])
def test_as_many_pages_as_the_budget_has(most: int, kills: int, is_lost: bool) -> None:
    """Never one more, and no run that waits for ever for amounts that are not needed."""
    spec = replace(SPEC, max_pages=most, delay_seconds=0.5)

    world = simulate(crawled(a_wide_site(), spec, kills=kills, is_lost=is_lost, seed=most))

    assert fetched(world) == most
    untried = {url for url in world.web.pages if url not in world.web.tries}
    assert {world.reasons()[url] for url in untried if url in world.reasons()} <= {"budget"}


def test_two_schedulers_share_a_budget() -> None:
    """One comes later, takes shards over, and goes again."""

    async def scenario() -> SimulatedWorld:
        spec = replace(SPEC, max_pages=MOST, delay_seconds=0.5)
        world = SimulatedWorld(a_wide_site(), spec=spec)
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


@FATES
@pytest.mark.parametrize("most", [4_700, 20_500])
def test_as_many_bytes_as_the_budget_has(most: int, kills: int, is_lost: bool) -> None:
    """Pages have a thousand, and might have four: the last ones get what is left, and may be cut.

    A page that is settled while the process that would read its outcome dies costs what it cost all the same.
    """
    spec = replace(SPEC, max_bytes=most, max_body_bytes=4_000, delay_seconds=0.2)

    world = simulate(crawled(a_wide_site(), spec, kills=kills, is_lost=is_lost, seed=most))

    assert most - 1_000 < read(world) <= most
    assert {reason for url, reason in world.reasons().items() if url not in world.web.tries} == {"budget"}


@FATES
def test_hosts_and_domains_have_as_much_as_their_budgets(kills: int, is_lost: bool) -> None:
    """Each host its pages, each domain its bytes, also while the owner of the shard changes."""
    web = a_wide_site()
    hosts = {
        **web.hosts,
        **{f"{name}.wide9.test": Host(f"{name}.wide9.test") for name in ("a", "b", "c")},
    }
    more = [
        f"http://{name}/p{n}" for name in ("a.wide9.test", "b.wide9.test", "c.wide9.test") for n in range(5)
    ]
    start = web.starts[0]
    pages = web.pages | {url: Page(url) for url in more}
    pages[start] = Page(start, links=(*web.pages[start].links, *more))
    spec = replace(
        SPEC, max_pages_per_host=4, max_bytes_per_domain=7_000, max_body_bytes=2_000, delay_seconds=0.2
    )

    world = simulate(crawled(Web(hosts, pages, web.starts), spec, kills=kills, is_lost=is_lost))

    assert {name: fetched(world, name) for name in hosts if fetched(world, name) > 4} == {}
    assert fetched(world, next(iter(web.hosts))) == 4
    assert 6_000 < sum(read(world, name) for name in hosts if name.endswith("wide9.test")) <= 7_000
    assert {reason for url, reason in world.reasons().items() if url not in world.web.tries} == {"budget"}


def test_a_run_ends_when_its_time_is_over() -> None:
    """What waits is closed at once: also what is due in an hour, or behind a thousand others."""
    spec = replace(SPEC, max_seconds=20, delay_seconds=1.0)

    world = simulate(crawled(a_wide_site(), spec, kills=1, is_lost=False))

    begun = [visit.began for visit in world.web.log if not visit.url.endswith("/robots.txt")]
    assert 15 < max(begun) - min(begun) <= 21
    assert fetched(world) > 15
    assert {reason for url, reason in world.reasons().items() if url not in world.web.tries} == {"budget"}


def test_the_time_that_a_host_takes_has_an_end() -> None:
    """A tarpit costs its budget, however slowly it answers; its neighbours are not affected."""
    web = a_wide_site()
    slow, start = next(iter(web.hosts)), web.starts[0]
    pages = {
        url: replace(page, how="late") if f"//{slow}/" in url and url != start else page
        for url, page in web.pages.items()
    }
    spec = replace(SPEC, max_seconds_per_host=90, delay_seconds=0.2)

    world = simulate(crawled(Web(web.hosts, pages, web.starts), spec, kills=2, is_lost=False))

    took = {
        name: sum(visit.ended - visit.began for visit in world.web.log if visit.host == name)
        for name in web.hosts
    }
    assert 60 < took[slow] <= 91
    assert all(url in world.web.tries for url in pages if f"//{slow}/" not in url)


@dataclass
class Trap(Web):
    """A host without end: each page leads to three that were not seen before."""

    trap: str = "trap.test"

    def respond(self, url: str, chance: random.Random, *, etag: str = "") -> SimulatedResponse:
        if urlsplit(url).hostname == self.trap and not url.endswith("/robots.txt"):
            self.pages.setdefault(url, Page(url, links=tuple(f"{url}{letter}" for letter in "abc")))
        return super().respond(url, chance, etag=etag)


@pytest.mark.parametrize("kills", [0, 3])
def test_a_trap_costs_its_budget_and_nothing_else(kills: int) -> None:
    """Calendars, session ids, endless lists: the crawl ends, and all the other hosts are crawled whole."""
    web = a_wide_site()
    hosts, start = {**web.hosts, "trap.test": Host("trap.test")}, web.starts[0]
    web.pages[start] = Page(start, links=(*web.pages[start].links, "http://trap.test/"))
    spec = replace(SPEC, max_pages_per_host=70, delay_seconds=0.1)

    world = simulate(
        crawled(Trap(hosts, web.pages, web.starts), spec, kills=kills, is_lost=False, seed=kills + 1)
    )

    assert fetched(world, "trap.test") == 70
    untried = [url for url in web.pages if url not in world.web.tries and "trap" not in url]
    assert untried == []
    refused = {reason for url, reason in world.reasons().items() if url not in world.web.tries}
    assert refused == {"budget"}


@pytest.mark.parametrize("kills", [0, 3])
def test_a_budget_does_not_wait_for_outcomes_that_never_come(kills: int) -> None:
    """Every third fetcher dies with its request: what was set aside for it is free when its lease ends."""

    async def scenario() -> SimulatedWorld:
        spec = replace(SPEC, max_bytes=15_500, max_pages_per_host=9, max_body_bytes=4_000, delay_seconds=0.2)
        world = SimulatedWorld(a_wide_site(), spec=spec, lost_outcomes=0.3, seed=kills + 5)
        await world.begin()
        chance = random.Random(kills)
        for _ in range(kills):
            scheduler = world.start()
            await asyncio.sleep(chance.uniform(5, 60))
            await scheduler.kill()
        last = world.start()
        await world.until_complete(last, seconds=1_000)
        await last.stop()
        return world

    world = simulate(scenario())

    unheard = sum(visit.size for visit in world.web.log) - 15_500
    assert unheard <= 1_000 * world.pipeline.lost
    assert {reason for url, reason in world.reasons().items() if url not in world.web.tries} == {"budget"}

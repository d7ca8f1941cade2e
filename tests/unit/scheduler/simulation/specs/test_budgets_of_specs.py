"""Each crawl spec of a run has a budget of its own: seeds with other limits end nothing of the run."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import CRAWL_SPECS
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from tests.unit.scheduler.simulation.pipeline import SHARDS
from tests.unit.scheduler.simulation.web import Host, Page, Web
from tests.unit.scheduler.simulation.world import SPEC, SimulatedWorld

HOSTS = 9
OWN_PAGES = 6
"""Pages of each host that the run has by its own seeds."""
FOREIGN_PAGES = 2
"""Pages of each host that seeds under the other spec name."""
LIMITS = (
    {"max_seconds": 1},
    {"max_pages": 1},
    {"max_bytes": 1},
    {"max_pages_per_host": 1, "max_seconds_per_domain": 1},
)


def own_urls() -> list[str]:
    return [f"http://www.wide{host}.test/p{n}" for n in range(OWN_PAGES) for host in range(HOSTS)]


def foreign_urls() -> list[str]:
    return [f"http://www.wide{host}.test/f{n}" for n in range(FOREIGN_PAGES) for host in range(HOSTS)]


def foreign_spec(**limits: int) -> CrawlSpecDeclared:
    return replace(SPEC, crawl_spec_id="foreign", **limits)


async def submit(world: SimulatedWorld, urls: list[str], *, spec: str) -> None:
    """Publish each URL as a seed of the run under this crawl spec."""
    for url in urls:
        world.pipeline.offset += 1
        await world.pipeline.discover(
            [url], via="seed", offset=world.pipeline.offset, from_crawl_spec_ids=(spec,)
        )


async def crawl(
    own: CrawlSpecDeclared, foreign: CrawlSpecDeclared, *, first: str, kills: int, is_lost: bool
) -> SimulatedWorld:
    """Crawl to the end; the seeds under one of the two specs come five seconds before those of the other."""
    hosts = {name: Host(name) for name in (f"www.wide{host}.test" for host in range(HOSTS))}
    urls = [*own_urls(), *foreign_urls()]
    world = SimulatedWorld(Web(hosts, {url: Page(url) for url in urls}, ()), spec=own)
    await world.begin()
    await world.pipeline.publisher.publish([Publish(CRAWL_SPECS, foreign)])
    seeds: dict[str, Any] = {own.crawl_spec_id: own_urls(), foreign.crawl_spec_id: foreign_urls()}
    await submit(world, seeds.pop(first), spec=first)
    chance = random.Random(kills)
    scheduler = world.start()
    await asyncio.sleep(5)
    for spec, others in seeds.items():
        await submit(world, others, spec=spec)
    for _ in range(kills):
        await asyncio.sleep(chance.uniform(1, 5))
        await scheduler.kill()
        if is_lost:
            world.lose_frontier()
        scheduler = world.start()
    await world.until_complete(scheduler, seconds=3_000)
    await scheduler.stop()
    return world


def fetched(world: SimulatedWorld, urls: list[str]) -> int:
    return sum(visit.outcome == "fetched" and visit.url in set(urls) for visit in world.web.log)


FATES = pytest.mark.parametrize(
    ("kills", "is_lost"),
    [
        pytest.param(0, False, id="undisturbed"),
        pytest.param(3, False, id="restarted"),
        pytest.param(3, True, id="rebuilt"),
    ],
)


@FATES
@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: next(iter(limits)))
@pytest.mark.parametrize("first", ["spec", "foreign"])
def test_limits_of_another_spec_end_nothing_of_a_run(
    limits: dict[str, int], first: str, kills: int, is_lost: bool
) -> None:
    """Neither a later seed of the run nor an earlier one shortens it: every URL of its own is fetched."""
    world = simulate(crawl(SPEC, foreign_spec(**limits), first=first, kills=kills, is_lost=is_lost))

    reasons = world.reasons()
    assert fetched(world, own_urls()) == HOSTS * OWN_PAGES
    assert {url for url in own_urls() if reasons.get(url) == "budget"} == set()
    if "max_pages" in limits:
        assert fetched(world, foreign_urls()) == 1


@FATES
def test_a_run_spends_exactly_its_own_budget_beside_another_spec(kills: int, is_lost: bool) -> None:
    """A larger budget of another spec does not extend it, and pages under that spec are not charged to it."""
    own, foreign = replace(SPEC, max_pages=20), foreign_spec(max_pages=1_000)

    world = simulate(crawl(own, foreign, first="spec", kills=kills, is_lost=is_lost))

    assert fetched(world, own_urls()) == 20
    assert fetched(world, foreign_urls()) == HOSTS * FOREIGN_PAGES


def test_two_schedulers_agree_about_the_budgets_of_two_specs() -> None:
    """Shards of different owners divide each budget by the same claims."""

    async def scenario() -> SimulatedWorld:
        hosts = {name: Host(name) for name in (f"www.wide{host}.test" for host in range(HOSTS))}
        urls = [*own_urls(), *foreign_urls()]
        own, foreign = replace(SPEC, max_pages=30), foreign_spec(max_pages=7)
        world = SimulatedWorld(Web(hosts, {url: Page(url) for url in urls}, ()), spec=own)
        await world.begin()
        await world.pipeline.publisher.publish([Publish(CRAWL_SPECS, foreign)])
        await submit(world, own_urls(), spec="spec")
        await submit(world, foreign_urls(), spec="foreign")
        first = world.start()
        await asyncio.sleep(3)
        second = world.start()
        await asyncio.sleep(6)
        await first.kill()
        await world.until_complete(second, seconds=1_000)
        await second.stop()
        return world

    world = simulate(scenario())

    assert (fetched(world, own_urls()), fetched(world, foreign_urls())) == (30, 7)
    assert len({visit.host for visit in world.web.log}) == HOSTS > SHARDS

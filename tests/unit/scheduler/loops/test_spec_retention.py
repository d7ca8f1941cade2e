"""Crawl specs that nothing uses are deleted; of those that an entry names, none is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.topics import CRAWL_SPECS, FRONTIER
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.messaging.effects import Publish
from strider.messaging.inprocess import simulate
from tests.unit.scheduler.simulation.web import Host, Page
from tests.unit.scheduler.simulation.world import SPEC, SimulatedWorld
from tests.unit.scheduler.test_topology import SITE, a_site

pytestmark = pytest.mark.fault("B5", part="crawl specs")

KEEP_SECONDS = 400.0
SHUT = "www.shut.test"


def tidy(**changes: Any) -> SimulatedWorld:
    world = SimulatedWorld(a_site(Page("/a"), Page("/b")), **changes)
    world.options = replace(
        world.options,
        retention_interval_seconds=24.0,
        keep_closed_seconds=80.0,
        keep_specs_seconds=KEEP_SECONDS,
    )
    return world


async def known(world: SimulatedWorld, *names: str) -> set[str]:
    """Return which specs a fresh reader finds."""
    cache = CrawlSpecCache(world.bus, world.codec, clock=world.clock)
    return set(await cache.known(names))


@pytest.mark.parametrize("kills", [0, 4])
def test_specs_go_once_their_last_entry_is_forgotten(kills: int) -> None:
    async def scenario() -> None:
        world = tidy()
        await world.begin()
        other = replace(SPEC, crawl_spec_id="unused")
        await world.pipeline.publisher.publish([Publish(CRAWL_SPECS, other)])
        for _ in range(kills):
            scheduler = world.start()
            await asyncio.sleep(28)
            await scheduler.kill()
        scheduler = world.start()
        await asyncio.sleep(KEEP_SECONDS - 120 - kills * 28)
        assert await known(world, SPEC.crawl_spec_id, "unused") == {SPEC.crawl_spec_id, "unused"}
        await asyncio.sleep(3 * KEEP_SECONDS)
        assert await known(world, SPEC.crawl_spec_id, "unused") == set()
        await scheduler.stop()

    simulate(scenario())


def test_a_spec_that_an_open_entry_names_stays() -> None:
    """Its host responds to nothing for long: the entry outlives every time that specs are kept."""

    async def scenario() -> None:
        spec = replace(SPEC, host_patience_seconds=90_000)
        world = tidy(spec=spec)
        url = f"http://{SHUT}/"
        world.web.hosts[SHUT] = Host(SHUT)
        world.web.pages[url] = Page(url, "shut")
        await world.begin()
        await world.pipeline.submit(url)
        scheduler = world.start()
        await asyncio.sleep(5 * KEEP_SECONDS)
        open_entries = [entry for entry in world.published(FRONTIER) if entry.url == url]
        assert not open_entries[-1].closed_at_ms
        assert await known(world, spec.crawl_spec_id) == {spec.crawl_spec_id}
        assert SITE in world.web.hosts
        await scheduler.stop()

    simulate(scenario())

"""A service of the ring stands for a while: what is under way stays bounded, and all goes on by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from strider.contracts.generated.topics import FETCH_REQUESTS
from strider.messaging.inprocess import simulate
from strider.scheduler.core.release.backpressure import LagGate

from .checks import check_politeness, check_visits
from .pipeline import SHARDS
from .web import a_web
from .world import World

SEED = 1
MOST = 6
ROUNDING = SHARDS
"""Credits are rounded up, once a shard."""

PARSER = LagGate("parser", "pages-fetched", is_per_shard=False)
INDEXER = LagGate("indexer", "pages-validated", is_per_shard=False)


@dataclass
class Standing:
    """Backlogs of a ring of which one service can be stopped."""

    world: World | None = None
    indexed: int | None = None
    """Pages that the indexer had read when it was stopped; None: all that there are."""

    async def waiting(self) -> Mapping[LagGate, Sequence[int]]:
        assert self.world is not None
        ring = self.world.ring
        indexed = ring.begun if self.indexed is None else self.indexed
        return {PARSER: (ring.begun - ring.passed,), INDEXER: (ring.begun - indexed,)}


def _stop_parser(world: World, _standing: Standing) -> None:
    world.ring.goes_on.clear()


def _stop_indexer(world: World, standing: Standing) -> None:
    standing.indexed = world.ring.begun


STOPS = [pytest.param(_stop_parser, id="parser"), pytest.param(_stop_indexer, id="indexer")]
"""One whose standing keeps pages from being settled, and one behind whom nobody waits."""


@pytest.mark.parametrize("stop", STOPS)
def test_a_service_that_stands_stops_the_release(stop: Callable[[World, Standing], None]) -> None:
    async def scenario() -> None:
        standing = Standing()
        world = World(a_web(SEED), seed=SEED, backlogs=standing)
        world.options = replace(world.options, release_lag=MOST)
        standing.world = world
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(5)
        stop(world, standing)
        begun = world.ring.begun
        await asyncio.sleep(90)
        soon, requests = world.ring.begun, len(world.said(FETCH_REQUESTS))
        await asyncio.sleep(300)
        late, still = world.ring.begun, len(world.said(FETCH_REQUESTS))
        standing.indexed = None
        world.ring.goes_on.set()
        await world.until_complete(scheduler)
        await scheduler.stop()

        assert late - begun <= MOST + ROUNDING
        assert (soon, requests) == (late, still)
        assert world.ring.begun > late
        check_visits(world)
        check_politeness(world.web)

    simulate(scenario())

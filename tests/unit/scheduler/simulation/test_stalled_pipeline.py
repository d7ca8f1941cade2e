"""A stopped service of the pipeline: work in flight stays bounded, and resumes by itself."""

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
from .world import SimulatedWorld

SEED = 1
MOST = 6
ROUNDING = SHARDS
"""Credits are rounded up, once a shard."""

PARSER = LagGate("parser", "pages-fetched", is_per_shard=False)
INDEXER = LagGate("indexer", "pages-validated", is_per_shard=False)


@dataclass
class StalledBacklog:
    """Backlogs of a ring of which one service can be stopped."""

    world: SimulatedWorld | None = None
    indexed: int | None = None
    """Pages that the indexer had read when it was stopped; None: all that there are."""

    async def count_unread(self) -> Mapping[LagGate, Sequence[int]]:
        assert self.world is not None
        ring = self.world.pipeline
        indexed = ring.begun if self.indexed is None else self.indexed
        return {PARSER: (ring.begun - ring.passed,), INDEXER: (ring.begun - indexed,)}


def _stop_parser(world: SimulatedWorld, _standing: StalledBacklog) -> None:
    world.pipeline.is_running.clear()


def _stop_indexer(world: SimulatedWorld, standing: StalledBacklog) -> None:
    standing.indexed = world.pipeline.begun


STOPS = [pytest.param(_stop_parser, id="parser"), pytest.param(_stop_indexer, id="indexer")]
"""One whose state keeps pages from being settled, and one behind which nothing waits."""


@pytest.mark.req("S5.2.4")
@pytest.mark.parametrize("stop", STOPS)
def test_a_service_that_stands_stops_the_release(
    stop: Callable[[SimulatedWorld, StalledBacklog], None],
) -> None:
    async def scenario() -> None:
        standing = StalledBacklog()
        world = SimulatedWorld(a_web(SEED), seed=SEED, backlogs=standing)
        world.options = replace(world.options, max_pipeline_lag=MOST)
        standing.world = world
        await world.begin()
        scheduler = world.start()
        await asyncio.sleep(5)
        stop(world, standing)
        begun = world.pipeline.begun
        await asyncio.sleep(90)
        soon, requests = world.pipeline.begun, len(world.published(FETCH_REQUESTS))
        await asyncio.sleep(300)
        late, still = world.pipeline.begun, len(world.published(FETCH_REQUESTS))
        standing.indexed = None
        world.pipeline.is_running.set()
        await world.until_complete(scheduler)
        await scheduler.stop()

        assert late - begun <= MOST + ROUNDING
        assert (soon, requests) == (late, still)
        assert world.pipeline.begun > late
        check_visits(world)
        check_politeness(world.web)

    simulate(scenario())

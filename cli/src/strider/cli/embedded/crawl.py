"""One crawl from its seeds to its proven end.

Decides the order: the crawl spec and the seeds go in by the front door like anyone's, the ring
walks, looks are taken until completion is proven, and the output is closed. What is fetched and
why is the services' matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from strider.contracts.book import SchemaBook
from strider.contracts.codec import Codec
from strider.contracts.generated.topics import LINKS_DISCOVERED, SEEDS_SUBMITTED
from strider.runtime.clocks import SystemChance, SystemClock
from strider.runtime.effects import Say
from strider.runtime.inprocess import Broker, InProcessBus
from strider.runtime.speaking import Speaker
from strider.runtime.specs import SpecShelf
from strider.scheduler.core import Completion, Look
from strider.scheduler.topology import Scheduler
from strider.stores.frontier.memory import MemoryFrontier
from strider.stores.objects import ObjectOptions, open_objects

from .members import Manners, Place, all_members
from .output import Output
from .ring import Ring, committed, ends, new_broker
from .sink import GROUP, Sink
from .state import TABLES, Saved, State
from .wish import Wish

SHARDS: Final = 4
"""One owner has them all; a few keep the batches of one from waiting for those of another."""

LOOK_SECONDS: Final = 0.05
BUSY_LOOK_SECONDS: Final = 0.25
SAVE_SECONDS: Final = 1.0


class End(Enum):
    """How a crawl ended."""

    COMPLETE = "complete"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a crawl is, for people."""

    pages: int
    lines: int
    queued: int
    in_flight: int
    errors: int
    waiting: int
    """Hosts that have something queued or under way."""


class Crawl:
    """One crawl in this process."""

    def __init__(
        self, wish: Wish, manners: Manners, output: Output, *, objects_folder: str, only_pages: bool = False
    ) -> None:
        self._wish = wish
        self._manners = manners
        self._clock = SystemClock()
        self._objects = open_objects(ObjectOptions(f"file://{objects_folder}"), clock=self._clock)
        self._codec = Codec(SchemaBook.embedded())
        self._output = output
        self.sink = Sink(output, self._objects, only_pages=only_pages)
        self.broker: Broker = new_broker(self._clock, shards=SHARDS)
        self._stop = asyncio.Event()
        self._scheduler: Scheduler | None = None
        self._frontier = MemoryFrontier(self._clock)
        self._seeds_end: dict[int, int] = {}

    def request_stop(self) -> None:
        """End early, in order."""
        self._stop.set()

    async def run(
        self,
        *,
        state: State | None = None,
        about: Saved | None = None,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> End:
        """Crawl until there is nothing left, or until told to stop."""
        bus = InProcessBus(self.broker)
        specs = SpecShelf(bus, self._codec, clock=self._clock)
        place = Place(
            bus, self._codec, self._clock, SystemChance(), self._frontier, specs, self._objects, SHARDS
        )
        members, self._scheduler = all_members(place, self._manners)
        if state is not None:
            state.begin(self.broker)
        ring = Ring(
            self.broker,
            (*members, self.sink.member()),
            codec=self._codec,
            clock=self._clock,
            objects=self._objects,
            shards=SHARDS,
        )
        is_new = not any(ends(self.broker, SEEDS_SUBMITTED.name).values())
        if is_new:
            await self._sow(bus, specs)
        self._seeds_end = ends(self.broker, SEEDS_SUBMITTED.name)
        if state is not None and about is not None:
            await state.save(self.broker, self._output, self.sink, self._wish, about)
        return await self._walk(ring, state, about, on_progress)

    async def _walk(
        self,
        ring: Ring,
        state: State | None,
        about: Saved | None,
        on_progress: Callable[[Progress], None],
    ) -> End:
        running = asyncio.create_task(ring.run(), name="ring")
        proving = asyncio.create_task(self._prove(ring), name="completion")
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        keeping = asyncio.create_task(self._keep(state, about, on_progress), name="state")
        try:
            done, _ = await asyncio.wait(
                (running, proving, stopping, keeping), return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
            end = End.COMPLETE if proving in done else End.STOPPED
            await _cancelled(keeping)
            ring.stop()
            await running
        finally:
            await _cancelled(proving, stopping, keeping, running)
        if end is End.COMPLETE:
            self.sink.finish()
        if state is not None and about is not None:
            about = replace(about, is_complete=end is End.COMPLETE)
            await state.save(self.broker, self._output, self.sink, self._wish, about)
        return end

    async def _sow(self, bus: InProcessBus, specs: SpecShelf) -> None:
        speaker = Speaker(bus, self._codec, service="crawl", shards=SHARDS, clock=self._clock)
        await specs.declare(speaker, [self._wish.spec])
        now_ms = round(self._clock.now().timestamp() * 1000)
        await speaker.speak([Say(SEEDS_SUBMITTED, seed) for seed in self._wish.seed_events(now_ms)])
        await speaker.close()

    async def _prove(self, ring: Ring) -> None:
        """Wait until the execution is complete, and all of it is written."""
        completion = Completion(SHARDS, self._seeds_end)
        while not completion.is_complete:
            look = await self._look()
            completion = completion.after(look)
            is_busy = any(count.open for count in look.shards.values())
            await asyncio.sleep(BUSY_LOOK_SECONDS if is_busy else LOOK_SECONDS)
        while ring.lag(GROUP):
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> Look:
        assert self._scheduler is not None
        return Look(
            shards=await self._scheduler.counts(self._wish.execution_id),
            seeds_read=committed(self.broker, "link-ingestion-seeds", SEEDS_SUBMITTED.name),
            links_end=ends(self.broker, LINKS_DISCOVERED.name),
            links_read=committed(self.broker, "scheduler", LINKS_DISCOVERED.name),
        )

    async def _keep(
        self, state: State | None, about: Saved | None, on_progress: Callable[[Progress], None]
    ) -> None:
        """Save and tell, once a second, for ever."""
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            if state is not None and about is not None:
                await state.save(self.broker, self._output, self.sink, self._wish, about)
            else:
                self._output.flush()
                self.broker.trim_read(keep=TABLES)
            on_progress(await self.progress())

    async def progress(self) -> Progress:
        """Say how far it is."""
        queued = in_flight = groups = 0
        for shard in range(SHARDS):
            figures = self._frontier.glance(shard)
            if figures is not None:
                queued += figures.queued
                in_flight += figures.leased + figures.in_ring
                groups += figures.groups
        tally = self.sink.tally
        return Progress(tally.pages, tally.lines, queued, in_flight, tally.errors, groups)

    async def close(self) -> None:
        """Close what it opened."""
        self._output.close()
        await self._objects.close()


async def _cancelled(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task

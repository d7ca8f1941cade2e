"""One crawl from its seeds to its proven end.

Decides the order: the crawl spec and the seeds go in by the front door like anyone's, the ring
walks, looks are taken until completion is proven, and the output is closed. Told to stop, it lets
go round what was fetched, so that nothing of it is fetched again. What is fetched and why is the
services' matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Final

from strider.contracts.avro.deferred_encoding import DeferredCodec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import LINKS_DISCOVERED, SEEDS_SUBMITTED
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.memory.frontier import MemoryFrontier
from strider.messaging.effects import Publish
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.runtime.clocks import SystemClock, SystemRandomness
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.core.runs.completion import CompletionObservation, CompletionProof
from strider.scheduler.topology import Scheduler
from strider.storage.objects import ObjectOptions, open_object_store

from .member import Member
from .members import FETCHER, SEEDS_GROUP, STOP_SECONDS, Manners, Place, all_members
from .output import Output
from .ring import Ring, committed, ends, new_broker
from .sink import GROUP, Sink
from .state import COMPACTED, TABLES, State
from .wish import Wish

SHARDS: Final = 4
"""One owner has them all; a few keep the batches of one from waiting for those of another."""

LOOK_SECONDS: Final = 0.03
BUSY_LOOK_SECONDS: Final = 0.25
SAVE_SECONDS: Final = 0.5

HOLD_SECONDS: Final = 1.0
"""After an interruption, what came before it is heard within this time; then the next is asked for."""


class End(Enum):
    """How a crawl ended."""

    COMPLETE = "complete"
    STOPPED = "stopped"


class CrawlFailed(Exception):
    """The crawl cannot go on; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a crawl is, for people."""

    pages: int
    queued: int
    in_flight: int
    errors: int
    waiting: int
    """Hosts that have something queued or under way."""


OnProgress = Callable[[Progress], None]


class Crawl:
    """One crawl in this process."""

    def __init__(
        self,
        wish: Wish,
        manners: Manners,
        output: Output,
        *,
        objects_folder: str,
        only_pages: bool = False,
        listeners: Sequence[Member] = (),
    ) -> None:
        """`listeners` hear what they read besides the ring, and change nothing of it."""
        self._wish = wish
        self._manners = manners
        self._clock = SystemClock()
        self.objects = open_object_store(ObjectOptions(f"file://{objects_folder}"), clock=self._clock)
        self._codec = DeferredCodec(SchemaStore.bundled())
        self._output = output
        self.sink = Sink(output, self.objects, only_pages=only_pages, extraction=wish.spec.extraction)
        self.broker: InProcessBroker = new_broker(self._clock, shards=SHARDS)
        self.dead_letters = 0
        self._listeners = listeners
        self._stop = asyncio.Event()
        self._frontier = MemoryFrontier(self._clock)
        self._keep_topics = COMPACTED
        """What must stay in memory: until all shards are taken, what they are rebuilt from."""

    def request_stop(self) -> None:
        """End early, in order."""
        self._stop.set()

    async def run(self, *, state: State | None = None, on_progress: OnProgress = lambda _: None) -> End:
        """Crawl until there is nothing left, or until told to stop."""
        if state is not None:
            state.begin(self.broker)
        is_new = not any(ends(self.broker, SEEDS_SUBMITTED.name).values())
        bus = InProcessBus(self.broker)
        specs = CrawlSpecCache(bus, self._codec, clock=self._clock)
        place = Place(
            bus,
            self._codec,
            self._clock,
            SystemRandomness(),
            self._frontier,
            specs,
            self.objects,
            SHARDS,
            hold_seconds=0.0 if is_new else HOLD_SECONDS,
        )
        members, owner = all_members(place, self._manners)
        ring = Ring(
            self.broker,
            (*members, self.sink.member(), *self._listeners),
            codec=self._codec,
            clock=self._clock,
            objects=self.objects,
            shards=SHARDS,
        )
        if is_new:
            await self._sow(bus, specs)
        await self._save(state)
        return await self._walk(ring, owner, state, on_progress)

    async def _sow(self, bus: InProcessBus, specs: CrawlSpecCache) -> None:
        speaker = EventPublisher(bus, self._codec, service="crawl", shards=SHARDS, clock=self._clock)
        await specs.declare(speaker, [self._wish.spec])
        now_ms = round(self._clock.now().timestamp() * 1000)
        await speaker.publish([Publish(SEEDS_SUBMITTED, seed) for seed in self._wish.seed_events(now_ms)])
        await speaker.close()

    async def _walk(self, ring: Ring, owner: Scheduler, state: State | None, on_progress: OnProgress) -> End:
        self.sink.failed = asyncio.get_running_loop().create_future()
        running = asyncio.create_task(ring.run(), name="ring")
        proving = asyncio.create_task(self._prove(ring, owner), name="completion")
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        keeping = asyncio.create_task(self._keep(ring, state, on_progress), name="state")
        watched = (running, proving, stopping, keeping, self.sink.failed)
        try:
            done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if proving not in done:
                await self._let_go_round(ring)
            ring.stop()
            await asyncio.wait((running, self.sink.failed), return_when=asyncio.FIRST_COMPLETED)
            if self.sink.failed.done():
                self.sink.failed.result()
            await running
        finally:
            self.dead_letters = ring.dead_letters()
            await _cancelled(proving, stopping, keeping, running)
            _ = self.sink.failed.done() and self.sink.failed.exception()
        is_complete = proving in done
        self.sink.release()
        if is_complete:
            self.sink.finish()
        await self._output.drain()
        await self._save(state, is_complete=is_complete)
        return End.COMPLETE if is_complete else End.STOPPED

    async def _let_go_round(self, ring: Ring) -> None:
        """Ask for nothing more, and let what was fetched become lines, for a few seconds at most."""
        ring.stop(FETCHER)
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                while not ring.is_drained(but=FETCHER):
                    await self._clock.sleep(LOOK_SECONDS)

    async def _prove(self, ring: Ring, owner: Scheduler) -> None:
        """Wait until the execution is complete, and all of it is written."""
        completion = CompletionProof(SHARDS, ends(self.broker, SEEDS_SUBMITTED.name))
        while not completion.is_complete or ring.lag(GROUP):
            look = await self._look(owner)
            if len(look.shards) == SHARDS and all(count.is_ready for count in look.shards.values()):
                self._keep_topics = TABLES
            completion = completion.after(look)
            is_busy = any(count.open for count in look.shards.values())
            await self._clock.sleep(BUSY_LOOK_SECONDS if is_busy else LOOK_SECONDS)

    async def _look(self, owner: Scheduler) -> CompletionObservation:
        return CompletionObservation(
            shards=await owner.counts(self._wish.execution_id),
            seeds_read=committed(self.broker, SEEDS_GROUP, SEEDS_SUBMITTED.name),
            links_end=ends(self.broker, LINKS_DISCOVERED.name),
            links_committed=committed(self.broker, "scheduler", LINKS_DISCOVERED.name),
        )

    async def _keep(self, ring: Ring, state: State | None, on_progress: OnProgress) -> None:
        """Save and tell, twice a second, for ever; raises when nothing will come of waiting."""
        while True:
            await self._clock.sleep(SAVE_SECONDS)
            if state is None:
                await self._output.drain()
                self.broker.trim_read(keep=self._keep_topics)
            await self._save(state)
            if why := ring.flood():
                raise CrawlFailed(f"stopped, because something is broken: {why}")
            on_progress(self.progress())

    async def _save(self, state: State | None, *, is_complete: bool = False) -> None:
        if state is not None:
            keep = self._keep_topics
            await state.save(self.broker, self._output, self.sink, keep=keep, is_complete=is_complete)

    def progress(self) -> Progress:
        """Say how far it is."""
        queued = in_flight = groups = 0
        for shard in range(SHARDS):
            figures = self._frontier.stats_if_ready(shard)
            if figures is not None:
                queued += figures.queued
                in_flight += figures.leased
                groups += figures.host_groups
        tally = self.sink.tally
        return Progress(tally.pages, queued, in_flight, tally.errors, groups)

    async def close(self) -> None:
        """Close what it opened."""
        await self.objects.close()


async def _cancelled(*tasks: asyncio.Task[None] | asyncio.Task[bool]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task

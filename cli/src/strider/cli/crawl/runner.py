"""Run one crawl from its seeds to its detected completion.

Decides the order: crawl spec and seeds are published as any producer publishes them, the services run,
completion is checked until it is proven, and the output is closed. A stop lets fetched pages be processed,
so that nothing of them is fetched again. What is fetched, and why, is decided by the services.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import Final

from strider.contracts.avro.deferred_encoding import DeferredCodec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import LINKS_DISCOVERED, SEEDS_SUBMITTED
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.memory.frontier import MemoryFrontier
from strider.messaging.effects import Publish
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import epoch_ms
from strider.runtime.clocks import SystemClock, SystemRandomness
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.core.hosts.robots_waits import RobotsWait
from strider.scheduler.core.runs.completion import CompletionObservation, CompletionProof
from strider.scheduler.topology import Scheduler
from strider.storage.objects import ObjectOptions, open_object_store

from .output import ResultWriter
from .pipeline import PipelineService, ServicePipeline, committed_offsets, end_offsets, make_broker
from .progress import CrawlProgress, OnProgress, RobotsWaitMonitor
from .request import CrawlRequest
from .result_collector import GROUP, ResultCollector
from .services import (
    FETCHER,
    SEEDS_GROUP,
    STOP_TIMEOUT_SECONDS,
    ServiceConfig,
    SharedResources,
    make_services,
)
from .state import COMPACTED, TABLES, CrawlState

SHARDS: Final = 4
"""One scheduler owns all shards; several let their batches proceed independently."""

IDLE_CHECK_SECONDS: Final = 0.03
BUSY_CHECK_SECONDS: Final = 0.25
SAVE_SECONDS: Final = 0.5

HOLD_SECONDS: Final = 1.0
"""Time without requests after a resume, in which events from before it are consumed."""


class CrawlEnd(Enum):
    """End of a crawl."""

    COMPLETE = "complete"
    STOPPED = "stopped"


class CrawlFailed(Exception):
    """The crawl cannot continue; the message is one line."""


class CrawlRunner:
    """One crawl in this process."""

    def __init__(
        self,
        request: CrawlRequest,
        config: ServiceConfig,
        output: ResultWriter,
        *,
        objects_folder: str,
        only_pages: bool = False,
        listeners: Sequence[PipelineService] = (),
    ) -> None:
        """`listeners` are further consumers, which publish nothing."""
        self._request = request
        self._config = config
        self._clock = SystemClock()
        self.objects = open_object_store(ObjectOptions(f"file://{objects_folder}"), clock=self._clock)
        self._codec = DeferredCodec(SchemaStore.bundled())
        self._output = output
        self.collector = ResultCollector(
            output, self.objects, only_pages=only_pages, extraction=request.spec.extraction
        )
        self.broker: InProcessBroker = make_broker(self._clock, shards=SHARDS)
        self.dead_letters = 0
        self._listeners = listeners
        self._stop = asyncio.Event()
        self._frontier = MemoryFrontier(
            self._clock, default_delay_ms=round(config.crawl.host_delay_seconds * 1000)
        )
        self._kept_topics = COMPACTED
        """Topics that stay in memory: until all shards are taken over, those they are rebuilt from."""

    def request_stop(self) -> None:
        """Stop in order."""
        self._stop.set()

    async def run(
        self, *, state: CrawlState | None = None, on_progress: OnProgress | None = None
    ) -> CrawlEnd:
        """Crawl until the run is complete, or until a stop is requested."""
        if state is not None:
            state.attach(self.broker)
        is_new = not any(end_offsets(self.broker, SEEDS_SUBMITTED.name).values())
        bus = InProcessBus(self.broker)
        specs = CrawlSpecCache(bus, self._codec, clock=self._clock)
        shared = SharedResources(
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
        services, owner = make_services(shared, self._config)
        pipeline = ServicePipeline(
            self.broker,
            (*services, self.collector.service(), *self._listeners),
            codec=self._codec,
            clock=self._clock,
            objects=self.objects,
            shards=SHARDS,
        )
        if is_new:
            await self._submit_seeds(bus, specs)
        await self._save(state)
        return await self._run_pipeline(pipeline, owner, state, on_progress)

    async def _submit_seeds(self, bus: InProcessBus, specs: CrawlSpecCache) -> None:
        publisher = EventPublisher(bus, self._codec, service="crawl", shards=SHARDS, clock=self._clock)
        await specs.declare(publisher, [self._request.spec])
        now_ms = epoch_ms(self._clock)
        await publisher.publish(
            [Publish(SEEDS_SUBMITTED, seed) for seed in self._request.seed_events(now_ms)]
        )
        await publisher.close()

    async def _run_pipeline(
        self,
        pipeline: ServicePipeline,
        owner: Scheduler,
        state: CrawlState | None,
        on_progress: OnProgress | None,
    ) -> CrawlEnd:
        self.collector.failed = asyncio.get_running_loop().create_future()
        running = asyncio.create_task(pipeline.run(), name="services")
        completion = asyncio.create_task(self._wait_for_completion(pipeline, owner), name="completion")
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        monitor = RobotsWaitMonitor(lambda: owner.robots_waits(self._request.execution_id))
        saving = asyncio.create_task(
            self._save_periodically(pipeline, state, monitor, on_progress), name="state"
        )
        watched = (running, completion, stopping, saving, self.collector.failed)
        try:
            done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if completion not in done:
                await self._drain(pipeline)
            pipeline.stop()
            await asyncio.wait((running, self.collector.failed), return_when=asyncio.FIRST_COMPLETED)
            if self.collector.failed.done():
                self.collector.failed.result()
            await running
        finally:
            self.dead_letters = pipeline.dead_letters()
            await _cancel(completion, stopping, saving, running)
            _ = self.collector.failed.done() and self.collector.failed.exception()
        is_complete = completion in done
        self.collector.write_pending()
        if is_complete:
            self.collector.write_refused()
        await self._output.drain()
        await self._save(state, is_complete=is_complete)
        return CrawlEnd.COMPLETE if is_complete else CrawlEnd.STOPPED

    async def _drain(self, pipeline: ServicePipeline) -> None:
        """Stop the fetcher, and let fetched pages become records, for a few seconds at most."""
        pipeline.stop(FETCHER)
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_TIMEOUT_SECONDS):
                while not pipeline.is_drained(except_for=FETCHER):
                    await self._clock.sleep(IDLE_CHECK_SECONDS)

    async def _wait_for_completion(self, pipeline: ServicePipeline, owner: Scheduler) -> None:
        """Wait until the run is complete, and its records are written."""
        completion = CompletionProof(SHARDS, end_offsets(self.broker, SEEDS_SUBMITTED.name))
        while not completion.is_complete or pipeline.lag(GROUP):
            look = await self._observe(owner)
            if len(look.shards) == SHARDS and all(count.is_ready for count in look.shards.values()):
                self._kept_topics = TABLES
            completion = completion.after(look)
            is_busy = any(count.open for count in look.shards.values())
            await self._clock.sleep(BUSY_CHECK_SECONDS if is_busy else IDLE_CHECK_SECONDS)

    async def _observe(self, owner: Scheduler) -> CompletionObservation:
        return CompletionObservation(
            shards=await owner.counts(self._request.execution_id),
            seeds_committed=committed_offsets(self.broker, SEEDS_GROUP, SEEDS_SUBMITTED.name),
            links_end=end_offsets(self.broker, LINKS_DISCOVERED.name),
            links_committed=committed_offsets(self.broker, "scheduler", LINKS_DISCOVERED.name),
        )

    async def _save_periodically(
        self,
        pipeline: ServicePipeline,
        state: CrawlState | None,
        monitor: RobotsWaitMonitor,
        on_progress: OnProgress | None,
    ) -> None:
        """Save the state and report progress, twice a second; raises CrawlFailed when all messages fail."""
        while True:
            await self._clock.sleep(SAVE_SECONDS)
            if state is None:
                await self._output.drain()
                self.broker.trim_read(keep=self._kept_topics)
            await self._save(state)
            if reason := pipeline.dead_letter_flood():
                raise CrawlFailed(f"stopped, as nearly all messages fail: {reason}")
            if on_progress is not None:  # looking for waits reads all open entries
                on_progress(self.progress(await monitor.waits()))

    async def _save(self, state: CrawlState | None, *, is_complete: bool = False) -> None:
        if state is not None:
            keep = self._kept_topics
            await state.save(self.broker, self._output, self.collector, keep=keep, is_complete=is_complete)

    def progress(self, robots_waits: Sequence[RobotsWait] = ()) -> CrawlProgress:
        """Return the progress."""
        queued = in_flight = groups = 0
        for shard in range(SHARDS):
            figures = self._frontier.stats_if_ready(shard)
            if figures is not None:
                queued += figures.queued
                in_flight += figures.leased
                groups += figures.host_groups
        counters = self.collector.counters
        return CrawlProgress(
            counters.pages,
            queued,
            in_flight,
            counters.errors,
            groups,
            robots_waits,
            round(self._clock.now().timestamp() * 1000),
        )

    async def close(self) -> None:
        """Close the object store."""
        await self.objects.close()


async def _cancel(*tasks: asyncio.Task[None] | asyncio.Task[bool]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task

"""A crawl in virtual time: the real scheduler on an in-process bus and frontier."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, UrlsDecided
from strider.contracts.generated.topics import (
    ADAPTIVE_STATE,
    CRAWL_SPECS,
    FETCH_REQUESTS,
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    JOB_COMMANDS,
    JOB_EVENTS,
    LINKS_DISCOVERED,
    PAGES_FETCHED,
    PAGES_SETTLED,
    SCHEDULER_DLQ,
    SCHEMAS,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
    SOURCES,
    URLS_DECIDED,
)
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.feeds import JobCommandFeed, JobEventFeed
from strider.frontier.memory.frontier import MemoryFrontier
from strider.messaging.effects import Publish, Subscription
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus
from strider.messaging.ports import GroupSpec
from strider.runtime.clocks import SeededRandomness
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.adapters.feeds import SourceFeed
from strider.scheduler.adapters.frontier_log.reader import TopicFrontierLogReader
from strider.scheduler.adapters.frontier_log.writer import TopicFrontierLog, TopicFrontierLogs
from strider.scheduler.adapters.offsets import TopicCompletionOffsets
from strider.scheduler.core.runs.completion import CompletionObservation, CompletionProof
from strider.scheduler.core.runs.lost_pages import PipelineOffsets
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import (
    BacklogSource,
    JobFeeds,
    JobPorts,
    NoSchedulerMeter,
    SchedulerMeter,
    SchedulerPorts,
)
from strider.scheduler.topology import Scheduler

from .pipeline import SHARDS, SimulatedPipeline
from .web import Web

SPEC = CrawlSpecDeclared(
    crawl_spec_id="spec", scope="any", max_depth=100, host_patience_seconds=600, delay_seconds=1.0
)
GROUP = "scheduler"
SEEDS_GROUP = "link-ingestion-seeds"
TOPICS = (
    ADAPTIVE_STATE,
    CRAWL_SPECS,
    FETCH_REQUESTS,
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    JOB_COMMANDS,
    JOB_EVENTS,
    LINKS_DISCOVERED,
    PAGES_SETTLED,
    SCHEDULER_DLQ,
    SCHEMAS,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
    SOURCES,
    URLS_DECIDED,
)


class SlowFrontier(MemoryFrontier):
    """A working set whose responses are delayed, as a server's are, so that others overtake them."""

    def __init__(self, *args: Any, chance: random.Random, seconds: float, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._chance, self._seconds = chance, seconds

    async def lookup(self, *args: Any) -> Any:
        return await self._late(super().lookup(*args))

    async def conclude(self, *args: Any) -> Any:
        return await self._late(super().conclude(*args))

    async def end_requests(self, *args: Any) -> Any:
        return await self._late(super().end_requests(*args))

    async def accept(self, *args: Any, **settings: Any) -> Any:
        return await self._late(super().accept(*args, **settings))

    async def run_counts(self, *args: Any) -> Any:
        return await self._late(super().run_counts(*args))

    async def _late(self, answering: Awaitable[Any]) -> Any:
        answer = await answering
        await asyncio.sleep(self._chance.uniform(0, self._seconds))
        return answer


class KillableFrontierLogs(TopicFrontierLogs):
    """Keeps its writers, so that they can end as those of a killed process."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.writers: list[Any] = []

    async def take_over(self, shard: int) -> TopicFrontierLog:
        truth = await super().take_over(shard)
        self.writers.append(truth._writer)
        return truth


@dataclass
class SchedulerInstance:
    """One scheduler from start to end."""

    scheduler: Scheduler
    frontier_logs: KillableFrontierLogs
    loop: ConsumerLoop
    task: asyncio.Task[None]
    watch: asyncio.Task[None]

    async def kill(self) -> None:
        """End at once, as by kill -9: nothing is finished, committed or published."""
        for writer in self.frontier_logs.writers:
            writer.kill()
        tasks = [self.task, self.watch, *self.scheduler._shards.tasks()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def stop(self) -> None:
        self.loop.request_stop()
        await self.task
        self.watch.cancel()


@dataclass
class SimulatedWorld:
    """Everything around the scheduler."""

    web: Web
    seed: int = 1
    lost_outcomes: float = 0.0
    options: SchedulerOptions = field(
        default_factory=lambda: SchedulerOptions(shards=SHARDS, user_agent="Strider/1", lease_seconds=30)
    )
    spec: CrawlSpecDeclared = SPEC
    clock_at_end: float = 0.0
    latency_seconds: float = 0.0
    """Longest delay of the working set's responses."""
    backlogs: BacklogSource | None = None
    meter: SchedulerMeter = field(default_factory=NoSchedulerMeter)

    def __post_init__(self) -> None:
        self.last_started: Scheduler | None = None
        self.clock = EventLoopClock()
        self.chance = SeededRandomness(self.seed)
        self.codec = Codec(SchemaStore.bundled())
        self.broker = InProcessBroker(clock=self.clock)
        for topic in TOPICS:
            self.broker.declare_topic(topic, shards=SHARDS)
        self.broker.start_group(GROUP, [LINKS_DISCOVERED.name, FETCHES_COMPLETED.name, PAGES_SETTLED.name])
        self.broker.start_group("fetcher", [FETCH_REQUESTS.name])
        self.broker.start_group(SEEDS_GROUP, [SEEDS_SUBMITTED.name])
        self.broker.start_group("link-ingestion-owned-seeds", [SEEDS_OWNED.name])
        self.bus = InProcessBus(self.broker)
        self.pipeline = SimulatedPipeline(
            self.web,
            self._new_publisher("ring"),
            self.clock,
            self._new_frontier(),
            seed=self.seed,
            lost_outcomes=self.lost_outcomes,
        )

    @property
    def frontier(self) -> MemoryFrontier:
        """The working set, with the fetcher's marks."""
        assert isinstance(self.pipeline.marks, MemoryFrontier)
        return self.pipeline.marks

    def _new_frontier(self) -> MemoryFrontier:
        default_ms = round(self.options.delay_seconds * 1000)
        if not self.latency_seconds:
            return MemoryFrontier(self.clock, default_delay_ms=default_ms, limits=self.options.queue_limits)
        chance = random.Random(self.seed)
        return SlowFrontier(
            self.clock,
            chance=chance,
            seconds=self.latency_seconds,
            default_delay_ms=default_ms,
            limits=self.options.queue_limits,
        )

    def lose_frontier(self) -> None:
        """Replace the working set by an empty one, for all that starts from now on."""
        self.pipeline.marks = self._new_frontier()

    def _new_publisher(self, service: str) -> EventPublisher:
        return EventPublisher(self.bus, self.codec, service=service, shards=SHARDS, clock=self.clock)

    async def begin(self) -> None:
        """Declare the crawl spec, start the fetcher, submit the start URLs."""
        await self.pipeline.publisher.publish([Publish(CRAWL_SPECS, self.spec)])
        fetcher = self._loop("fetcher", (Subscription(FETCH_REQUESTS, self.pipeline.fetch),), sharded=False)
        self.pipeline.spawn(fetcher.run())
        for url in self.web.starts:
            await self.pipeline.submit(url)

    def start(self) -> SchedulerInstance:
        """Start a scheduler."""
        bus = InProcessBus(self.broker)
        truths = KillableFrontierLogs(bus, self.codec, commit_interval_seconds=0.25)
        ports = SchedulerPorts(
            working_set=self.frontier,
            frontier_logs=truths,
            log_reader=TopicFrontierLogReader(bus, self.codec, clock=self.clock),
            crawl_specs=CrawlSpecCache(bus, self.codec, clock=self.clock),
            publisher=self._new_publisher("scheduler"),
            clock=self.clock,
            chance=self.chance,
            job_feeds=JobFeeds(JobEventFeed(bus, self.codec), JobCommandFeed(bus, self.codec)),
            open_runs=self,
            pipeline_offsets=self,
            completion_offsets=TopicCompletionOffsets(bus),
            backlog_source=self.backlogs,
            source_feed=SourceFeed(bus, self.codec),
            jobs=self.new_job_ports(bus),
            meter=self.meter,
        )
        scheduler = self.last_started = Scheduler(ports, options=self.options)
        loop = self._loop(
            GROUP,
            scheduler.subscriptions(),
            sharded=True,
            shards=scheduler,
            on_caught_up=scheduler.on_caught_up,
        )
        task, watch = self.pipeline.spawn(loop.run()), self.pipeline.spawn(scheduler.run())
        return SchedulerInstance(scheduler, truths, loop, task, watch)

    def new_job_ports(self, _bus: InProcessBus) -> JobPorts | None:
        """Return the ports of jobs of one scheduler; None: it launches none."""
        return None

    def _loop(
        self, group: str, reads: Sequence[Subscription], *, sharded: bool, **ports: Any
    ) -> ConsumerLoop:
        letters = DeadLetterWriter(SCHEDULER_DLQ, DeadLetterOrigin(group, group), clock=self.clock)
        given = ConsumerPorts(
            clock=self.clock,
            chance=self.chance,
            publisher=self._new_publisher(group),
            dead_letters=letters,
            **ports,
        )
        spec = GroupSpec(group, tuple(each.topic.name for each in reads), sharded=sharded)
        return ConsumerLoop(InProcessBus(self.broker), self.codec, reads, spec, ports=given)

    async def until_complete(self, instance: SchedulerInstance, *, seconds: float = 100_000) -> None:
        """Advance virtual time until the run is proven complete."""
        proof = CompletionProof(SHARDS, {})
        ends_at = self.clock.monotonic() + seconds
        while not proof.is_complete:
            self.pipeline.check()
            assert self.clock.monotonic() < ends_at, "the run never completed"
            await asyncio.sleep(1)
            proof = proof.after(await self.observe(instance))

    async def read_offsets(self) -> PipelineOffsets:
        """Return the offsets of the simulated pipeline: its pages are numbered, and settled by messages."""
        committed = self.broker.group(GROUP).committed
        logs = self.broker.topic(PAGES_SETTLED.name).partitions
        fetched = PAGES_FETCHED.name, 0
        return PipelineOffsets(
            {
                ("parser", fetched): self.pipeline.passed,
                **{(GROUP, tuple(tp)): n for tp, n in committed.items()},
            },
            {fetched: self.pipeline.begun, **{(PAGES_SETTLED.name, log.partition): log.end for log in logs}},
        )

    async def read_open_runs(self) -> AbstractSet[str] | None:
        """Return the runs with open entries, as the last scheduler counts them: it has all shards."""
        counts = [] if self.last_started is None else await self.last_started.run_counts()
        if len(counts) < SHARDS or None in counts:
            return None
        return {run for shard in counts for run, count in (shard or {}).items() if count.open}

    async def observe(self, instance: SchedulerInstance) -> CompletionObservation:
        committed = self.broker.group(GROUP).committed
        links = self.broker.topic(LINKS_DISCOVERED.name).partitions
        return CompletionObservation(
            await instance.scheduler.counts("run"),
            links_end={log.partition: log.end for log in links},
            links_committed={
                tp.partition: n for tp, n in committed.items() if tp.topic == LINKS_DISCOVERED.name
            },
        )

    def published(self, topic: Any) -> list[Any]:
        """Return the events of a topic; those of aborted transactions were never published."""
        return [
            self.codec.decode(topic, record.value, record.headers)
            for log in self.broker.topic(topic.name).partitions
            for record in log.committed_between(log.start, log.stable_end())
            if record.value
        ]

    def reasons(self) -> dict[str, str]:
        """Return the latest decision reason of each URL."""
        events: Iterable[UrlsDecided] = self.published(URLS_DECIDED)
        return {
            url: reason for event in events for url, reason in zip(event.urls, event.reasons, strict=True)
        }

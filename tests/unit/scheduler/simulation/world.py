"""A crawl in virtual time: the scheduler as it is, on the bus and the frontier of one process."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, UrlsDecided
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    FETCH_REQUESTS,
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    JOB_EVENTS,
    LINKS_DISCOVERED,
    PAGES_FETCHED,
    PAGES_SETTLED,
    SCHEDULER_DLQ,
    SCHEMAS,
    SOURCES,
    URLS_DECIDED,
)
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.memory.frontier import MemoryFrontier
from strider.messaging.effects import Publish, Subscription
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus
from strider.messaging.ports import GroupSpec
from strider.runtime.clocks import SeededRandomness
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.adapters import (
    JobEventFeed,
    SourceFeed,
    TopicFrontierLog,
    TopicFrontierLogReader,
    TopicFrontierLogs,
)
from strider.scheduler.core import CompletionObservation, CompletionProof
from strider.scheduler.core.runs.lost_pages import PipelineOffsets
from strider.scheduler.ports import BacklogSource
from strider.scheduler.topology import Scheduler, SchedulerOptions

from .pipeline import SHARDS, Ring
from .web import Web

SPEC = CrawlSpecDeclared(
    crawl_spec_id="spec", scope="any", max_depth=100, host_patience_seconds=600, delay_seconds=1.0
)
GROUP = "scheduler"
TOPICS = (
    CRAWL_SPECS,
    FETCH_REQUESTS,
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    JOB_EVENTS,
    LINKS_DISCOVERED,
    PAGES_SETTLED,
    SCHEDULER_DLQ,
    SCHEMAS,
    SOURCES,
    URLS_DECIDED,
)


class DistantFrontier(MemoryFrontier):
    """A working set whose answers are on their way for a while, as a server's are: others overtake them."""

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


class KillableTruths(TopicFrontierLogs):
    """Knows its writers, so that they can end as a killed process's do."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.writers: list[Any] = []

    async def take(self, shard: int) -> TopicFrontierLog:
        truth = await super().take_over(shard)
        self.writers.append(truth._writer)
        return truth


@dataclass
class Instance:
    """One life of the scheduler."""

    scheduler: Scheduler
    truths: KillableTruths
    loop: ConsumerLoop
    task: asyncio.Task[None]
    watch: asyncio.Task[None]

    async def kill(self) -> None:
        """End at once, as kill -9 does: nothing is finished, committed or said."""
        for writer in self.truths.writers:
            writer.kill()
        tasks = [self.task, self.watch, *(task for _, task in self.scheduler._shards.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def stop(self) -> None:
        self.loop.request_stop()
        await self.task
        self.watch.cancel()


@dataclass
class World:
    """Everything there is besides the scheduler."""

    web: Web
    seed: int = 1
    lost_outcomes: float = 0.0
    options: SchedulerOptions = field(
        default_factory=lambda: SchedulerOptions(shards=SHARDS, user_agent="Strider/1", lease_seconds=30)
    )
    spec: CrawlSpecDeclared = SPEC
    clock_at_end: float = 0.0
    latency_seconds: float = 0.0
    """How long answers of the working set may be on their way."""
    backlogs: BacklogSource | None = None

    def __post_init__(self) -> None:
        self.clock = EventLoopClock()
        self.chance = SeededRandomness(self.seed)
        self.codec = Codec(SchemaStore.bundled())
        self.broker = InProcessBroker(clock=self.clock)
        for topic in TOPICS:
            self.broker.declare_topic(topic, shards=SHARDS)
        self.broker.start_group(GROUP, [LINKS_DISCOVERED.name, FETCHES_COMPLETED.name, PAGES_SETTLED.name])
        self.broker.start_group("fetcher", [FETCH_REQUESTS.name])
        self.bus = InProcessBus(self.broker)
        self.ring = Ring(
            self.web,
            self._speaker("ring"),
            self.clock,
            self._new_frontier(),
            seed=self.seed,
            lost_outcomes=self.lost_outcomes,
        )

    @property
    def frontier(self) -> MemoryFrontier:
        """The working set, and the fetcher's marks in it."""
        assert isinstance(self.ring.marks, MemoryFrontier)
        return self.ring.marks

    def _new_frontier(self) -> MemoryFrontier:
        if not self.latency_seconds:
            return MemoryFrontier(self.clock, limits=self.options.queue_limits)
        chance = random.Random(self.seed)
        return DistantFrontier(
            self.clock, chance=chance, seconds=self.latency_seconds, limits=self.options.queue_limits
        )

    def lose_frontier(self) -> None:
        """Have everything that starts from now on find an empty working set."""
        self.ring.marks = self._new_frontier()

    def _speaker(self, service: str) -> EventPublisher:
        return EventPublisher(self.bus, self.codec, service=service, shards=SHARDS, clock=self.clock)

    async def begin(self) -> None:
        """Declare the crawl spec, start the fetcher, submit the start URLs."""
        await self.ring.speaker.publish([Publish(CRAWL_SPECS, self.spec)])
        fetcher = self._loop("fetcher", (Subscription(FETCH_REQUESTS, self.ring.fetch),), sharded=False)
        self.ring.spawn(fetcher.run())
        for url in self.web.starts:
            await self.ring.submit(url)

    def start(self) -> Instance:
        """Start a scheduler."""
        bus = InProcessBus(self.broker)
        truths = KillableTruths(bus, self.codec, commit_interval_seconds=0.25)
        scheduler = Scheduler(
            working_set=self.frontier,
            truths=truths,
            log_reader=TopicFrontierLogReader(bus, self.codec, clock=self.clock),
            crawl_specs=CrawlSpecCache(bus, self.codec, clock=self.clock),
            voice=self._speaker("scheduler"),
            clock=self.clock,
            chance=self.chance,
            options=self.options,
            bulletin=JobEventFeed(bus, self.codec),
            soundings=self,
            backlogs=self.backlogs,
            register=SourceFeed(bus, self.codec),
        )
        loop = self._loop(
            GROUP,
            scheduler.subscriptions(),
            sharded=True,
            shards=scheduler,
            on_caught_up=scheduler.on_caught_up,
        )
        task, watch = self.ring.spawn(loop.run()), self.ring.spawn(scheduler.run())
        return Instance(scheduler, truths, loop, task, watch)

    def _loop(
        self, group: str, reads: Sequence[Subscription], *, sharded: bool, **ports: Any
    ) -> ConsumerLoop:
        letters = DeadLetterWriter(SCHEDULER_DLQ, DeadLetterOrigin(group, group), clock=self.clock)
        given = ConsumerPorts(
            clock=self.clock,
            chance=self.chance,
            publisher=self._speaker(group),
            dead_letters=letters,
            **ports,
        )
        spec = GroupSpec(group, tuple(each.topic.name for each in reads), sharded=sharded)
        return ConsumerLoop(InProcessBus(self.broker), self.codec, reads, spec, ports=given)

    async def until_complete(self, instance: Instance, *, seconds: float = 100_000) -> None:
        """Let virtual time pass until the run is proven complete."""
        proof = CompletionProof(SHARDS, {})
        ends_at = self.clock.monotonic() + seconds
        while not proof.is_complete:
            self.ring.check()
            assert self.clock.monotonic() < ends_at, "the run never completed"
            await asyncio.sleep(1)
            proof = proof.after(await self.look(instance))

    async def sound(self) -> PipelineOffsets:
        """Say how far the made-up ring is: its pages are numbered, and settled by real messages."""
        committed = self.broker.group(GROUP).committed
        logs = self.broker.topic(PAGES_SETTLED.name).partitions
        fetched = PAGES_FETCHED.name, 0
        return PipelineOffsets(
            {("parser", fetched): self.ring.passed, **{(GROUP, tuple(tp)): n for tp, n in committed.items()}},
            {fetched: self.ring.begun, **{(PAGES_SETTLED.name, log.partition): log.end for log in logs}},
        )

    async def look(self, instance: Instance) -> CompletionObservation:
        committed = self.broker.group(GROUP).committed
        links = self.broker.topic(LINKS_DISCOVERED.name).partitions
        return CompletionObservation(
            await instance.scheduler.counts("run"),
            links_end={log.partition: log.end for log in links},
            links_committed={
                tp.partition: n for tp, n in committed.items() if tp.topic == LINKS_DISCOVERED.name
            },
        )

    def said(self, topic: Any) -> list[Any]:
        logs = self.broker.topic(topic.name).partitions
        return [
            self.codec.decode(topic, record.value, record.headers)
            for log in logs
            for record in log.records
            if record.value
        ]

    def reasons(self) -> dict[str, str]:
        """What was decided about each URL, the latest if several."""
        events: Iterable[UrlsDecided] = self.said(URLS_DECIDED)
        return {
            url: reason for event in events for url, reason in zip(event.urls, event.reasons, strict=True)
        }

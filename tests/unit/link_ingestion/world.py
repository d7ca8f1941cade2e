"""link-ingestion on a bus in one process: real loops, real codec, a frontier in memory, virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import (
    CRAWL_SPECS,
    JOB_COMMANDS,
    LINK_INGESTION_DLQ,
    LINKS_DISCOVERED,
    PAGES_REJECTED,
    PAGES_SETTLED,
    PAGES_VALIDATED,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
    URLS_DECIDED,
)
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.memory.frontier import MemoryFrontier
from strider.link_ingestion.adapters import SCHEDULER_GROUP, LinkOffsetSource
from strider.link_ingestion.backpressure import RawSeedBackpressure
from strider.link_ingestion.options import IngestionPolicy
from strider.link_ingestion.topology import (
    OWNED_SEEDS_GROUP,
    PAGES_GROUP,
    SEEDS_GROUP,
    PageIngestion,
    SeedIngestion,
)
from strider.messaging.effects import Publish, Subscription
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus
from strider.messaging.ports import GroupSpec, Header, OutgoingMessage, Record, TopicPartition
from strider.runtime.clocks import SeededRandomness
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.testing.owner import OWNER_KEY, owner_headers
from tests.unit.crawl.noted_events import NotedEvents

SHARDS = 4
TOPICS = (
    CRAWL_SPECS,
    JOB_COMMANDS,
    LINK_INGESTION_DLQ,
    LINKS_DISCOVERED,
    PAGES_REJECTED,
    PAGES_SETTLED,
    PAGES_VALIDATED,
    SEEDS_OWNED,
    SEEDS_SUBMITTED,
    URLS_DECIDED,
)
SEED_TOPICS = (SEEDS_OWNED, SEEDS_SUBMITTED)
GROUPS = (OWNED_SEEDS_GROUP, SEEDS_GROUP, PAGES_GROUP)


class WatchedSeen:
    """The frontier's seen-sets, with a switch, and how often they were asked."""

    def __init__(self, frontier: MemoryFrontier) -> None:
        self._frontier = frontier
        self.is_away = False
        self.asked = 0

    async def find_seen(
        self, asked: Mapping[tuple[int, str], Sequence[int]]
    ) -> Mapping[tuple[int, str], Sequence[bool]]:
        self.asked += 1
        if self.is_away:
            raise Unavailable("redis", "switched off")
        return await self._frontier.find_seen(asked)


class OffsetsBus(InProcessBus):
    """The bus that offsets are read by, with a switch."""

    is_away = False

    async def committed(self, group: str) -> Mapping[TopicPartition, int]:
        if self.is_away:
            raise Unavailable("kafka", "switched off")
        return await super().committed(group)


class World:
    """One broker, and processes of the service on it."""

    def __init__(self, *, has_specs_topic: bool = True, refusals_listed: int = 200) -> None:
        self.clock = EventLoopClock()
        self.codec = Codec(SchemaStore.bundled())
        self.broker = InProcessBroker(clock=self.clock)
        for topic in TOPICS:
            if topic is not CRAWL_SPECS or has_specs_topic:
                self.broker.declare_topic(topic, shards=SHARDS)
        self.broker.start_group(OWNED_SEEDS_GROUP, [SEEDS_OWNED.name])
        self.broker.start_group(SEEDS_GROUP, [SEEDS_SUBMITTED.name])
        self.broker.start_group(SCHEDULER_GROUP, [LINKS_DISCOVERED.name])
        self.broker.start_group(PAGES_GROUP, [PAGES_VALIDATED.name, PAGES_REJECTED.name])
        self.bus = InProcessBus(self.broker)
        self.offsets = OffsetsBus(self.broker)
        self.frontier = MemoryFrontier(self.clock)
        self.seen = WatchedSeen(self.frontier)
        self.specs = CrawlSpecCache(self.bus, self.codec, clock=self.clock)
        self.speaker = EventPublisher(self.bus, self.codec, service="test", shards=SHARDS, clock=self.clock)
        self.policy = IngestionPolicy(SHARDS, refusals_listed=refusals_listed, owner_key=OWNER_KEY)
        self.loops: dict[asyncio.Task[None], ConsumerLoop] = {}
        self.background: list[asyncio.Task[None]] = []
        self.noted = NotedEvents()
        self.waiting: list[int] = []
        """Numbers of raw URLs that were reported to wait for the scheduler."""

    def start(self, *, max_waiting: int = 5_000) -> None:
        """Begin all consumers, as one process does."""
        pressure = RawSeedBackpressure(
            LinkOffsetSource(self.offsets),
            max_waiting=max_waiting,
            clock=self.clock,
            set_waiting=self.waiting.append,
        )
        seeds = SeedIngestion(self.specs, policy=self.policy, clock=self.clock, on_published=pressure.add)
        pages = PageIngestion(
            self.specs, self.seen, policy=self.policy, clock=self.clock, note=self.noted.note
        )
        self._start(OWNED_SEEDS_GROUP, seeds.owned_subscriptions(), on_given_up=seeds.on_given_up)
        self._start(
            SEEDS_GROUP, seeds.subscriptions(), on_given_up=seeds.on_given_up, read_gate=pressure.gate
        )
        self.background.append(asyncio.create_task(pressure.run()))
        self._start(PAGES_GROUP, pages.subscriptions(), on_given_up=pages.on_given_up)

    async def stop(self) -> None:
        for task, loop in self.loops.items():
            loop.request_stop()
            await task
        self.loops.clear()
        for task in self.background:
            task.cancel()

    async def say(self, topic: Topic[Any], *events: Any, headers: tuple[Header, ...] = ()) -> None:
        """Speak as the services before this one do; seeds are signed, as the API signs them."""
        await self.speaker.publish(
            [Publish(topic, event, headers=(*headers, *self._signature(topic, event))) for event in events]
        )

    def _signature(self, topic: Topic[Any], event: Any) -> list[Header]:
        return self.signature_of(self.codec.encode(topic, event).value) if topic in SEED_TOPICS else []

    def signature_of(self, value: bytes, *, key: str = OWNER_KEY) -> list[Header]:
        """Return the headers with which an owner sends a seed."""
        return [*owner_headers(value, key=key)]

    def put(
        self,
        topic: Topic[Any],
        value: bytes,
        *,
        partition: int | None = None,
        headers: tuple[Header, ...] = (),
    ) -> None:
        """Put bytes of any kind on a topic, as anyone may."""
        self.broker.append(OutgoingMessage(topic.name, b"key", value, partition, headers))

    async def drained(self) -> None:
        """Wait until everything is committed."""
        await self.until(lambda: not any(self.lags()))

    def lags(self) -> list[int]:
        return [lag for group in GROUPS for lag in self.broker.lag(group).values()]

    def lag_of(self, group: str) -> int:
        """Return how many messages a group has not committed."""
        return sum(self.broker.lag(group).values())

    async def pass_time(self, seconds: float) -> None:
        """Let virtual time pass."""
        await self.clock.sleep(seconds)

    async def until(self, condition: Any, *, seconds: float = 600.0) -> None:
        """Let virtual time pass until a condition holds."""
        ends_at = self.clock.monotonic() + seconds
        while not condition():
            for task in self.loops:
                if task.done() and task.exception():
                    raise AssertionError("the loop ended") from task.exception()
            assert self.clock.monotonic() < ends_at, "the condition never held"
            await asyncio.sleep(0.05)

    def records(self, topic: Topic[Any]) -> list[Record]:
        return [record for log in self.broker.topic(topic.name).partitions for record in log.records]

    def events(self, topic: Topic[Any]) -> list[Any]:
        """Everything that was said on a topic, partition by partition."""
        return [self.codec.decode(topic, each.value, each.headers) for each in self.records(topic)]

    def events_by_partition(self, topic: Topic[Any]) -> list[list[Any]]:
        """Everything that was said on a topic, a list for each partition."""
        logs = self.broker.topic(topic.name).partitions
        return [[self.codec.decode(topic, each.value, each.headers) for each in log.records] for log in logs]

    def discovered(self) -> list[str]:
        return sorted(url for event in self.events(LINKS_DISCOVERED) for url in event.urls)

    def decided(self) -> dict[str, str]:
        return {
            url: reason
            for event in self.events(URLS_DECIDED)
            for url, reason in zip(event.urls, event.reasons, strict=True)
        }

    def decided_details(self) -> dict[str, str]:
        return {
            url: detail
            for event in self.events(URLS_DECIDED)
            for url, detail in zip(event.urls, event.details, strict=True)
        }

    def details(self) -> set[str]:
        return set(self.decided_details().values())

    def committed(self, topic: Topic[Any], group: str) -> int:
        offsets = self.broker.group(group).committed
        return sum(offsets[TopicPartition(topic.name, number)] for number in range(SHARDS))

    def _start(self, group: str, reads: Iterable[Subscription], **ports: Any) -> None:
        reads = tuple(reads)
        letters = DeadLetterWriter(
            LINK_INGESTION_DLQ, DeadLetterOrigin("link-ingestion", group), clock=self.clock
        )
        given = ConsumerPorts(
            clock=self.clock,
            chance=SeededRandomness(1),
            publisher=EventPublisher(
                self.bus, self.codec, service="link-ingestion", shards=SHARDS, clock=self.clock
            ),
            dead_letters=letters,
            **ports,
        )
        sharded = group == PAGES_GROUP
        spec = GroupSpec(group, tuple(each.topic.name for each in reads), sharded=sharded)
        loop = ConsumerLoop(self.bus, self.codec, reads, spec, ports=given)
        self.loops[asyncio.create_task(loop.run())] = loop

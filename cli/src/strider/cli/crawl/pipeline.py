"""Run the consumer loops of several services on one bus in this process.

Decides how loops are built without a process around each, that the end of one of them ends all, and when
everything that was begun has been processed. Knows nothing of crawls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED, PAGES_VALIDATED, TOPICS
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import Clock, TopicPartition
from strider.runtime.clocks import SystemRandomness
from strider.runtime.consumer.error_policy import BREAKER
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import AsyncStep, ConsumerPorts, ConsumerSpec
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.version import strider_version
from strider.storage.objects import DeadLetterObjectStore

TOPIC_BYTES: Final = 64 * 1024 * 1024
"""Unread messages in a topic of bodies or pages above which publishers wait."""

_BOUNDED: Final = frozenset(topic.name for topic in (PAGES_FETCHED, PAGES_PARSED, PAGES_VALIDATED))


@dataclass(frozen=True, slots=True)
class PipelineService:
    """A service in the pipeline: its consumers, background tasks and shutdown steps."""

    name: str
    consumers: tuple[ConsumerSpec, ...]
    dead_letters: Topic[Any]
    background: tuple[AsyncStep, ...] = ()
    on_stop: tuple[Callable[[], None], ...] = ()
    close: tuple[Callable[[], Awaitable[None]], ...] = ()


def make_broker(clock: Clock, *, shards: int) -> InProcessBroker:
    """Make a broker with every declared topic."""
    broker = InProcessBroker(clock=clock)
    for topic in TOPICS.values():
        bound = TOPIC_BYTES if topic.name in _BOUNDED else None
        broker.declare_topic(topic, shards=shards, max_bytes=bound)
    return broker


class ServicePipeline:
    """The consumer loops of all services."""

    def __init__(
        self,
        broker: InProcessBroker,
        services: Sequence[PipelineService],
        *,
        codec: Codec,
        clock: Clock,
        objects: DeadLetterObjectStore,
        shards: int,
    ) -> None:
        self.broker = broker
        self._services = services
        self._codec = codec
        self._clock = clock
        self._objects = objects
        self._shards = shards
        self._buses: list[InProcessBus] = []
        self._publishers: list[EventPublisher] = []
        self._loops: dict[str, tuple[ConsumerLoop, ...]] = {}
        for service in services:
            self._loops[service.name] = tuple(self._make_loops(service))

    def _make_loops(self, service: PipelineService) -> Iterator[ConsumerLoop]:
        bus = InProcessBus(self.broker)
        publisher = EventPublisher(
            bus, self._codec, service=service.name, shards=self._shards, clock=self._clock
        )
        self._buses.append(bus)
        self._publishers.append(publisher)
        for consumption in service.consumers:
            group = consumption.group.group
            self.broker.start_group(group, consumption.group.topics)
            origin = DeadLetterOrigin(service.name, group, version=strider_version(), worker_id="embedded")
            letters = DeadLetterWriter(service.dead_letters, origin, clock=self._clock, objects=self._objects)
            ports = ConsumerPorts(
                clock=self._clock,
                chance=SystemRandomness(),
                publisher=publisher,
                dead_letters=letters,
                shards=consumption.shards,
                on_given_up=consumption.on_given_up,
                on_caught_up=consumption.on_caught_up,
            )
            yield ConsumerLoop(
                bus,
                self._codec,
                consumption.subscriptions,
                consumption.group,
                ports=ports,
                settings=consumption.settings,
            )

    async def run(self) -> None:
        """Run all loops; returns when all have stopped, raises the error that ended one."""
        background = [
            asyncio.ensure_future(step()) for service in self._services for step in service.background
        ]
        loops = [asyncio.create_task(loop.run(), name=loop.group) for loop in self._all_loops()]
        try:
            await self._watch(loops, background)
        finally:
            for task in (*loops, *background):
                task.cancel()
            await asyncio.gather(*loops, *background, return_exceptions=True)
            await self._close()

    async def _watch(
        self, loops: list[asyncio.Task[None]], background: Sequence[asyncio.Future[None]]
    ) -> None:
        left: set[asyncio.Future[None]] = set(loops)
        while left:
            done, _ = await asyncio.wait((*left, *background), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # raises the error that ended it
            left -= done

    def stop(self, name: str = "") -> None:
        """Stop one service, or all, after the messages in flight, within seconds."""
        for service in self._services:
            if name in {"", service.name}:
                for stop in service.on_stop:
                    stop()
                for loop in self._loops[service.name]:
                    loop.request_stop()

    def is_drained(self, *, except_for: str) -> bool:
        """Whether all services but one have processed everything."""
        groups = [loop.group for name, loops in self._loops.items() if name != except_for for loop in loops]
        is_idle = not any(loop.in_flight for loop in self._loops[except_for])
        return is_idle and not any(map(self.lag, groups))

    def dead_letter_flood(self) -> str:
        """Return which loop has paused because nearly all of its messages fail; empty while none has."""
        for loop in self._all_loops():
            if reason := loop.paused_reasons.get(BREAKER):
                return f"{loop.group}: {reason}"
        return ""

    def lag(self, group: str) -> int:
        """Return the number of messages that a group has not committed."""
        return sum(self.broker.lag(group).values())

    def dead_letters(self) -> int:
        """Return the number of dead-lettered messages."""
        names = {service.dead_letters.name for service in self._services}
        return sum(sum(end_offsets(self.broker, name).values()) for name in names)

    def _all_loops(self) -> Iterator[ConsumerLoop]:
        for loops in self._loops.values():
            yield from loops

    async def _close(self) -> None:
        for service in self._services:
            for step in service.close:
                await step()
        for publisher in self._publishers:
            await publisher.close()
        for bus in self._buses:
            await bus.close()


def committed_offsets(broker: InProcessBroker, group: str, topic: str) -> dict[int, int]:
    """Return the committed offsets of a group in one topic, by partition."""
    offsets = broker.group(group).committed
    return {place.partition: offset for place, offset in offsets.items() if place.topic == topic}


def end_offsets(broker: InProcessBroker, topic: str) -> dict[int, int]:
    """Return the end offsets of a topic, by partition."""
    return {
        log.partition: broker.log(TopicPartition(topic, log.partition)).stable_end()
        for log in broker.topic(topic).partitions
    }

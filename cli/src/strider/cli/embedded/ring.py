"""Runs members on one bus until they are told to stop; whatever ends one of them ends the ring.

Decides how loops are put together where there is no process around each, and when all that was
begun has gone round. Knows no crawl.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from strider.contracts.avro.codec import Codec
from strider.contracts.generated.topics import PAGES_FETCHED, PAGES_PARSED, PAGES_VALIDATED, TOPICS
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import Clock, TopicPartition
from strider.runtime.clocks import SystemRandomness
from strider.runtime.consumer.error_policy import BREAKER
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.version import strider_version
from strider.storage.objects import DeadLetterObjectStore

from .member import Member

TOPIC_BYTES: Final = 64 * 1024 * 1024
"""Of messages that somebody has still to read, in a topic of bodies or pages; beyond it senders wait."""

_BOUNDED: Final = frozenset(topic.name for topic in (PAGES_FETCHED, PAGES_PARSED, PAGES_VALIDATED))


def new_broker(clock: Clock, *, shards: int) -> InProcessBroker:
    """Make a broker that has every topic of the ring."""
    broker = InProcessBroker(clock=clock)
    for topic in TOPICS.values():
        bound = TOPIC_BYTES if topic.name in _BOUNDED else None
        broker.declare_topic(topic, shards=shards, max_bytes=bound)
    return broker


class Ring:
    """The loops of all members."""

    def __init__(
        self,
        broker: InProcessBroker,
        members: Sequence[Member],
        *,
        codec: Codec,
        clock: Clock,
        objects: DeadLetterObjectStore,
        shards: int,
    ) -> None:
        self.broker = broker
        self._members = members
        self._codec = codec
        self._clock = clock
        self._objects = objects
        self._shards = shards
        self._buses: list[InProcessBus] = []
        self._speakers: list[EventPublisher] = []
        self._loops: dict[str, tuple[ConsumerLoop, ...]] = {}
        for member in members:
            self._loops[member.name] = tuple(self._loops_of(member))

    def _loops_of(self, member: Member) -> Iterator[ConsumerLoop]:
        bus = InProcessBus(self.broker)
        speaker = EventPublisher(
            bus, self._codec, service=member.name, shards=self._shards, clock=self._clock
        )
        self._buses.append(bus)
        self._speakers.append(speaker)
        for consumption in member.consumes:
            group = consumption.group.group
            self.broker.start_group(group, consumption.group.topics)
            origin = DeadLetterOrigin(member.name, group, version=strider_version(), worker_id="embedded")
            letters = DeadLetterWriter(member.dead_letters, origin, clock=self._clock, objects=self._objects)
            ports = ConsumerPorts(
                clock=self._clock,
                chance=SystemRandomness(),
                publisher=speaker,
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
        """Run all loops; returns when all have stopped, raises what ended one that should not have."""
        background = [asyncio.ensure_future(step()) for member in self._members for step in member.background]
        loops = [asyncio.create_task(loop.run(), name=loop.group) for loop in self._all()]
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
                task.result()  # raises what ended it
            left -= done

    def stop(self, name: str = "") -> None:
        """Let what is in hand be finished, within seconds: by one member, or by all."""
        for member in self._members:
            if name in {"", member.name}:
                for tell in member.on_stop:
                    tell()
                for loop in self._loops[member.name]:
                    loop.request_stop()

    def is_drained(self, *, but: str) -> bool:
        """Whether everyone but one member has done all that there is to do."""
        groups = [loop.group for name, loops in self._loops.items() if name != but for loop in loops]
        is_idle = not any(loop.in_flight for loop in self._loops[but])
        return is_idle and not any(map(self.lag, groups))

    def flood(self) -> str:
        """Say which loop has stopped because nearly everything it reads is bad; empty while none has."""
        for loop in self._all():
            if why := loop.paused_reasons.get(BREAKER):
                return f"{loop.group}: {why}"
        return ""

    def lag(self, group: str) -> int:
        """Count the messages that a group has still to commit."""
        return sum(self.broker.lag(group).values())

    def dead_letters(self) -> int:
        """Count the messages that were given up."""
        names = {member.dead_letters.name for member in self._members}
        return sum(sum(ends(self.broker, name).values()) for name in names)

    def _all(self) -> Iterator[ConsumerLoop]:
        for loops in self._loops.values():
            yield from loops

    async def _close(self) -> None:
        for member in self._members:
            for step in member.close:
                await step()
        for speaker in self._speakers:
            await speaker.close()
        for bus in self._buses:
            await bus.close()


def committed(broker: InProcessBroker, group: str, topic: str) -> dict[int, int]:
    """Give a group's offsets in one topic, by partition."""
    offsets = broker.group(group).committed
    return {place.partition: offset for place, offset in offsets.items() if place.topic == topic}


def ends(broker: InProcessBroker, topic: str) -> dict[int, int]:
    """Give where a topic ends, by partition."""
    return {
        log.partition: broker.log(TopicPartition(topic, log.partition)).stable_end()
        for log in broker.topic(topic).partitions
    }

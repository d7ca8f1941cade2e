"""A small world for the consumer loop: notes on topics in memory, a codec of plain text, virtual time.

Nothing of ours is faked but the codec and the hooks that a service would bring: the bus is the real
one of a single process, and time passes only when everybody waits.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from strider.contracts import DecodeError, EncodeError, Topic, UnknownSchema
from strider.contracts.generated.events import DeadLetter
from strider.messaging.effects import Publish, Subscription
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, InProcessConsumer
from strider.messaging.ports import Bus, GroupSpec, OutgoingMessage, RebalanceListener, TopicPartition
from strider.runtime.clocks import SeededRandomness
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.spec import ConsumerPorts, ConsumerSettings
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher

GROUP = "readers"
UNKNOWN = b"unknown:"


@dataclass(frozen=True, slots=True)
class Note:
    """What travels here: a key and a text."""

    key: str
    text: str


def a_topic(name: str = "notes", **changes: Any) -> Topic[Any]:
    topic: Topic[Any] = Topic(
        name=name,
        value=Note,
        schema_name="note.v1",
        description="",
        partitioner="key",
        cleanup="delete",
        writers=(),
        readers=(),
        max_bytes=65_536,
        key_of=lambda note: note.key.encode() or None,
    )
    return replace(topic, **changes)


NOTES = a_topic("notes")
ANSWERS = a_topic("answers")
CLOSINGS = a_topic("closings")
LETTERS = a_topic("letters", value=DeadLetter, key_of=lambda letter: letter.key)


class Encoded(NamedTuple):
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


class TextCodec:
    """Notes as `key=text`; dead letters pickled. `bad` does not decode, `unknown:` needs a schema."""

    def __init__(self) -> None:
        self.known: set[bytes] = set()
        self.wanted: set[tuple[str, ...]] = set()
        """The fields that were to be read, of whatever was."""

    def encode(self, topic: Topic[Any], event: Any) -> Encoded:
        if not isinstance(event, Note):
            return Encoded(pickle.dumps(event))
        if event.text == "refuse":
            raise EncodeError("no such note")
        return Encoded(f"{event.key}={event.text}".encode())

    def decode(
        self,
        topic: Topic[Any],
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]],
        *,
        only: tuple[str, ...] = (),
    ) -> Any:
        self.wanted.add(only)
        if value is None or value.startswith(b"bad"):
            raise DecodeError("bad_magic", "no note")
        if value.startswith(UNKNOWN):
            schema, _, value = value.removeprefix(UNKNOWN).partition(b":")
            if schema not in self.known:
                raise UnknownSchema(fingerprint=schema)
        key, _, text = value.decode().partition("=")
        return Note(key, text)


class WatchedBus(InProcessBus):
    """One process's bus, whose consumer a test can get at."""

    member: InProcessConsumer

    async def consumer(self, spec: GroupSpec, listener: RebalanceListener) -> InProcessConsumer:
        self.member = await super().consumer(spec, listener)
        return self.member


@dataclass
class World:
    """A broker, its topics, and what a service needs on it."""

    partitions: int = 2
    settings: ConsumerSettings = field(default_factory=ConsumerSettings)
    topics: tuple[Topic[Any], ...] = (NOTES, ANSWERS, CLOSINGS, LETTERS)

    def __post_init__(self) -> None:
        self.clock = EventLoopClock()
        self.chance = SeededRandomness(1)
        self.codec = TextCodec()
        self.broker = InProcessBroker(clock=self.clock)
        for topic in self.topics:
            self.broker.create_topic(topic.name, self.partitions)
        self.broker.start_group(GROUP, [topic.name for topic in self.topics])
        self.bus = WatchedBus(self.broker)
        self.running: list[asyncio.Task[None]] = []

    def ports(self, bus: Bus | None = None, **changes: Any) -> ConsumerPorts:
        speaker = EventPublisher(
            bus or self.bus, self.codec, service="reader", shards=self.partitions, clock=self.clock
        )
        letters = DeadLetterWriter(LETTERS, DeadLetterOrigin("reader", GROUP), clock=self.clock)
        ports = ConsumerPorts(clock=self.clock, chance=self.chance, publisher=speaker, dead_letters=letters)
        return replace(ports, **changes)

    def loop(
        self,
        *reads: Subscription,
        bus: Bus | None = None,
        settings: ConsumerSettings | None = None,
        sharded: bool = False,
        **ports: Any,
    ) -> ConsumerLoop:
        spec = GroupSpec(GROUP, tuple(each.topic.name for each in reads), sharded=sharded)
        return ConsumerLoop(
            bus or self.bus,
            self.codec,
            reads,
            spec,
            ports=self.ports(bus, **ports),
            settings=settings or self.settings,
        )

    def start(self, loop: ConsumerLoop) -> asyncio.Task[None]:
        task = asyncio.create_task(loop.run())
        self.running.append(task)
        return task

    async def write(
        self, *notes: Note | bytes, topic: Topic[Any] = NOTES, partition: int | None = None
    ) -> None:
        """Put notes, or bytes of any kind, on a topic."""
        for note in notes:
            if isinstance(note, Note):
                value, key = self.codec.encode(topic, note).value, topic.key_of(note)
            else:
                value, key = note, None
            self.broker.append(OutgoingMessage(topic.name, key, value, partition))

    def read(self, topic: Topic[Any]) -> list[Note]:
        """Return every event on a topic, partition by partition."""
        return [
            self.codec.decode(topic, record.value, record.headers)
            for log in self.broker.topic(topic.name).partitions
            for record in log.records
        ]

    def texts(self, topic: Topic[Any] = ANSWERS) -> list[str]:
        return sorted(note.text for note in self.read(topic))

    def letters(self) -> list[DeadLetter]:
        logs = self.broker.topic(LETTERS.name).partitions
        return [pickle.loads(record.value) for log in logs for record in log.records if record.value]

    def committed(self, topic: Topic[Any] = NOTES) -> list[int]:
        offsets = self.broker.group(GROUP).committed
        return [offsets[TopicPartition(topic.name, number)] for number in range(self.partitions)]

    def lag(self, topic: Topic[Any] = NOTES) -> int:
        return sum(lag for name, lag in self.broker.lag(GROUP).items() if name.topic == topic.name)

    async def until(
        self, condition: Callable[[], object], *, seconds: float = 600.0, every: float = 0.01
    ) -> None:
        """Let (virtual) time pass until a condition holds; fail at once when the loop crashed."""
        ends_at = self.clock.monotonic() + seconds
        while not condition():
            for task in self.running:
                if task.done() and not task.cancelled() and task.exception():
                    raise AssertionError("the loop ended") from task.exception()
            assert self.clock.monotonic() < ends_at, "the condition never held"
            await asyncio.sleep(every)

    async def drained(self) -> None:
        """Wait until everything on the notes' topic is committed."""
        await self.until(lambda: self.lag() == 0)

    async def stop(self, loop: ConsumerLoop, task: asyncio.Task[None]) -> None:
        loop.request_stop()
        await task


def notes(count: int, *, keys: int = 4) -> list[Note]:
    return [Note(f"k{number % keys}", f"{number:04}") for number in range(count)]


def answer(note: Note) -> Publish:
    return Publish(ANSWERS, Note(note.key, note.text))


def closing(note: Note) -> Publish:
    return Publish(CLOSINGS, Note(note.key, note.text))


def texts(events: Iterable[Note]) -> list[str]:
    return sorted(event.text for event in events)


Work = Callable[[], Awaitable[None]]

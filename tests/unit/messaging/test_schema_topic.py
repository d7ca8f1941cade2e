"""Declared before first use, looked for before a message is called bad."""

from __future__ import annotations

import asyncio
import json

import pytest

from strider.contracts import UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore, writer_schema
from strider.contracts.generated.events import SchemaDeclared
from strider.contracts.generated.topics import ECHOES, SCHEMAS
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import OutgoingMessage, TopicPartition
from strider.messaging.schema_topic import SchemaFinder, SchemaPublisher
from strider.runtime.clocks import SystemClock

NEWER = json.dumps(
    {
        "type": "record",
        "name": "Echoed",
        "namespace": "strider",
        "fields": [
            {"name": "request_id", "type": "string"},
            {"name": "host", "type": "string"},
            {"name": "outcome", "type": "string"},
            {"name": "mood", "type": "string", "default": ""},
        ],
    }
)
"""What a later version of echo may write."""
NEWER_FINGERPRINT = writer_schema(json.loads(NEWER)).fingerprint


class Registry:
    """A registry that hands out ids in turn."""

    def __init__(self) -> None:
        self.definitions: dict[int, str] = {}
        self.refuses = False

    async def id_of(self, topic: str, definition: str) -> int:
        self.definitions[len(self.definitions) + 1] = definition
        return len(self.definitions)

    async def definition_of(self, registry_id: int) -> str | None:
        if self.refuses:
            raise StartRefused("403")
        return self.definitions.get(registry_id)


class World:
    """A broker with the topics, and a codec as a fresh process has it."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.broker = InProcessBroker(clock=self.clock)
        self.broker.create_topic(SCHEMAS.name, 1)
        self.broker.create_topic(ECHOES.name, 2)
        self.bus = InProcessBus(self.broker)
        self.codec = Codec(SchemaStore.bundled())

    async def declare(self, definition: str, fingerprint: bytes) -> None:
        event = SchemaDeclared(fingerprint=fingerprint.hex(), name="echoed.v2", schema=definition)
        await self.put(
            OutgoingMessage(SCHEMAS.name, SCHEMAS.key_of(event), self.codec.encode(SCHEMAS, event).value)
        )

    async def put(self, message: OutgoingMessage) -> None:
        producer = await self.bus.producer()
        await (await producer.send(message))

    async def declared(self) -> list[SchemaDeclared]:
        partition = TopicPartition(SCHEMAS.name, 0)
        reader = await self.bus.reader([partition])
        found = await reader.poll(max_records=100, timeout_seconds=1)
        return [self.codec.decode(SCHEMAS, r.value, r.headers) for r in found[partition]]


@pytest.fixture
def world() -> World:
    return World()


async def test_every_schema_is_acknowledged_before_the_first_event(world: World) -> None:
    publisher = SchemaPublisher("echo", codec=world.codec, clock=world.clock)

    await publisher.publish(await world.bus.producer(), [ECHOES])

    declared = await world.declared()
    assert {each.name for each in declared} == {"echoed.v1", "schema-declared.v1"}
    for each in declared:
        ours = world.codec.schema_store.current(each.name)
        assert each.fingerprint == ours.fingerprint.hex()
        assert writer_schema(json.loads(each.schema)).fingerprint == ours.fingerprint
        assert each.declared_by == "echo"


async def test_with_a_registry_messages_are_written_under_its_ids(world: World) -> None:
    registry = Registry()
    publisher = SchemaPublisher("echo", codec=world.codec, clock=world.clock, registry=registry)

    await publisher.publish(await world.bus.producer(), [ECHOES])

    fingerprint = world.codec.schema_store.current("echoed.v1").fingerprint
    assert world.codec.schema_store.registry_id(ECHOES.name, fingerprint) in registry.definitions


async def test_nothing_is_published_while_the_broker_is_down(world: World) -> None:
    publisher = SchemaPublisher("echo", codec=world.codec, clock=world.clock)
    producer = await world.bus.producer()
    world.broker.set_unavailable("down")

    with pytest.raises(Unavailable):
        await publisher.publish(producer, [ECHOES])


async def test_a_schema_that_was_declared_meanwhile_is_found(world: World) -> None:
    """Also a second time: the reader continues from where it stood."""
    finder = SchemaFinder(world.bus, codec=world.codec)
    unknown = UnknownSchema(fingerprint=NEWER_FINGERPRINT)

    before = await finder.find(unknown)
    await world.declare(NEWER, NEWER_FINGERPRINT)
    after = await finder.find(unknown)
    await finder.close()

    assert (before, after) == (False, True)
    assert world.codec.schema_store.find(NEWER_FINGERPRINT) is not None


async def test_the_topic_is_read_to_its_end_as_it_is_now(world: World) -> None:
    for number in range(30):
        await world.put(OutgoingMessage(SCHEMAS.name, b"%d" % number, b"no schema at all"))
    await world.put(OutgoingMessage(SCHEMAS.name, b"gone", None))
    await world.declare(NEWER, NEWER_FINGERPRINT)

    assert await SchemaFinder(world.bus, codec=world.codec).find(UnknownSchema(fingerprint=NEWER_FINGERPRINT))


async def test_concurrent_lookups_share_reads(world: World) -> None:
    """A rolling upgrade makes every partition meet the new schema at the same moment."""
    finder = SchemaFinder(world.bus, codec=world.codec)
    await world.declare(NEWER, NEWER_FINGERPRINT)

    found = await asyncio.gather(
        *(finder.find(UnknownSchema(fingerprint=NEWER_FINGERPRINT)) for _ in range(20))
    )

    assert all(found)
    assert finder._reader._started == 1


async def test_a_false_declaration_teaches_nothing(world: World) -> None:
    """A schema under another one's fingerprint would make good messages unreadable."""
    await world.declare('"string"', NEWER_FINGERPRINT)

    assert not await SchemaFinder(world.bus, codec=world.codec).find(
        UnknownSchema(fingerprint=NEWER_FINGERPRINT)
    )


async def test_what_cannot_be_read_now_is_not_called_absent(world: World) -> None:
    finder = SchemaFinder(world.bus, codec=world.codec)
    unknown = UnknownSchema(fingerprint=NEWER_FINGERPRINT)
    await world.declare(NEWER, NEWER_FINGERPRINT)
    world.broker.set_unavailable("down")

    with pytest.raises(Unavailable):
        await finder.find(unknown)
    world.broker.set_available()

    assert await finder.find(unknown)


async def test_a_registry_id_is_looked_up_in_the_registry(world: World) -> None:
    registry = Registry()
    registry.definitions[7] = NEWER
    finder = SchemaFinder(world.bus, codec=world.codec, registry=registry)

    found = await finder.find(UnknownSchema(registry_id=7))

    assert found
    assert world.codec.schema_store.find_by_registry_id(7) == NEWER_FINGERPRINT
    assert not await finder.find(UnknownSchema(registry_id=8))


@pytest.mark.fault("F19", part="a registry that refuses later")
async def test_a_registry_that_refuses_while_running_is_waited_for(world: World) -> None:
    """A password that was rotated must not send good messages to the dead letters."""
    registry = Registry()
    registry.refuses = True

    with pytest.raises(Unavailable, match="registry"):
        await SchemaFinder(world.bus, codec=world.codec, registry=registry).find(UnknownSchema(registry_id=7))


async def test_a_registry_id_without_a_registry_is_unknown(world: World) -> None:
    assert not await SchemaFinder(world.bus, codec=world.codec).find(UnknownSchema(registry_id=7))


async def test_one_read_finds_many_schemas() -> None:
    world = World()
    await world.declare(NEWER, NEWER_FINGERPRINT)
    finder = SchemaFinder(world.bus, codec=world.codec)
    whole, reads = finder._reader._read_to_end, 0

    async def read() -> None:
        nonlocal reads
        reads += 1
        await whole()

    finder._reader._read_to_end = read  # type: ignore[method-assign]
    invented = [UnknownSchema(fingerprint=number.to_bytes(8)) for number in range(300)]
    none = await finder.find(*invented)
    one = await finder.find(*invented, UnknownSchema(fingerprint=NEWER_FINGERPRINT))
    await finder.close()

    # All is read the first time, so that the second call looks up the end alone.
    assert (none, one, reads) == (False, True, 2)


async def test_many_ids_are_looked_up_in_the_registry_at_a_time() -> None:
    world, registry = World(), Registry()
    registry.definitions[9] = NEWER
    unknown = [UnknownSchema(registry_id=number) for number in range(1, 40)]

    assert await SchemaFinder(world.bus, codec=world.codec, registry=registry).find(*unknown)
    assert world.codec.schema_store.find_by_registry_id(9) == NEWER_FINGERPRINT


async def test_a_read_that_failed_counts_for_no_caller() -> None:
    """Who waited for it reads again: else a good message would be called unknown."""
    world = World()
    await world.declare(NEWER, NEWER_FINGERPRINT)
    finder = SchemaFinder(world.bus, codec=world.codec)
    failing = [True, True, False]
    whole = finder._reader._read_to_end

    async def read() -> None:
        await asyncio.sleep(0)
        if failing.pop(0):
            raise Unavailable("kafka", "gone")
        await whole()

    finder._reader._read_to_end = read  # type: ignore[method-assign]
    unknown = UnknownSchema(fingerprint=NEWER_FINGERPRINT)
    found = await asyncio.gather(*(finder.find(unknown) for _ in range(3)), return_exceptions=True)

    assert [answer if isinstance(answer, bool) else type(answer) for answer in found] == [
        Unavailable,
        Unavailable,
        True,
    ]
    await finder.close()

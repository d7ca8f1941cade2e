"""The shelf of crawl specs: read when one is missing, absent only when the topic was read to its end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from strider.contracts import UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, SeedSubmitted
from strider.contracts.generated.topics import CRAWL_SPECS
from strider.contracts.specs.crawl_specs import spec_from_seed
from strider.crawl import crawl_spec_cache as shelves
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.messaging.effects import Publish, PublishRaw
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import OutgoingMessage, TopicPartition
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher


def a_spec(depth: int = 5) -> CrawlSpecDeclared:
    return spec_from_seed(SeedSubmitted(url="https://a.test/", max_depth=depth))


class World:
    """A broker with the topic, and shelves as fresh processes have them."""

    def __init__(self, *, has_topic: bool = True) -> None:
        self.clock = SystemClock()
        self.broker = InProcessBroker(clock=self.clock)
        if has_topic:
            self.broker.create_topic(CRAWL_SPECS.name, 1)
        self.codec = Codec(SchemaStore.bundled())
        self.bus = InProcessBus(self.broker)
        self.speaker = EventPublisher(self.bus, self.codec, service="test", shards=1, clock=self.clock)

    def shelf(self) -> CrawlSpecCache:
        return CrawlSpecCache(InProcessBus(self.broker), Codec(SchemaStore.bundled()), clock=self.clock)

    def declare_raw(self, spec_id: str, value: bytes) -> None:
        self.broker.append(OutgoingMessage(CRAWL_SPECS.name, spec_id.encode(), value, 0))

    def declared(self) -> int:
        return len(self.broker.topic(CRAWL_SPECS.name).partitions[0].records)


async def test_what_one_declares_the_other_finds() -> None:
    """The rule that events may name a spec by its hash alone."""
    world = World()
    writer, reader = world.shelf(), world.shelf()
    await writer.declare(world.speaker, [a_spec(5), a_spec(6)])

    assert writer.get(a_spec(5).crawl_spec_id) == a_spec(5)
    assert reader.get(a_spec(5).crawl_spec_id) is None
    assert await reader.known([a_spec(5).crawl_spec_id, a_spec(6).crawl_spec_id, "absent"]) == {
        a_spec(5).crawl_spec_id: a_spec(5),
        a_spec(6).crawl_spec_id: a_spec(6),
    }
    assert reader.get(a_spec(6).crawl_spec_id) == a_spec(6)


async def test_a_reader_continues_where_it_stopped() -> None:
    """What comes after the first reading is found by the second one."""
    world = World()
    writer, reader = world.shelf(), world.shelf()
    await reader.find(["absent"])
    await writer.declare(world.speaker, [a_spec(5)])
    await reader.find([a_spec(5).crawl_spec_id])

    assert reader.get(a_spec(5).crawl_spec_id) == a_spec(5)


async def test_what_was_declared_is_not_declared_again() -> None:
    """A list of a million URLs is one spec, and one message for it."""
    world = World()
    shelf = world.shelf()
    assert shelf.declaration(a_spec()) == Publish(CRAWL_SPECS, a_spec())

    await shelf.declare(world.speaker, [a_spec(), a_spec()])
    await shelf.declare(world.speaker, [a_spec()])

    assert shelf.declaration(a_spec()) is None
    assert world.declared() == 1


async def test_concurrent_lookups_share_their_reads() -> None:
    """Each batch of a busy service looks it up; the broker must not be read a hundred times."""
    world = World()
    await world.shelf().declare(world.speaker, [a_spec(depth) for depth in range(1, 10)])
    shelf = world.shelf()
    readings = 0
    read_to_end = shelf._reader._read_to_end

    async def counted() -> None:
        nonlocal readings
        readings += 1
        await asyncio.sleep(0)
        await read_to_end()

    shelf._reader._read_to_end = counted  # type: ignore[method-assign]
    await asyncio.gather(*(shelf.find([a_spec(1 + number % 9).crawl_spec_id]) for number in range(50)))

    assert readings <= 2


async def test_without_the_topic_nothing_is_known_to_be_absent() -> None:
    """A stack that is not set up yet is waited for; its URLs must not be refused."""
    with pytest.raises(Unavailable, match="strider topics apply"):
        await World(has_topic=False).shelf().find(["x"])


async def test_after_a_failure_the_reading_starts_again() -> None:
    """A reader whose place is unknown would miss what it had skipped."""
    world = World()
    await world.shelf().declare(world.speaker, [a_spec()])
    shelf = world.shelf()
    world.broker.set_unavailable("away")
    with pytest.raises(Unavailable):
        await shelf.find([a_spec().crawl_spec_id])
    world.broker.set_available()

    assert await shelf.known([a_spec().crawl_spec_id]) == {a_spec().crawl_spec_id: a_spec()}


async def test_a_spec_that_cannot_be_read_is_absent() -> None:
    """One broken record must not stop every page of every other crawl."""
    world = World()
    world.declare_raw("broken", b"\xc3\x01nonsense")
    world.declare_raw("torn", world.codec.encode(CRAWL_SPECS, a_spec()).value[:-3])
    await world.shelf().declare(world.speaker, [a_spec()])
    shelf = world.shelf()

    assert await shelf.known(["torn", a_spec().crawl_spec_id]) == {a_spec().crawl_spec_id: a_spec()}


async def test_a_spec_in_a_newer_schema_raises_unknown_schema() -> None:
    """Mixed versions: the loop looks for the schema, and the message is handled again."""
    world = World()
    world.declare_raw("newer", b"\xc3\x01" + bytes(8) + b"x")

    with pytest.raises(UnknownSchema):
        await world.shelf().find(["newer"])


async def test_specs_beyond_the_open_ones_are_read_again_from_their_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A flood of seeds with settings of their own must not fill the memory with decoded specs."""
    monkeypatch.setattr(shelves, "MAX_DECODED_SPECS", 2)
    world = World()
    specs = [a_spec(depth) for depth in range(1, 8)]
    shelf = world.shelf()
    await shelf.declare(world.speaker, specs)

    assert [shelf.get(spec.crawl_spec_id) for spec in specs] == specs
    assert len(shelf._decoded) == 2


async def test_a_trimmed_topic_is_read_from_what_is_left() -> None:
    """Compaction or a person took the beginning: that is no reason to wait for it."""
    world = World()
    writer, reader = world.shelf(), world.shelf()
    await writer.declare(world.speaker, [a_spec(1)])
    await reader.find(["absent"])
    await writer.declare(world.speaker, [a_spec(2), a_spec(3)])
    world.broker.trim(TopicPartition(CRAWL_SPECS.name, 0), 2)
    await reader.find([a_spec(3).crawl_spec_id])

    assert reader.get(a_spec(3).crawl_spec_id) == a_spec(3)
    assert reader.get(a_spec(2).crawl_spec_id) is None


def test_labels_travel_although_they_are_no_part_of_the_name() -> None:
    """What is kept is the event as it was declared."""
    spec = replace(a_spec(), labels={"team": "a"})
    world = World()
    shelf = world.shelf()
    shelf.keep([spec])

    assert shelf.get(spec.crawl_spec_id) == spec


class LaterClock(SystemClock):
    """The system's clock, some days ahead."""

    def __init__(self) -> None:
        self.days = 0

    def now(self) -> datetime:
        return super().now() + timedelta(days=self.days)


@pytest.mark.fault("B5", part="crawl specs")
async def test_a_spec_that_is_used_again_survives_the_tombstone_of_its_old_record() -> None:
    """The owner of the frontier saw no use of it, while a seed brought it into use again."""
    world = World()
    clock = LaterClock()
    shelf = CrawlSpecCache(InProcessBus(world.broker), world.codec, clock=clock)
    name = a_spec().crawl_spec_id
    await shelf.declare(world.speaker, [a_spec()])
    clock.days = 29
    assert shelf.declaration(a_spec()) is None
    clock.days = 91
    await shelf.read_to_end()
    old = shelf.declared_before(round(clock.now().timestamp() * 1000))
    assert old == {name: (name.encode(),)}

    await shelf.declare(world.speaker, [a_spec()])
    assert shelf.declaration(a_spec()) is None
    await world.speaker.publish([PublishRaw(CRAWL_SPECS, key, None) for key in old[name]])

    fresh = world.shelf()
    assert await fresh.known([name]) == {name: a_spec()}
    [(_, keys)] = fresh.declared_before(1 << 60).items()
    assert [key.rpartition(b" ")[2] for key in keys] == [name.encode()]

    await world.speaker.publish([PublishRaw(CRAWL_SPECS, key, None) for key in keys])
    assert await world.shelf().known([name]) == {}
    await fresh.read_to_end()
    assert fresh.declaration(a_spec()) == Publish(CRAWL_SPECS, a_spec())

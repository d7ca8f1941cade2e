"""From events to messages: key, partition, headers, connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import ClassVar

import pytest

from strider.contracts import EncodeError
from strider.contracts.avro.codec import EncodedMessage as Ready
from strider.messaging.effects import Publish, PublishRaw, PublishRequest
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import InProcessBus, InProcessProducer, simulate
from strider.messaging.inprocess.broker import InProcessBroker
from strider.messaging.ports import OutgoingMessage, RecordMetadata
from strider.runtime.publishing.publisher import EventPublisher, check_acknowledged
from tests.unit.runtime.consumer.loop_harness import ANSWERS, NOTES, Encoded, Note, TextCodec, World, a_topic


class FingerprintCodec(TextCodec):
    def encode(self, topic: object, event: object) -> Encoded:
        return Encoded(super().encode(topic, event).value, (("schema-fp", b"\x01\x02"),))


def _speaker(world: World, bus: InProcessBus | None = None) -> EventPublisher:
    return EventPublisher(
        bus or world.bus, FingerprintCodec(), service="reader", shards=12, clock=world.clock
    )


def test_a_message_carries_what_its_reader_needs() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        topic = replace(ANSWERS, headers_of=lambda note: (("entry", note.key.encode()),))
        say = Publish(topic, Note("k", "text"), headers=(("replay-id", b"r1"),))
        await _speaker(world).publish((say,), cause="notes:0:17", headers=(("traceparent", b"00-ab-cd-01"),))
        (record,) = world.broker.topic("answers").partitions[0].records

        assert (record.key, record.value) == (b"k", b"k=text")
        assert record.headers == (
            ("schema-fp", b"\x01\x02"),
            ("ce_id", b"notes:0:17:0"),
            ("ce_source", b"/strider/reader"),
            ("ce_type", b"note.v1"),
            ("ce_specversion", b"1.0"),
            ("ce_time", b"2026-01-01T00:00:00+00:00"),
            ("traceparent", b"00-ab-cd-01"),
            ("entry", b"k"),
            ("replay-id", b"r1"),
        )

    simulate(scenario())


def _identities(world: World) -> list[bytes]:
    logs = world.broker.topic("answers").partitions
    return [dict(record.headers)["ce_id"] for log in logs for record in log.records]


def test_a_repeat_has_the_same_identity_and_nothing_else_has() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        speaker = _speaker(world)
        says = (Publish(ANSWERS, Note("k", "a")), Publish(ANSWERS, Note("k", "b")))
        for _ in range(2):
            await speaker.publish(says, cause="notes:0:1")
        await speaker.publish(says, cause="notes:0:2")
        first = _identities(world)

        assert first[:2] == first[2:4]
        assert len(set(first)) == 4

    simulate(scenario())


def test_an_event_with_a_cause_of_its_own_is_named_by_it() -> None:
    """Events may be published again in other batches; and no bytes are made for an id."""

    async def scenario() -> None:
        world = World(partitions=1)
        speaker = _speaker(world)
        first, second = (Publish(ANSWERS, Note("k", text), cause=f"leased {text}") for text in "ab")
        await speaker.publish((first, second))
        await speaker.publish((second,), cause="notes:0:1")

        assert _identities(world) == [b"leased a", b"leased b", b"leased b"]

    simulate(scenario())


def test_what_follows_from_no_message_is_named_by_its_content() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        speaker = _speaker(world)
        for text in ("a", "b", "a"):
            await speaker.publish((Publish(ANSWERS, Note("k", text)),))
        identities = _identities(world)

        assert identities[0] == identities[2] != identities[1]

    simulate(scenario())


@pytest.mark.parametrize(
    ("partitioner", "named", "partition"),
    [
        pytest.param("key", None, None, id="by key: the producer hashes it"),
        pytest.param("key", 3, 3, id="by key, and named"),
        pytest.param("shard", None, 7, id="by shard"),
        pytest.param("explicit", 5, 5, id="explicit"),
    ],
)
def test_the_partition_follows_from_the_declaration(
    partitioner: str, named: int | None, partition: int | None
) -> None:
    async def scenario() -> OutgoingMessage:
        topic = a_topic("answers", partitioner=partitioner, shard_of=lambda _note, shards: shards - 5)
        speaker = _speaker(World())
        return speaker.compose(
            Publish(topic, Note("k", "t"), partition=named), cause="c", now=b"", headers=()
        )

    assert simulate(scenario()).partition == partition


def test_a_topic_with_a_partition_count_of_its_own_has_that_many_shards() -> None:
    async def scenario() -> OutgoingMessage:
        topic = a_topic("answers", partitioner="shard", partitions=3, shard_of=lambda _note, shards: shards)
        return _speaker(World()).compose(Publish(topic, Note("k", "t")), cause="c", now=b"", headers=())

    assert simulate(scenario()).partition == 3


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        pytest.param({"partitioner": "explicit"}, "no partition was named", id="explicit without"),
        pytest.param(
            {"partitioner": "shard"}, "its declaration has no shard_of", id="shard without an owner"
        ),
    ],
)
def test_an_event_without_a_place_is_refused_before_anything_is_sent(
    changes: dict[str, str], what: str
) -> None:
    async def scenario() -> None:
        world = World()
        says = (Publish(ANSWERS, Note("k", "t")), Publish(a_topic("closings", **changes), Note("k", "t")))
        with pytest.raises(EncodeError, match=what):
            await _speaker(world).publish(says)

        assert world.texts(ANSWERS) == []

    simulate(scenario())


COMPACTED = a_topic("closings", cleanup="compact", max_bytes=100)
READY = Ready(b"from elsewhere", (("schema-fp", b"\x07"),))


def _composed(say: PublishRequest) -> OutgoingMessage:
    async def scenario() -> OutgoingMessage:
        headers = (("traceparent", b"00-ab-cd-01"),)
        return _speaker(World()).compose(say, cause="notes:0:17", now=b"now", headers=headers)

    return simulate(scenario())


def test_encoded_bytes_go_to_the_partition_of_their_event() -> None:
    """All but the bytes and their schema is as if the event had been encoded here."""
    topic = a_topic(
        "answers",
        partitioner="shard",
        shard_of=lambda note, shards: len(note.text) % shards,
        headers_of=lambda note: (("entry", note.key.encode()),),
    )
    say = Publish(topic, Note("k", "text"), headers=(("replay-id", b"r1"),))
    as_event, as_bytes = _composed(say), _composed(replace(say, encoded=READY))

    assert as_bytes == replace(
        as_event, value=b"from elsewhere", headers=(("schema-fp", b"\x07"), *as_event.headers[1:])
    )
    assert (as_bytes.key, as_bytes.partition) == (b"k", 4)


@pytest.mark.parametrize("value", [pytest.param(b"v", id="bytes"), pytest.param(None, id="a tombstone")])
def test_raw_bytes_have_the_key_the_place_and_the_headers_that_they_came_with(value: bytes | None) -> None:
    topic = replace(COMPACTED, partitioner="shard", headers_of=lambda note: note.nothing_of_it_is_asked)
    own = (("schema-fp", b"\x07"), ("entry", b"e"))

    assert _composed(PublishRaw(topic, b"k", value, headers=own, partition=1)) == OutgoingMessage(
        "closings",
        b"k",
        value,
        1,
        (
            ("ce_id", b"notes:0:17"),
            ("ce_source", b"/strider/reader"),
            ("ce_type", b"note.v1"),
            ("ce_specversion", b"1.0"),
            ("ce_time", b"now"),
            ("traceparent", b"00-ab-cd-01"),
            *own,
        ),
    )


def test_a_key_of_raw_bytes_may_choose_the_partition() -> None:
    assert _composed(PublishRaw(ANSWERS, b"k", b"v")).partition is None


@pytest.mark.parametrize(
    ("say", "what"),
    [
        pytest.param(
            Publish(COMPACTED, Note("k", "t"), encoded=Ready(b"x" * 101, ())),
            "101 bytes, the limit is 100",
            id="encoded, too large",
        ),
        pytest.param(
            Publish(COMPACTED, Note("k", "t"), encoded=Ready(b"", ())), "no bytes", id="encoded, empty"
        ),
        pytest.param(Publish(COMPACTED, "note", encoded=READY), "carries Note, not str", id="encoded, other"),
        pytest.param(PublishRaw(COMPACTED, b"k", b"x" * 101), "the limit is 100", id="raw, too large"),
        pytest.param(PublishRaw(COMPACTED, b"k", b""), "no bytes", id="raw, empty"),
        pytest.param(
            PublishRaw(COMPACTED, None, None), "no key was named", id="raw, compacted without a key"
        ),
        pytest.param(PublishRaw(ANSWERS, b"k", None), "is not compacted", id="a tombstone where nothing is"),
        pytest.param(
            PublishRaw(replace(ANSWERS, partitioner="shard"), b"k", b"v"), "by shard", id="raw, no shard"
        ),
        pytest.param(
            PublishRaw(replace(ANSWERS, partitioner="explicit"), b"k", b"v"),
            "by explicit",
            id="raw, no place",
        ),
    ],
)
def test_bytes_that_break_the_rules_of_their_topic_are_refused_before_anything_is_sent(
    say: PublishRequest, what: str
) -> None:
    async def scenario() -> None:
        world = World()
        with pytest.raises(EncodeError, match=what):
            await _speaker(world).publish((Publish(ANSWERS, Note("k", "t")), say))

        assert world.texts(ANSWERS) == []

    simulate(scenario())


def test_tombstones_that_follow_from_no_message_are_named_by_their_key() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        topic = replace(ANSWERS, cleanup="compact")
        for key in (b"a", b"b", b"a"):
            await _speaker(world).publish((PublishRaw(topic, key, None),))
        identities = _identities(world)

        assert identities[0] == identities[2] != identities[1]

    simulate(scenario())


class CountingProducer(InProcessProducer):
    """Notes what it is to compress."""

    compressed: ClassVar[set[tuple[str, bool]]] = set()

    async def send(self, message: OutgoingMessage) -> Awaitable[RecordMetadata]:
        self.compressed.add((message.topic, message.is_compressed))
        return await super().send(message)


class CountingBus(InProcessBus):
    """Counts the producers that were opened."""

    def __init__(self, broker: InProcessBroker) -> None:
        super().__init__(broker)
        self.broker = broker
        self.producers = 0

    async def producer(self, *, compression: str | None = "zstd") -> InProcessProducer:
        await asyncio.sleep(0)
        assert compression == "zstd"
        self.producers += 1
        return CountingProducer(self.broker)


def test_there_is_one_producer_for_what_is_compressed_and_what_is_not() -> None:
    """Also when many calls are concurrent: each producer is a connection to the broker."""

    async def scenario() -> None:
        world = World()
        bus = CountingBus(world.broker)
        speaker = _speaker(world, bus)
        plain = a_topic("closings", compression="none")
        await asyncio.gather(
            *(
                speaker.publish((Publish(topic, Note("k", "t")),))
                for topic in (ANSWERS, plain)
                for _ in range(5)
            )
        )
        await speaker.close()

        assert bus.producers == 1
        assert CountingProducer.compressed == {(ANSWERS.name, True), ("closings", False)}

    simulate(scenario())


def test_a_failed_acknowledgement_fails_the_whole() -> None:
    async def scenario() -> None:
        world = World()
        bus = InProcessBus(world.broker, chance=world.chance, ack_seconds=(1, 3))
        speaker = _speaker(world, bus)
        speaking = asyncio.create_task(
            speaker.publish([Publish(NOTES, Note(f"k{n}", "t")) for n in range(10)])
        )
        await asyncio.sleep(1)
        world.broker.set_unavailable("gone")
        with pytest.raises(Unavailable, match="gone"):
            await speaking

    simulate(scenario())


def test_a_cancelled_send_counts_as_not_acknowledged() -> None:
    async def scenario() -> None:
        world = World()
        bus = InProcessBus(world.broker, chance=world.chance, ack_seconds=(5, 5))
        (acknowledgement,) = await _speaker(world, bus).send((Publish(NOTES, Note("k", "t")),))
        acknowledgement.cancel()
        with pytest.raises(Unavailable, match="cancelled"):
            check_acknowledged([acknowledgement])

    simulate(scenario())

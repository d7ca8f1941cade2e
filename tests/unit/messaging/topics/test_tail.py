"""A topic can be read from anywhere, and what is bad in it is shown with the reason."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import Echoed, SchemaDeclared
from strider.contracts.generated.topics import ECHO_REQUESTS, ECHOES, SCHEMAS
from strider.messaging.errors import StartRefused
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import OutgoingMessage, RawRecord, TopicPartition
from strider.messaging.schema_topic import SchemaFinder
from strider.messaging.topics.tail import TailedMessage, TailOptions, TopicTail

START = datetime(2026, 1, 1, tzinfo=UTC)


class HandClock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return (self.moment - START).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


class World:
    """A broker with one topic of echoes, a minute between two of them."""

    def __init__(self, partitions: int = 1) -> None:
        self.clock = HandClock()
        self.broker = InProcessBroker(clock=self.clock)
        self.broker.create_topic(ECHOES.name, partitions)
        self.broker.create_topic(SCHEMAS.name, 1)
        self.bus = InProcessBus(self.broker)
        self.codec = Codec(SchemaStore.bundled())

    def say(self, text: str, *, partition: int = 0, outcome: str = "echoed") -> None:
        event = Echoed(request_id=text, host="example.org", outcome=outcome, text=text)
        value, headers = self.codec.encode(ECHOES, event)
        self.put(value, partition=partition, headers=headers)

    def put(
        self, value: bytes | None, *, partition: int = 0, headers: Any = (), topic: str = ECHOES.name
    ) -> None:
        self.broker.append(OutgoingMessage(topic, b"key", value, partition, tuple(headers)))
        self.clock.moment += timedelta(minutes=1)

    async def lines(self, **wish: Any) -> list[TailedMessage]:
        tail = TopicTail(self.bus, self.codec, SchemaFinder(self.bus, codec=self.codec))
        topic = ECHOES if wish.pop("decoded", True) else None
        return [line async for line in tail.read(ECHOES.name, topic, TailOptions(**wish))]

    async def texts(self, **wish: Any) -> list[str]:
        return [line.event.text for line in await self.lines(**wish)]


def a_world(*texts: str, partitions: int = 1) -> World:
    world = World(partitions)
    for number, text in enumerate(texts):
        world.say(text, partition=number % partitions)
    return world


SAID = tuple("abcdefghijklmno")


@pytest.mark.parametrize(
    ("wish", "texts"),
    [
        pytest.param({}, "fghijklmno", id="the newest ten"),
        pytest.param({"limit": 2}, "no", id="the newest two"),
        pytest.param({"from_beginning": True}, "abcdefghijklmno", id="all"),
        pytest.param({"from_beginning": True, "limit": 3}, "abc", id="the first three"),
        pytest.param({"offset": 12}, "mno", id="from an offset"),
        pytest.param({"offset": 15}, "", id="from the next offset"),
        pytest.param({"offset": -5}, "abcdefghijklmno", id="from before the beginning"),
        pytest.param({"since": START + timedelta(minutes=13)}, "no", id="from a time"),
        pytest.param({"since": START + timedelta(days=9)}, "", id="from the future"),
        pytest.param({"where": (("text", "c"),)}, "c", id="where, anywhere in the topic"),
        pytest.param({"where": (("text", "c"), ("host", "nowhere"))}, "", id="where all must hold"),
        pytest.param({"where": (("no.such.field", "c"),)}, "", id="where there is no such field"),
    ],
)
async def test_one_begins_where_one_wants(wish: dict[str, Any], texts: str) -> None:
    assert await a_world(*SAID).texts(**wish) == list(texts)


async def test_the_newest_of_all_partitions_come_in_the_order_of_time() -> None:
    world = a_world(*SAID, partitions=3)

    assert await world.texts(limit=4) == ["l", "m", "n", "o"]
    assert await world.texts(partitions=(1,), from_beginning=True) == ["b", "e", "h", "k", "n"]


async def test_what_cannot_be_decoded_is_a_line_with_its_reason() -> None:
    """That is what one often looks for."""
    world = a_world("before")
    world.put(b"no event")
    world.put(None)
    world.say("after")

    lines = await world.lines(from_beginning=True)

    assert [(line.event and line.event.text, line.reason) for line in lines] == [
        ("before", None),
        (None, "bad_magic"),
        (None, None),
        ("after", None),
    ]


async def test_a_filter_skips_what_has_no_fields() -> None:
    world = a_world("before")
    world.put(b"no event")

    assert await world.texts(where=(("text", "before"),)) == ["before"]


async def test_an_unknown_schema_is_looked_for_before_a_message_is_called_bad() -> None:
    """A newer service may have written it, and has declared how before it did."""
    world = World()
    fields = [{"name": name, "type": "string"} for name in ("text", "request_id", "host", "outcome")]
    newer = json.dumps({"type": "record", "name": "Echoed", "namespace": "strider", "fields": fields})
    fingerprint = SchemaStore({}).register(newer)
    declared = SchemaDeclared(fingerprint=fingerprint.hex(), name="echoed.v9", schema=newer)
    world.put(world.codec.encode(SCHEMAS, declared).value, topic=SCHEMAS.name)
    world.put(b"\xc3\x01" + fingerprint + b"\x02t\x02r\x02h\x02o")

    assert await world.texts() == ["t"]


async def test_a_schema_that_is_nowhere_is_the_reason() -> None:
    world = World()
    world.put(b"\xc3\x01nowhere!x")

    assert [line.reason for line in await world.lines()] == ["unknown_schema"]


async def test_an_undeclared_topic_is_shown_raw() -> None:
    world = World()
    world.put(b"anything")

    assert [(line.event, line.reason, line.record.value) for line in await world.lines(decoded=False)] == [
        (None, None, b"anything")
    ]


async def test_an_empty_topic_has_no_lines() -> None:
    assert await World(partitions=3).lines() == []


async def test_a_follower_shows_what_comes_from_now_on() -> None:
    world = a_world("before")
    tail = TopicTail(world.bus, world.codec, SchemaFinder(world.bus, codec=world.codec))
    lines = tail.read(ECHOES.name, ECHOES, TailOptions(follow=True, limit=1))

    async def first() -> TailedMessage:
        return await anext(lines)

    waiting = asyncio.ensure_future(first())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    world.say("after")

    assert (await waiting).event.text == "after"


@pytest.mark.parametrize(
    ("name", "wish", "why"),
    [
        pytest.param("nowhere", TailOptions(), "no topic nowhere", id="no such topic"),
        pytest.param(ECHOES.name, TailOptions(partitions=(7,)), "0 to 2, not 7", id="no such partition"),
    ],
)
async def test_a_missing_topic_or_partition_is_refused(name: str, wish: TailOptions, why: str) -> None:
    world = World(partitions=3)
    tail = TopicTail(world.bus, world.codec, SchemaFinder(world.bus, codec=world.codec))

    with pytest.raises(StartRefused, match=why):
        await anext(tail.read(name, ECHOES, wish))


def test_an_offset_that_no_partition_has_reached_is_refused_with_the_next_ones() -> None:
    world = World(partitions=2)
    world.say("only one")

    with pytest.raises(StartRefused, match=r"no message at offset 2 yet.*: 0: 1, 1: 0"):
        asyncio.run(world.texts(offset=2))

    assert asyncio.run(world.texts(offset=1)) == []


@pytest.mark.fault("A17")
@pytest.mark.parametrize(
    ("topic", "values"),
    [
        pytest.param(ECHO_REQUESTS, [b"before", b"open", b"behind"], id="public"),
        pytest.param(ECHOES, [b"before"], id="written by one service"),
    ],
)
async def test_an_open_transaction_hides_nothing_of_a_public_topic(
    topic: Topic[Any], values: list[bytes]
) -> None:
    """Its service does not wait for the end of a stranger's transaction either."""
    world, name = World(), topic.name
    if name != ECHOES.name:
        world.broker.create_topic(name, 1)
    world.put(b"before", topic=name)
    epoch = world.broker.transactions.initialise("stranger")
    record = RawRecord(b"key", b"open")
    world.broker.transactions.append("stranger", TopicPartition(name, 0), record, epoch=epoch, shard=0)
    world.put(b"behind", topic=name)
    tail = TopicTail(world.bus, world.codec, SchemaFinder(world.bus, codec=world.codec))

    lines = [line async for line in tail.read(name, topic, TailOptions(from_beginning=True))]

    assert [line.record.value for line in lines] == values

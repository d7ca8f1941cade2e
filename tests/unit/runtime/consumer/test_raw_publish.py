"""What a handler sees of a message besides its event: raw value and headers, and tombstones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from strider.messaging.effects import NO_EFFECTS, Effects, PublishRaw, Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import OutgoingMessage, Record

from .loop_harness import ANSWERS, CLOSINGS, NOTES, UNKNOWN, Note, World, a_topic

HEADERS = (("schema-fp", b"\x07"),)


def _append(world: World, *values: bytes | None) -> None:
    for value in values:
        world.broker.append(OutgoingMessage(NOTES.name, b"k", value, 0, HEADERS))


def test_a_handler_gets_the_bytes_that_its_event_was_decoded_from() -> None:
    """A service passes a message on without encoding it again; a late schema is waited for first."""

    async def scenario() -> None:
        world = World(partitions=1)

        class Schemas:
            async def find(self, _unknown: object) -> bool:
                await asyncio.sleep(3)
                world.codec.known.add(b"fp")
                return True

        async def handle(note: Note, record: Record) -> Effects:
            raw = PublishRaw(ANSWERS, record.key, record.value, tuple(record.headers))
            return Effects(publish=(raw,), outcome=note.text)

        value = UNKNOWN + b"fp:k=text"
        _append(world, value)
        loop = world.loop(Subscription(NOTES, handle), schemas=Schemas())
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)
        (said,) = world.broker.topic(ANSWERS.name).partitions[0].records

        assert (said.key, said.value, said.headers[-1:]) == (b"k", value, HEADERS)
        assert world.letters() == []

    simulate(scenario())


@pytest.mark.parametrize(
    "is_batch", [pytest.param(False, id="one by one"), pytest.param(True, id="in a batch")]
)
def test_a_tombstone_reaches_a_handler_that_takes_them(is_batch: bool) -> None:
    """It is what a reader of a compacted topic forgets an entry by."""

    async def scenario() -> None:
        world = World(partitions=1)
        seen: list[tuple[Any, bytes | None]] = []

        async def handle(note: Note | None, record: Record) -> Effects:
            seen.append((note, record.key))
            return NO_EFFECTS

        async def handle_all(items: Sequence[tuple[Note | None, Record]]) -> Effects:
            for note, record in items:
                await handle(note, record)
            return NO_EFFECTS

        _append(world, b"k=before", None, b"k=after")
        reads = Subscription(
            NOTES, None if is_batch else handle, handle_all if is_batch else None, accepts_tombstones=True
        )
        loop = world.loop(reads)
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert seen == [(Note("k", "before"), b"k"), (None, b"k"), (Note("k", "after"), b"k")]
        assert world.letters() == []

    simulate(scenario())


def test_a_tombstone_is_a_bad_message_to_everybody_else() -> None:
    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(_note: Note, _record: Record) -> Effects:
            return NO_EFFECTS

        _append(world, None)
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert [(letter.reason, letter.value) for letter in world.letters()] == [("bad_magic", None)]

    simulate(scenario())


def test_a_tombstone_is_published_before_the_last_events() -> None:
    """The order of delivery holds for raw bytes and tombstones too."""

    async def scenario() -> None:
        forgotten = a_topic("forgotten", cleanup="compact")
        world = World(partitions=1, topics=(*World.topics, forgotten))

        async def handle(note: Note, record: Record) -> Effects:
            return Effects(
                publish=(PublishRaw(forgotten, record.key, None),),
                publish_last=(PublishRaw(CLOSINGS, record.key, f"k={note.text}".encode()),),
            )

        _append(world, b"k=text")
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)
        (tombstone,) = world.broker.topic("forgotten").partitions[0].records

        assert (tombstone.key, tombstone.value, dict(tombstone.headers)["ce_id"]) == (
            b"k",
            None,
            b"notes:0:0:0",
        )
        assert world.texts(CLOSINGS) == ["text"]

    simulate(scenario())

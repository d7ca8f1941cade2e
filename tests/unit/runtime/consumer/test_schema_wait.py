"""A message whose schema is not known yet waits, with its partition; others do not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from strider.contracts import UnknownSchema
from strider.messaging.effects import Effects, Subscription
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import simulate
from strider.messaging.ports import OutgoingMessage, Record

from .loop_harness import NOTES, UNKNOWN, Note, World, answer, notes


@dataclass
class Source:
    """Where schemas come from: takes its time, may be away, and may not have it."""

    world: World
    has: set[bytes] = field(default_factory=set)
    seconds: float = 5.0
    is_away: bool = False
    asked: list[set[bytes | None]] = field(default_factory=list)

    async def find(self, *unknown: UnknownSchema) -> bool:
        self.asked.append({each.fingerprint for each in unknown})
        await asyncio.sleep(self.seconds)
        if self.is_away:
            raise Unavailable("kafka", "away")
        self.world.codec.known |= self.has
        return not self.has.isdisjoint(self.asked[-1])


async def _echo(note: Note, _record: Record) -> Effects:
    return Effects(publish=(answer(note),))


def _write(world: World, schema: bytes, *texts: str, partition: int = 0) -> None:
    for text in texts:
        value = UNKNOWN + schema + f":k={text}".encode()
        world.broker.append(OutgoingMessage("notes", text.encode(), value, partition))


def test_a_schema_that_is_found_is_used_and_nothing_is_given_up() -> None:
    async def scenario() -> None:
        world = World()
        source = Source(world, has={b"f1"})
        _write(world, b"f1", "a", "b", "c")
        await world.write(*notes(5), partition=1)
        loop = world.loop(Subscription(NOTES, _echo), schemas=source)
        task = world.start(loop)
        await asyncio.sleep(2)
        early = (world.texts(), world.committed())
        await world.write(*notes(1), partition=0)
        held = [sorted(each.hold_reasons) for each in loop._partitions.assigned.values()]
        await world.drained()
        await world.stop(loop, task)

        assert early[0] == [f"{n:04}" for n in range(5)]
        assert early[1] == [0, 5]
        assert held == [["schema"], []]
        assert source.asked == [{b"f1"}]
        assert world.texts() == sorted(["a", "b", "c", "0000", *(f"{n:04}" for n in range(5))])
        assert world.letters() == []

    simulate(scenario())


def test_a_schema_that_does_not_exist_makes_a_dead_letter() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        source = Source(world)
        _write(world, b"f1", "a", "b")
        await world.write(*notes(3))
        loop = world.loop(Subscription(NOTES, _echo), schemas=source)
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert [(letter.offset, letter.reason) for letter in world.letters()] == [
            (0, "unknown_schema"),
            (1, "unknown_schema"),
        ]
        assert len(world.texts()) == 3

    simulate(scenario())


def test_what_comes_during_a_search_has_one_of_its_own() -> None:
    """The end that was read to was taken before it came: its schema may have been written since."""

    async def scenario() -> None:
        world = World(partitions=2)
        source = Source(world, seconds=20)
        _write(world, b"f1", "early", partition=0)
        loop = world.loop(Subscription(NOTES, _echo), schemas=source)
        task = world.start(loop)
        await asyncio.sleep(10)
        _write(world, b"f1", "late", partition=1)
        await world.until(world.letters)
        source.has.add(b"f1")
        await world.drained()
        await world.stop(loop, task)

        assert [letter.key for letter in world.letters()] == [b"early"]
        assert world.texts() == ["late"]
        assert source.asked == [{b"f1"}, {b"f1"}]

    simulate(scenario())


@pytest.mark.fault("F23", part="schemas that a stranger invents")
@pytest.mark.parametrize("is_batched", [False, True], ids=["one by one", "in batches"])
def test_one_search_is_made_for_all_that_waited_when_it_began(is_batched: bool) -> None:
    """Three hundred invented schemas, and what everybody else sends between them, wait for two searches."""

    async def scenario() -> None:
        world = World(partitions=1)
        source = Source(world, has={b"good"})

        async def handle(items: Sequence[tuple[Note, Record]]) -> Effects:
            return Effects(publish=[answer(note) for note, _ in items])

        for number in range(300):
            _write(world, b"made-up-%d" % number, str(number))
            await world.write(Note(f"k{number}", f"{number:04}"))
        _write(world, b"good", "known soon")
        reads = Subscription(NOTES, batch_handler=handle) if is_batched else Subscription(NOTES, _echo)
        loop = world.loop(replace(reads, is_public=True), schemas=source)
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert len(source.asked) <= 3
        assert {letter.reason for letter in world.letters()} == {"unknown_schema"}
        assert len(world.letters()) == 300 or is_batched
        assert world.texts() == [*(f"{number:04}" for number in range(300)), "known soon"]

    simulate(scenario())


def test_a_source_that_is_away_is_waited_for() -> None:
    async def scenario() -> None:
        world = World(partitions=2)
        source = Source(world, has={b"f1"}, is_away=True)
        _write(world, b"f1", "a")
        loop = world.loop(Subscription(NOTES, _echo), schemas=source)
        task = world.start(loop)
        await world.write(*notes(4), partition=1)
        await asyncio.sleep(600)
        during = (world.texts(), world.letters(), list(loop.paused_reasons))
        source.is_away = False
        await world.drained()
        after = loop.paused_reasons
        await world.stop(loop, task)

        assert during == ([f"{n:04}" for n in range(4)], [], ["schema"])
        assert "a" in world.texts()
        assert after == {}

    simulate(scenario())


def test_a_batch_waits_as_a_whole_and_only_its_bad_message_is_given_up() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        source = Source(world, has={b"f1"})

        async def handle(items: Sequence[tuple[Note, Record]]) -> Effects:
            return Effects(publish=[answer(note) for note, _ in items])

        await world.write(*notes(2))
        _write(world, b"f1", "known soon")
        _write(world, b"f2", "known never")
        loop = world.loop(Subscription(NOTES, batch_handler=handle), schemas=source)
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert [letter.key for letter in world.letters()] == [b"known never"]
        assert world.texts() == ["0000", "0001", "known soon"]

    simulate(scenario())


def test_a_rebalance_during_a_search_repeats_it_elsewhere() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        source = Source(world, has={b"f1"}, seconds=30)
        _write(world, b"f1", "a")
        first = world.loop(Subscription(NOTES, _echo), schemas=source)
        task = world.start(first)
        await asyncio.sleep(5)
        await world.stop(first, task)
        second = world.loop(Subscription(NOTES, _echo), schemas=source)
        task = world.start(second)
        await world.drained()
        await world.stop(second, task)

        assert world.texts() == ["a"]

    simulate(scenario())

"""Batch handlers: the records of one poll are handled as a whole, and a bad one among them is found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Record
from strider.runtime.consumer.spec import ConsumerSettings

from .loop_harness import NOTES, Note, World, answer, notes

Items = Sequence[tuple[Note, Record]]


def test_a_batch_is_what_one_poll_brought_and_one_batch_runs_at_a_time() -> None:
    async def scenario() -> None:
        world = World(partitions=2, settings=ConsumerSettings(poll_records=8))
        sizes: list[int] = []
        running = most = 0

        async def handle(items: Items) -> Effects:
            nonlocal running, most
            running += 1
            most = max(most, running)
            sizes.append(len(items))
            await asyncio.sleep(1)
            running -= 1
            return Effects(publish=[answer(note) for note, _ in items])

        await world.write(*notes(40, keys=10))
        loop = world.loop(Subscription(NOTES, batch_handler=handle))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert sizes == [8] * 5
        assert most == 1
        for key in {f"k{number}" for number in range(10)}:
            mine = [note.text for note in world.read(NOTES) if note.key == key]
            assert [note.text for note in world.read(_answers(world)) if note.key == key] == mine

    simulate(scenario())


def _answers(world: World) -> object:
    return world.topics[1]


def test_a_batch_that_crashes_is_gone_through_one_by_one() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        sizes: list[int] = []

        async def handle(items: Items) -> Effects:
            sizes.append(len(items))
            if any(note.text in {"0002", "0005"} for note, _ in items):
                raise ValueError("bad one in here")
            return Effects(publish=[answer(note) for note, _ in items])

        await world.write(*notes(7))
        loop = world.loop(Subscription(NOTES, batch_handler=handle))
        task = world.start(loop)
        await world.drained()
        await world.write(*notes(3))
        await world.drained()
        await world.stop(loop, task)

        assert sizes == [7, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1]
        assert [letter.offset for letter in world.letters()] == [2, 5, 9]
        assert world.texts() == sorted(["0000", "0001", "0003", "0004", "0006", "0000", "0001"])

    simulate(scenario())


def test_an_undecodable_message_does_not_spoil_its_batch() -> None:
    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(items: Items) -> Effects:
            return Effects(publish=[answer(note) for note, _ in items])

        await world.write(*notes(3), b"bad", *notes(2))
        loop = world.loop(Subscription(NOTES, batch_handler=handle))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert [(letter.offset, letter.reason) for letter in world.letters()] == [(3, "bad_magic")]
        assert len(world.texts()) == 5

    simulate(scenario())


def test_a_hanging_batch_is_gone_through_one_by_one() -> None:
    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(handler_timeout_seconds=5))

        async def handle(items: Items) -> Effects:
            if any(note.text == "0001" for note, _ in items):
                await asyncio.sleep(10_000)
            return Effects(publish=[answer(note) for note, _ in items])

        await world.write(*notes(3))
        loop = world.loop(Subscription(NOTES, batch_handler=handle))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert [(letter.offset, letter.reason) for letter in world.letters()] == [(1, "handler_timeout")]
        assert world.texts() == ["0000", "0002"]

    simulate(scenario())


def test_a_batch_waits_out_an_outage_as_a_whole() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        sizes: list[int] = []
        is_down = True

        async def remember() -> None:
            if is_down:
                raise Unavailable("postgres", "gone")

        async def handle(items: Items) -> Effects:
            sizes.append(len(items))
            return Effects(publish=[answer(note) for note, _ in items], after_ack=remember)

        await world.write(*notes(6))
        loop = world.loop(Subscription(NOTES, batch_handler=handle))
        task = world.start(loop)
        await asyncio.sleep(200)
        before = (world.committed(), dict(loop.paused_reasons))
        is_down = False
        await world.drained()
        await world.stop(loop, task)

        assert before == ([0], {"postgres": "gone"})
        assert sizes == [6]
        assert world.texts() == [f"{n:04}" for n in range(6)]

    simulate(scenario())


def test_a_rebalance_in_the_middle_of_a_batch_repeats_it_and_loses_nothing() -> None:
    async def scenario() -> None:
        world = World(partitions=2, settings=ConsumerSettings(revoke_timeout_seconds=1, poll_records=5))

        async def handle(items: Items) -> Effects:
            await asyncio.sleep(3)
            return Effects(publish=[answer(note) for note, _ in items])

        loops = [world.loop(Subscription(NOTES, batch_handler=handle)) for _ in range(2)]
        await world.write(*notes(30, keys=6))
        first = world.start(loops[0])
        await asyncio.sleep(4)
        second = world.start(loops[1])
        await world.drained()
        await world.stop(loops[0], first)
        await world.stop(loops[1], second)

        assert set(world.texts()) == {f"{n:04}" for n in range(30)}
        assert world.letters() == []

    simulate(scenario())


def test_batch_and_single_handlers_live_in_one_group() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        answers, closings = world.topics[1], world.topics[2]
        seen: list[str] = []

        async def together(items: Items) -> Effects:
            seen.extend(f"together {note.text}" for note, _ in items)
            return NO_EFFECTS

        async def single(note: Note, _record: Record) -> Effects:
            seen.append(f"single {note.text}")
            return NO_EFFECTS

        await world.write(*notes(2), topic=answers)
        await world.write(*notes(2), topic=closings)
        loop = world.loop(Subscription(answers, batch_handler=together), Subscription(closings, single))
        task = world.start(loop)
        await world.until(lambda: world.lag(answers) + world.lag(closings) == 0)
        await world.stop(loop, task)

        assert sorted(seen) == ["single 0000", "single 0001", "together 0000", "together 0001"]

    simulate(scenario())


def test_what_came_meanwhile_goes_together() -> None:
    """A handler with a fixed cost a call must not fall behind a trickle: each poll brings little then."""

    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(poll_records=50))
        sizes: list[int] = []

        async def handle(items: Items) -> Effects:
            sizes.append(len(items))
            await asyncio.sleep(1)
            return NO_EFFECTS

        loop = world.loop(Subscription(NOTES, batch_handler=handle))
        task = world.start(loop)
        for note in notes(40):
            await world.write(note)
            await asyncio.sleep(0.1)
        await world.drained()
        await world.stop(loop, task)

        assert sum(sizes) == 40
        assert max(sizes) <= 50
        assert len(sizes) <= 8

    simulate(scenario())

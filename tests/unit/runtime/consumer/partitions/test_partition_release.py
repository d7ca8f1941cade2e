"""What is finished before a partition goes: all that lies before what was begun, and nothing behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from strider.messaging.effects import Effects, Subscription
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.inprocess import InProcessBus, simulate
from strider.messaging.ports import Record
from strider.runtime.consumer.spec import ConsumerSettings
from tests.unit.runtime.consumer.loop_harness import NOTES, Note, World, answer

ONE_LANE_BUSY = (Note("a", "slow"), Note("a", "behind"), Note("b", "ahead"), Note("a", "behind too"))
"""One partition: `ahead` is done long before its two predecessors, and the last note waits as well."""


class Handler:
    """Handles every note, the slow one in two seconds; records in which order they were started."""

    def __init__(self, slow_seconds: float = 2.0) -> None:
        self.begun: list[str] = []
        self._slow_seconds = slow_seconds

    async def __call__(self, note: Note, _record: Record) -> Effects:
        self.begun.append(note.text)
        await asyncio.sleep(self._slow_seconds if note.text == "slow" else 0)
        return Effects(publish=(answer(note),))


def test_a_stop_leaves_no_gap_before_what_is_done() -> None:
    """Else `ahead` would be answered, and not committed, and come again to the next process."""

    async def scenario() -> None:
        world, handle = World(partitions=1), Handler()
        await world.write(*ONE_LANE_BUSY)
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.until(lambda: world.texts() == ["ahead"])
        began = world.clock.monotonic()
        await world.stop(loop, task)

        assert handle.begun == ["slow", "ahead", "behind"]
        assert world.texts() == ["ahead", "behind", "slow"]
        assert world.committed() == [3]
        assert world.clock.monotonic() - began < 3

    simulate(scenario())


def test_a_rebalance_leaves_no_gap_before_what_is_done() -> None:
    """The next owner continues exactly where this one ended; nothing is answered twice."""

    async def scenario() -> None:
        world, handle, other_handle = World(partitions=1), Handler(), Handler()
        loops = [world.loop(Subscription(NOTES, each)) for each in (handle, other_handle)]
        tasks = [world.start(loops[0])]
        await world.until(lambda: loops[0].assignment)
        await world.write(*ONE_LANE_BUSY)
        await world.until(lambda: world.texts() == ["ahead"])
        tasks.append(world.start(loops[1]))
        await world.drained()
        for loop, task in zip(loops, tasks, strict=True):
            await world.stop(loop, task)

        assert (handle.begun + other_handle.begun)[:4] == ["slow", "ahead", "behind", "behind too"]
        assert world.texts() == ["ahead", "behind", "behind too", "slow"]

    simulate(scenario())


def test_a_gap_that_takes_too_long_is_left() -> None:
    """The timeout bounds the whole of it; what was ahead of the gap comes again then."""

    async def scenario() -> None:
        world = World(
            partitions=1, settings=ConsumerSettings(stop_timeout_seconds=7, handler_timeout_seconds=1000)
        )
        handle = Handler(slow_seconds=500)
        await world.write(*ONE_LANE_BUSY)
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.until(lambda: world.texts() == ["ahead"])
        began = world.clock.monotonic()
        await world.stop(loop, task)

        assert 7 <= world.clock.monotonic() - began < 8
        assert (handle.begun, world.texts(), world.committed()) == (["slow", "ahead"], ["ahead"], [0])

    simulate(scenario())


def test_a_gap_that_waits_for_infrastructure_holds_up_no_stop() -> None:
    """It would not be closed within any timeout: the next owner waits for it as well."""

    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(note: Note, _record: Record) -> Effects:
            if note.text == "slow":
                raise Unavailable("redis", "gone")
            return Effects(publish=(answer(note),))

        await world.write(*ONE_LANE_BUSY)
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.until(lambda: "redis" in loop.paused_reasons)
        await asyncio.sleep(60)
        began = world.clock.monotonic()
        await world.stop(loop, task)

        assert world.clock.monotonic() - began < 1
        assert world.committed() == [0]

    simulate(scenario())


@pytest.mark.parametrize(
    ("later", "committed"),
    [
        pytest.param([Note("a", "2"), Note("a", "3")], 2, id="read-meanwhile"),
        pytest.param([], 2, id="alone"),
    ],
)
def test_a_batch_in_flight_is_finished_and_the_next_is_not_begun(later: list[Note], committed: int) -> None:
    """Batches of a topic follow each other, so there is no gap to close."""

    async def scenario() -> None:
        world = World(partitions=1)
        batches: list[list[str]] = []

        async def handle(items: Sequence[tuple[Note, Record]]) -> Effects:
            batches.append([note.text for note, _ in items])
            await asyncio.sleep(2)
            return Effects(publish=tuple(answer(note) for note, _ in items))

        await world.write(Note("a", "0"), Note("b", "1"))
        loop = world.loop(Subscription(NOTES, batch_handler=handle))
        task = world.start(loop)
        await world.until(lambda: batches)
        await world.write(*later)
        await world.until(lambda: loop.in_flight == 2 + len(later))
        await world.stop(loop, task)

        assert (batches, world.committed()) == ([["0", "1"]], [committed])

    simulate(scenario())


def test_a_fenced_shard_begins_nothing_even_before_what_was_done() -> None:
    """A gap of a shard that a newer owner writes is that owner's to close."""

    async def scenario() -> None:
        world = World(partitions=1)
        tries: list[str] = []

        async def handle(note: Note, _record: Record) -> Effects:
            tries.append(note.text)
            await asyncio.sleep(2 if note.text == "slow" else 0)
            if note.text == "slow":
                raise ShardFenced(0)
            return Effects(publish=(answer(note),))

        await world.write(*ONE_LANE_BUSY)
        loop = world.loop(Subscription(NOTES, handle), sharded=True)
        task = world.start(loop)
        await world.until(lambda: "fenced" in loop.paused_reasons)
        began = world.clock.monotonic()
        await world.stop(loop, task)

        assert world.clock.monotonic() - began < 1
        assert (tries, world.committed()) == (["slow", "ahead"], [0])

    simulate(scenario())


def test_gaps_of_several_partitions_are_closed_side_by_side() -> None:
    async def scenario() -> None:
        world, handle = World(partitions=4), Handler()
        for partition in range(4):
            await world.write(*ONE_LANE_BUSY[:3], partition=partition)
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.until(lambda: world.texts() == ["ahead"] * 4)
        other = world.loop(Subscription(NOTES, handle), bus=InProcessBus(world.broker))
        other_task = world.start(other)
        await world.until(lambda: len(other.assignment) == 2)
        took = world.clock.monotonic()
        await world.stop(loop, task)
        await world.stop(other, other_task)

        assert took < 4
        assert world.texts() == ["ahead"] * 4 + ["behind"] * 4 + ["slow"] * 4
        assert world.committed() == [3] * 4

    simulate(scenario())

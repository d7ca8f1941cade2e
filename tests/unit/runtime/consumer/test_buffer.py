"""Memory is bounded: the window of messages, of bytes, and the span of one partition."""

from __future__ import annotations

import asyncio

from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import OutgoingMessage, Record
from strider.runtime.consumer.ports import NoConsumerMeter
from strider.runtime.consumer.spec import ConsumerSettings

from .loop_harness import NOTES, Note, World, a_topic, notes


class Most(NoConsumerMeter):
    """Keeps the most that was in flight."""

    messages = 0
    size_bytes = 0

    def in_flight(self, messages: int, size_bytes: int, running: int) -> None:  # type: ignore[override]
        self.messages = max(self.messages, messages)
        self.size_bytes = max(self.size_bytes, size_bytes)


async def _slow(_note: Note, _record: Record) -> Effects:
    await asyncio.sleep(0.2)
    return NO_EFFECTS


def test_no_more_messages_are_read_than_the_window_holds() -> None:
    async def scenario() -> None:
        world = World(settings=ConsumerSettings(buffer_messages=50, poll_records=20, concurrency=10))
        most = Most()
        await world.write(*notes(1000, keys=100))
        loop = world.loop(Subscription(NOTES, _slow), meter=most)
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert 40 < most.messages <= 50

    simulate(scenario())


def test_no_more_bytes_are_read_than_the_window_holds() -> None:
    """Ten thousand times a tenth of the window: it never holds more than the window and one message."""

    async def scenario() -> None:
        topic = a_topic("large", max_bytes=10_000)
        settings = ConsumerSettings(buffer_bytes=100_000, concurrency=4)
        world = World(settings=settings, topics=(topic, NOTES))
        most = Most()
        for _ in range(300):
            world.broker.append(OutgoingMessage("large", None, b"k=" + b"x" * 9_000))
        loop = world.loop(Subscription(topic, _slow), meter=most)
        task = world.start(loop)
        await world.until(lambda: world.lag(topic) == 0)
        await world.stop(loop, task)

        assert 50_000 < most.size_bytes <= 110_000

    simulate(scenario())


def test_a_stuck_message_stops_its_partition_at_the_span_and_no_other() -> None:
    """Behind a stuck message done ones pile up that would all come again after a crash: that is bounded."""

    async def scenario() -> None:
        world = World(
            settings=ConsumerSettings(max_redelivery_span=30, poll_records=10, handler_timeout_seconds=10_000)
        )
        stuck = asyncio.Event()
        handled = [0, 0]

        async def handle(note: Note, record: Record) -> Effects:
            if note.text == "stuck":
                await stuck.wait()
            handled[record.partition] += 1
            return NO_EFFECTS

        await world.write(Note("a", "stuck"), *notes(200, keys=50), partition=0)
        await world.write(*notes(200, keys=50), partition=1)
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await asyncio.sleep(100)
        before = (list(handled), world.committed())
        stuck.set()
        await world.drained()
        await world.stop(loop, task)

        assert before[1] == [0, 200]
        assert before[0][1] == 200
        assert 20 <= before[0][0] <= 40
        assert handled == [201, 200]

    simulate(scenario())


def test_a_full_window_is_read_into_again_when_it_has_emptied_by_a_quarter() -> None:
    """Else every message that is done would be followed by a poll for one."""

    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(buffer_messages=40, concurrency=1))
        sizes: list[int] = []
        await world.write(*notes(200, keys=200))
        loop = world.loop(Subscription(NOTES, _slow))
        task = world.start(loop)
        await world.until(lambda: loop.assignment)
        poll = world.bus.member.poll

        async def watched(**limits: float) -> object:
            found = await poll(**limits)
            sizes.extend(len(records) for records in found.values())
            return found

        world.bus.member.poll = watched  # type: ignore[method-assign]
        await world.drained()
        await world.stop(loop, task)

        assert sum(sizes) == 160
        assert min(sizes[:-1]) >= 10

    simulate(scenario())


def test_a_window_of_one_message_moves() -> None:
    async def scenario() -> None:
        world = World(settings=ConsumerSettings(buffer_messages=1, buffer_bytes=1, max_redelivery_span=1))
        await world.write(*notes(20))
        loop = world.loop(Subscription(NOTES, _slow))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert sum(world.committed()) == 20

    simulate(scenario())


def test_a_member_with_a_full_buffer_takes_part_in_a_rebalance() -> None:
    async def scenario() -> None:
        world = World(
            settings=ConsumerSettings(
                buffer_messages=1, handler_timeout_seconds=1000, revoke_timeout_seconds=1
            )
        )

        async def handle(_note: Note, _record: Record) -> Effects:
            await asyncio.sleep(500)
            return NO_EFFECTS

        await world.write(*notes(10))
        loops = [world.loop(Subscription(NOTES, handle)) for _ in range(2)]
        first = world.start(loops[0])
        await asyncio.sleep(10)
        second = world.start(loops[1])
        await world.until(lambda: loops[1].assignment, seconds=10)
        for loop, task in zip(loops, (first, second), strict=True):
            loop.request_stop()
            await task

    simulate(scenario())

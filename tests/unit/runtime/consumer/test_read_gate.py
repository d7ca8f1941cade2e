"""A service that closes the gate of a loop: nothing more is read, and nothing is lost, reordered or stuck."""

from __future__ import annotations

from collections.abc import Sequence

from strider.messaging.effects import Effects, Publish, Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Record
from strider.runtime.consumer.ports import ReadGate
from strider.runtime.consumer.spec import ConsumerSettings

from .loop_harness import ANSWERS, NOTES, Note, World

COUNT = 300
BUFFERED = 40
SETTINGS = ConsumerSettings(poll_records=10, buffer_messages=BUFFERED)
ENOUGH = "the readers have enough"


def _numbered(first: int, last: int) -> list[Note]:
    return [Note("k", f"{number:04}") for number in range(first, last)]


def test_a_closed_gate_stops_the_reading_and_an_open_one_continues_it_in_order() -> None:
    async def scenario() -> None:
        world, gate, handled = World(partitions=1), ReadGate(), list[str]()

        async def handle(items: Sequence[tuple[Note, Record]]) -> Effects:
            handled.extend(note.text for note, _ in items)
            if len(handled) == BUFFERED:
                gate.close(ENOUGH)
            return Effects(publish=[Publish(ANSWERS, note) for note, _ in items])

        await world.write(*_numbered(0, COUNT))
        loop = world.loop(Subscription(NOTES, batch_handler=handle), settings=SETTINGS, read_gate=gate)
        task = world.start(loop)
        await world.until(lambda: not gate.is_open)
        await world.clock.sleep(60.0)
        stopped_at, committed = len(handled), world.committed()
        reasons = (loop.paused_reasons, loop.exempt_pauses)
        gate.open()
        opened_at = world.clock.monotonic()
        await world.drained()
        took = world.clock.monotonic() - opened_at
        await world.stop(loop, task)

        assert BUFFERED <= stopped_at <= 3 * BUFFERED
        assert committed == [stopped_at]
        assert reasons == ({}, {"gate": ENOUGH})
        assert loop.exempt_pauses == {}
        assert handled == [note.text for note in _numbered(0, COUNT)]
        assert took < SETTINGS.keepalive_seconds + SETTINGS.commit_interval_seconds

    simulate(scenario())


def test_a_loop_with_a_closed_gate_stops_and_leaves_the_rest_to_the_next() -> None:
    async def scenario() -> None:
        world, gate = World(partitions=1), ReadGate()
        gate.close(ENOUGH)

        async def handle(items: Sequence[tuple[Note, Record]]) -> Effects:
            return Effects(publish=[Publish(ANSWERS, note) for note, _ in items])

        await world.write(*_numbered(0, 20))
        loop = world.loop(Subscription(NOTES, batch_handler=handle), settings=SETTINGS, read_gate=gate)
        task = world.start(loop)
        await world.clock.sleep(30.0)
        await world.stop(loop, task)
        before = world.texts()
        other = world.loop(Subscription(NOTES, batch_handler=handle), settings=SETTINGS)
        task = world.start(other)
        await world.drained()
        await world.stop(other, task)

        # A member that is assigned partitions within a poll reads one message at most.
        assert len(before) <= 1
        assert world.texts() == [note.text for note in _numbered(0, 20)]

    simulate(scenario())

"""The loop from a message's arrival to its offset."""

from __future__ import annotations

import asyncio

import pytest

from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import GroupSpec
from strider.runtime.consumer.loop import ConsumerLoop
from strider.runtime.consumer.ports import NoConsumerMeter
from strider.runtime.consumer.spec import ConsumerSettings

from .loop_harness import ANSWERS, CLOSINGS, GROUP, NOTES, Note, World, answer, closing, notes


def test_every_message_is_handled_published_and_committed() -> None:
    async def scenario() -> None:
        world = World()
        await world.write(*notes(50))

        async def handle(note: Note, _record: object) -> Effects:
            return Effects(publish=(answer(note),), publish_last=(closing(note),))

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert world.texts(ANSWERS) == world.texts(CLOSINGS) == [f"{n:04}" for n in range(50)]
        assert world.letters() == []
        assert (loop.in_flight, loop.in_flight_bytes, loop.running) == (0, 0, 0)

    simulate(scenario())


@pytest.mark.parametrize("is_batch", [False, True], ids=["one-by-one", "in-batches"])
def test_of_a_message_those_fields_are_read_that_its_input_names(is_batch: bool) -> None:  # a case
    async def scenario() -> None:
        world = World()
        await world.write(*notes(3))

        async def handle(*_: object) -> Effects:
            return NO_EFFECTS

        handler = {"batch_handler": handle} if is_batch else {"handler": handle}
        loop = world.loop(Subscription(NOTES, fields=("key",), **handler))  # type: ignore[arg-type]  # either of them
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert world.codec.wanted == {("key",)}

    simulate(scenario())


def test_effects_are_carried_out_in_order() -> None:
    """Publish, publish last, after_ack, offset: a crash between two of them only repeats."""

    async def scenario() -> None:
        world = World(partitions=1)
        seen: list[tuple[str, int, int, int]] = []

        def look(moment: str) -> None:
            said, closed = len(world.read(ANSWERS)), len(world.read(CLOSINGS))
            seen.append((moment, said, closed, world.committed()[0]))

        async def handle(note: Note, _record: object) -> Effects:
            async def remember() -> None:
                look("remember")
                await asyncio.sleep(5)
                look("remembered")

            look("handle")
            return Effects(publish=(answer(note),), publish_last=(closing(note),), after_ack=remember)

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(1))
        await world.drained()
        await world.stop(loop, task)

        assert seen == [("handle", 0, 0, 0), ("remember", 1, 1, 0), ("remembered", 1, 1, 0)]
        assert world.committed() == [1]

    simulate(scenario())


@pytest.mark.req("S1.2.29")
def test_order_is_kept_for_each_key_and_keys_run_side_by_side() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        began: list[str] = []
        busy: set[str] = set()
        most = 0

        async def handle(note: Note, _record: object) -> Effects:
            nonlocal most
            assert note.key not in busy, "two messages of one key at a time"
            busy.add(note.key)
            began.append(f"{note.key}:{note.text}")
            most = max(most, len(busy))
            await asyncio.sleep(world.chance.uniform(0, 1))
            busy.discard(note.key)
            return Effects(publish=(answer(note),))

        loop = world.loop(Subscription(NOTES, handle), settings=ConsumerSettings(concurrency=5))
        task = world.start(loop)
        sent = notes(80, keys=8)
        await world.write(*sent)
        await world.drained()
        await world.stop(loop, task)

        assert most == 5
        for key in {note.key for note in sent}:
            mine = [note.text for note in sent if note.key == key]
            assert [each.partition(":")[2] for each in began if each.startswith(f"{key}:")] == mine
            assert [note.text for note in world.read(ANSWERS) if note.key == key] == mine

    simulate(scenario())


def test_messages_without_a_key_do_not_wait() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        most = running = 0

        async def handle(_note: Note, _record: object) -> Effects:
            nonlocal most, running
            running += 1
            most = max(most, running)
            await asyncio.sleep(1)
            running -= 1
            return NO_EFFECTS

        loop = world.loop(Subscription(NOTES, handle), settings=ConsumerSettings(concurrency=16))
        task = world.start(loop)
        await world.write(*(Note("", str(number)) for number in range(40)))
        await world.drained()
        await world.stop(loop, task)

        assert most == 16

    simulate(scenario())


def test_only_the_contiguous_prefix_is_committed() -> None:
    """The first message hangs, all others are done: a crash now must bring the first one again."""

    async def scenario() -> None:
        world = World(partitions=1)
        release = asyncio.Event()

        async def handle(note: Note, _record: object) -> Effects:
            if note.text == "0003":
                await release.wait()
            return Effects(publish=(answer(note),))

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(20, keys=20))
        await world.until(lambda: len(world.texts()) == 19)
        await asyncio.sleep(5)
        before = world.committed()
        release.set()
        await world.drained()
        await world.stop(loop, task)

        assert before == [3]
        assert world.committed() == [20]

    simulate(scenario())


def test_a_key_is_held_until_acknowledged_but_its_worker_is_free() -> None:
    """Acknowledgements take three seconds here; one worker all the same begins every key's first message."""

    async def scenario() -> None:
        world = World(partitions=1)
        world.bus._chance, world.bus._ack_seconds = world.chance, (3.0, 3.0)
        began: list[tuple[float, str]] = []

        async def handle(note: Note, _record: object) -> Effects:
            began.append((round(world.clock.monotonic()), note.text))
            return Effects(publish=(answer(note),))

        loop = world.loop(Subscription(NOTES, handle), settings=ConsumerSettings(concurrency=1))
        task = world.start(loop)
        await world.write(*notes(4, keys=2))
        await world.drained()
        await world.stop(loop, task)

        assert sorted(began) == [(0, "0000"), (0, "0001"), (3, "0002"), (3, "0003")]

    simulate(scenario())


def test_after_ack_holds_the_key_and_no_worker() -> None:
    """A shard's truth is committed for many at a time: one worker must be able to fill such a group."""

    async def scenario() -> None:
        world = World(partitions=1)
        began: list[tuple[float, str]] = []

        async def handle(note: Note, _record: object) -> Effects:
            began.append((round(world.clock.monotonic()), note.text))

            async def remember() -> None:
                await asyncio.sleep(3)

            return Effects(after_ack=remember)

        loop = world.loop(Subscription(NOTES, handle), settings=ConsumerSettings(concurrency=1))
        task = world.start(loop)
        await world.write(*notes(4, keys=2))
        await world.drained()
        await world.stop(loop, task)

        assert sorted(began) == [(0, "0000"), (0, "0001"), (3, "0002"), (3, "0003")]

    simulate(scenario())


def test_after_ack_ends_with_its_partition() -> None:
    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(stop_timeout_seconds=2))
        ended: list[str] = []

        async def handle(note: Note, _record: object) -> Effects:
            async def remember() -> None:
                try:
                    await asyncio.sleep(1000)
                finally:
                    ended.append(note.text)

            return Effects(after_ack=remember)

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(2, keys=2))
        await asyncio.sleep(1)
        await world.stop(loop, task)

        assert (sorted(ended), world.committed()) == (["0000", "0001"], [0])

    simulate(scenario())


def test_outcomes_are_counted() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        counted: list[tuple[str, str]] = []

        class Meter(NoConsumerMeter):
            def handled(self, topic: str, outcome: str, seconds: float) -> None:
                counted.append((topic, outcome))

        async def handle(note: Note, _record: object) -> Effects:
            return Effects(outcome="even" if int(note.text) % 2 == 0 else "odd")

        loop = world.loop(Subscription(NOTES, handle), meter=Meter())
        task = world.start(loop)
        await world.write(*notes(3, keys=1))
        await world.drained()
        await world.stop(loop, task)

        assert counted == [("notes", "even"), ("notes", "odd"), ("notes", "even")]

    simulate(scenario())


def test_lag_and_activity_are_shown() -> None:
    async def scenario() -> None:
        world = World(partitions=2)
        release = asyncio.Event()

        async def handle(_note: Note, _record: object) -> Effects:
            await release.wait()
            return NO_EFFECTS

        loop = world.loop(
            Subscription(NOTES, handle), settings=ConsumerSettings(handler_timeout_seconds=1000)
        )
        task = world.start(loop)
        await world.write(*notes(6, keys=1))
        await asyncio.sleep(20)
        stuck = (sum(loop.lags.values()), loop.last_activity, loop.in_flight, loop.running)
        release.set()
        await world.drained()
        await asyncio.sleep(20)
        moved = (sum(loop.lags.values()), loop.last_activity > 19, loop.in_flight, loop.running)
        await world.stop(loop, task)

        assert stuck == (6, 0.0, 6, 1)
        assert moved == (0, True, 0, 0)

    simulate(scenario())


async def _nothing(*_args: object) -> Effects:
    return NO_EFFECTS


@pytest.mark.parametrize(
    ("reads", "topics"),
    [
        pytest.param([Subscription(NOTES)], ("notes",), id="a topic without a handler"),
        pytest.param([Subscription(NOTES, _nothing, _nothing)], ("notes",), id="a topic with two"),
        pytest.param([Subscription(NOTES, _nothing)], ("notes", "answers"), id="a topic without readers"),
        pytest.param(
            [Subscription(NOTES, _nothing), Subscription(NOTES, _nothing)],
            ("notes",),
            id="a topic read twice",
        ),
    ],
)
def test_a_group_needs_one_handler_for_each_topic(reads: list[Subscription], topics: tuple[str, ...]) -> None:
    async def scenario() -> None:
        world = World()
        with pytest.raises(ValueError, match=r"handle"):
            ConsumerLoop(world.bus, world.codec, reads, GroupSpec(GROUP, topics), ports=world.ports())

    simulate(scenario())

"""Regressions: pauses that outlive their reason, dead letters that cannot be written, shared batches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from strider.messaging.effects import NO_EFFECTS, Effects, Publish, Subscription
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.inprocess import EventLoopClock, InProcessBus, simulate
from strider.messaging.ports import Record, TopicPartition
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.publishing.dead_letters import DeadLetterOrigin, DeadLetterWriter

from .loop_harness import CLOSINGS, GROUP, LETTERS, NOTES, Note, World, answer, closing, notes


async def _echo(note: Note, _record: Record) -> Effects:
    return Effects(publish=(answer(note),))


class LateClock(EventLoopClock):
    """A clock that can be made to jump, as it does for a process that was stopped meanwhile."""

    ahead_seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_seconds


class Shards:
    """Hooks of a service whose takeovers fail while `is_failing`."""

    def __init__(self) -> None:
        self.is_failing = True

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        if self.is_failing:
            raise Unavailable("redis", "gone")

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        """There is nothing to let go."""


class RefusedLetters(DeadLetterWriter):
    """Dead letters that an unforeseen error keeps from being written."""

    async def dead_letter(self, *_args: Any, **_options: Any) -> Publish:
        raise ValueError("the object was refused")


def _letters(world: World, kind: type[DeadLetterWriter] = DeadLetterWriter) -> DeadLetterWriter:
    return kind(LETTERS, DeadLetterOrigin("reader", GROUP), clock=world.clock)


@pytest.mark.parametrize(
    ("stopped_seconds", "handler_seconds", "reasons"),
    [
        pytest.param(3600.0, 1.0, [], id="a stopped process"),
        pytest.param(3600.0, 3.0, ["handler_timeout"], id="a slow handler in a stopped process"),
        pytest.param(0.0, 3.0, ["handler_timeout"], id="a slow handler"),
        pytest.param(0.0, 1.0, [], id="a quick handler"),
    ],
)
def test_time_in_which_the_process_was_stopped_counts_for_no_deadline(
    stopped_seconds: float, handler_seconds: float, reasons: list[str]
) -> None:
    """A stopped process must not give up good messages when it continues; a slow handler still ends."""

    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(handler_timeout_seconds=2.0))
        clock = world.clock = LateClock()

        async def handle(note: Note, _record: Record) -> Effects:
            await asyncio.sleep(handler_seconds)
            return NO_EFFECTS

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(Note("k", "x"))
        await world.until(lambda: loop.running == 1)
        clock.ahead_seconds = stopped_seconds
        await world.until(lambda: world.lag() == 0, seconds=stopped_seconds + 600)
        await world.stop(loop, task)

        assert [letter.reason for letter in world.letters()] == reasons

    simulate(scenario())


def test_a_dead_letter_that_cannot_be_written_ends_the_loop_and_not_the_message() -> None:
    """Effects of the handler are not the dead letter: a commit without it would lose the message."""

    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(note: Note, _record: Record) -> Effects:
            async def remember() -> None:
                raise KeyError(note.text)

            return Effects(publish=(answer(note),), publish_last=(closing(note),), after_ack=remember)

        loop = world.loop(Subscription(NOTES, handle), dead_letters=_letters(world, RefusedLetters))
        task = asyncio.create_task(loop.run())
        await world.write(Note("k", "x"))
        with pytest.raises(ValueError, match="the object was refused"):
            await asyncio.wait_for(task, 600)

        assert (world.committed(), world.texts(), world.texts(CLOSINGS)) == ([0], ["x"], ["x"])

    simulate(scenario())


class MuteError(Exception):
    """A failure whose repr fails."""

    def __str__(self) -> str:
        raise TypeError("no words")

    __repr__ = __str__


def test_a_failure_that_cannot_be_described_still_has_its_dead_letter() -> None:
    """An exception's own code is the handler's code: it must not end the loop either."""

    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(note: Note, _record: Record) -> Effects:
            if note.text == "mute":
                raise MuteError
            return Effects(publish=(answer(note),))

        loop = world.loop(Subscription(NOTES, handle), dead_letters=_letters(world))
        task = world.start(loop)
        await world.write(Note("k", "mute"), Note("k", "next"))
        await world.drained()
        await world.stop(loop, task)
        (letter,) = world.letters()

        kind = f"{__name__}.MuteError"
        assert (letter.error_class, letter.reason) == (kind, "handler_crashed")
        assert letter.error_message == f"<{kind}, whose str raises TypeError>"
        assert world.texts() == ["next"]

    simulate(scenario())


def test_a_rebalance_ends_the_pause_of_a_failing_takeover() -> None:
    """A pause that never ends keeps the process not ready, and the watchdog blind, for ever."""

    async def scenario() -> None:
        world = World(partitions=2)
        shards = Shards()
        loop = world.loop(Subscription(NOTES, _echo), sharded=True, shards=shards)
        first = world.start(loop)
        await world.until(lambda: "gone" in loop.paused_reasons.get("shards", ""))
        during = set(loop.paused_reasons)
        shards.is_failing = False
        other = world.loop(Subscription(NOTES, _echo), sharded=True, bus=InProcessBus(world.broker))
        second = world.start(other)
        await world.until(lambda: len(loop.assignment) == len(other.assignment) == 1)
        await world.write(*notes(10))
        await world.drained()
        after = loop.paused_reasons
        await world.stop(loop, first)
        await world.stop(other, second)

        assert (during, after) == ({"shards"}, {})

    simulate(scenario())


def test_a_failing_takeover_does_not_end_the_pause_of_an_outage() -> None:
    """Messages of an open shard that wait for the same part are probed one by one, not all at once."""

    async def scenario() -> None:
        world = World(partitions=1)
        asked: list[str] = []
        shards = Shards()
        shards.is_failing = False

        async def handle(note: Note, _record: Record) -> Effects:
            asked.append(note.text)
            raise Unavailable("redis", "gone")

        settings = ConsumerSettings(concurrency=1)
        loop = world.loop(Subscription(NOTES, handle), sharded=True, shards=shards, settings=settings)
        task = world.start(loop)
        await world.write(*notes(50, keys=50))
        await world.until(lambda: "redis" in loop.paused_reasons)
        shards.is_failing = True
        await loop.on_assigned(frozenset((TopicPartition("notes", 1),)))
        await asyncio.sleep(5)
        assert not task.done()
        task.cancel()
        await asyncio.wait((task,))

        assert asked == ["0000"] * len(asked)
        assert len(asked) > 1

    simulate(scenario())


def test_a_commit_that_is_not_needed_any_more_is_no_pause() -> None:
    """The commit took effect and its response was lost; then the partition went: nothing to repeat."""

    async def scenario() -> None:
        world = World(partitions=2)
        loop = world.loop(Subscription(NOTES, _echo))
        first = world.start(loop)
        await world.until(lambda: loop.assignment)
        commit = world.bus.member.commit

        async def lose_the_answer(offsets: Mapping[TopicPartition, int]) -> None:
            await commit(offsets)
            raise Unavailable("kafka", "the answer was lost")

        world.bus.member.commit = lose_the_answer  # type: ignore[method-assign]
        await world.write(*notes(4))
        await world.until(lambda: "commit" in loop.paused_reasons)
        other = world.loop(Subscription(NOTES, _echo), bus=InProcessBus(world.broker))
        second = world.start(other)
        await world.until(lambda: len(other.assignment) == 1)
        await world.until(lambda: loop.paused_reasons == {}, seconds=60)
        lag = world.lag()
        await world.stop(loop, first)
        await world.stop(other, second)

        assert lag == 0

    simulate(scenario())


def _fenced_batches(tries: list[list[str]]) -> Subscription:
    async def handle(items: Sequence[tuple[Note, Record]]) -> Effects:
        tries.append([note.text for note, _ in items])
        if any(record.partition == 0 for _, record in items):
            await asyncio.sleep(1)
            raise ShardFenced(0)
        return Effects(publish=tuple(answer(note) for note, _ in items))

    return Subscription(NOTES, batch_handler=handle)


def test_a_fenced_shard_leaves_its_batch_and_the_others_continue() -> None:
    """Both in the batch that met the newer owner, and in those that were read meanwhile."""

    async def scenario() -> None:
        world = World(partitions=2)
        tries: list[list[str]] = []
        loop = world.loop(_fenced_batches(tries), sharded=True)
        task = world.start(loop)
        await world.until(lambda: loop.assignment and not loop.paused_reasons)
        await world.write(Note("a", "fenced 1"), partition=0)
        await world.write(Note("b", "good 1"), partition=1)
        await world.until(lambda: tries)
        await world.write(Note("a", "fenced 2"), partition=0)
        await world.until(lambda: loop.in_flight == 3)
        await world.write(Note("a", "fenced 3"), partition=0)
        await world.write(Note("b", "good 2"), partition=1)
        await world.until(lambda: loop.in_flight == 5)
        await world.until(lambda: world.committed()[1] == 2, seconds=20)
        during = set(loop.paused_reasons)
        await world.stop(loop, task)

        assert sorted(tries[0]) == ["fenced 1", "good 1"]
        assert tries[1:] == [["good 1"], ["good 2"]]
        assert (world.texts(), world.committed(), during) == (["good 1", "good 2"], [0, 2], {"fenced"})

    simulate(scenario())


def test_a_batch_that_is_fenced_by_a_shard_it_has_nothing_of_is_not_tried_again() -> None:
    """It would be fenced again for ever; the loop ends when the group does not revoke the shard."""

    async def scenario() -> None:
        world = World(partitions=1)
        tries: list[int] = []

        async def handle(items: Sequence[tuple[Note, Record]]) -> Effects:
            tries.append(len(items))
            raise ShardFenced(7)

        loop = world.loop(Subscription(NOTES, batch_handler=handle), sharded=True)
        task = asyncio.create_task(loop.run())
        await world.write(*notes(3))
        with pytest.raises(ShardFenced):
            await asyncio.wait_for(task, 600)

        assert (tries, world.committed()) == ([3], [0])

    simulate(scenario())


def test_a_loss_is_reported_once() -> None:
    """A member that leaves right after its report has committed where to read on, so the next does not repeat
    it.
    """

    async def scenario() -> None:
        world = World(partitions=1)
        await world.write(*notes(20))
        world.broker.trim(TopicPartition("notes", 0), 20)
        for _ in range(3):
            loop = world.loop(Subscription(NOTES, _echo))
            task = world.start(loop)
            await world.until(world.letters)
            await asyncio.sleep(1)
            await world.stop(loop, task)

        assert ([letter.lost_to for letter in world.letters()], world.committed()) == ([19], [20])

    simulate(scenario())


def test_a_probe_that_hangs_excuses_nothing_and_is_not_ready() -> None:
    """Else one blip, and then a call without an end, would hide the stall from the watchdog for ever."""

    async def scenario() -> None:
        world = World(partitions=1)
        remembered: list[str] = []
        hangs = asyncio.Event()

        async def handle(note: Note, _record: Record) -> Effects:
            async def remember() -> None:
                remembered.append(note.text)
                if len(remembered) == 1:
                    raise Unavailable("redis", "a blip")
                await hangs.wait()

            return Effects(after_ack=remember)

        loop = world.loop(Subscription(NOTES, handle), settings=ConsumerSettings(concurrency=1))
        task = world.start(loop)
        await world.write(*notes(5, keys=1))
        await world.until(lambda: len(remembered) == 2)
        early = (loop.paused_reasons, loop.exempt_pauses)
        await world.until(lambda: loop.exempt_pauses == {}, seconds=60)
        await asyncio.sleep(3600)
        late = (loop.paused_reasons, loop.exempt_pauses, list(remembered), world.lag())
        hangs.set()
        await world.drained()
        after = loop.paused_reasons
        await world.stop(loop, task)

        assert early == ({"redis": "a blip"}, {"redis": "a blip"})
        assert late == ({"redis": "a blip"}, {}, ["0000", "0000"], 5)
        assert after == {}
        assert remembered == ["0000", "0000", "0001", "0002", "0003", "0004"]

    simulate(scenario())


def test_a_slow_probe_that_fails_is_an_excuse_again() -> None:
    """A dependency that reports late that it is unavailable is an outage after all."""

    async def scenario() -> None:
        world = World(partitions=1)
        asked = 0

        async def handle(_note: Note, _record: Record) -> Effects:
            async def remember() -> None:
                nonlocal asked
                asked += 1
                if asked == 2:
                    await asyncio.sleep(100)
                if asked <= 3:
                    raise Unavailable("redis", f"no answer {asked}")

            return Effects(after_ack=remember)

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(Note("k", "x"))
        await world.until(lambda: asked == 1 and loop.exempt_pauses)
        await world.until(lambda: not loop.exempt_pauses)
        tried = asked
        await world.until(lambda: loop.exempt_pauses)
        again = loop.exempt_pauses
        await world.drained()
        after = loop.paused_reasons
        await world.stop(loop, task)

        assert (tried, again, after) == (2, {"redis": "no answer 2"}, {})

    simulate(scenario())

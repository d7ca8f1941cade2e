"""Retention that deleted unread messages, and missing offsets: reported, never guessed."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from strider.messaging.effects import Effects, Subscription
from strider.messaging.errors import BatchUnreadable, PartitionUnavailable, TooManyRecords
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Consumer, RawRecord, Record, TopicPartition
from strider.runtime.consumer.ports import NoConsumerMeter
from tests.unit.runtime.consumer.loop_harness import GROUP, LETTERS, NOTES, Note, World, answer, notes


async def _echo(note: Note, _record: Record) -> Effects:
    return Effects(publish=(answer(note),))


def test_a_loss_names_its_range_and_reading_continues_where_the_log_starts() -> None:
    async def scenario() -> None:
        world = World()
        lost: list[tuple[str, int, int]] = []

        class Meter(NoConsumerMeter):
            def lost(self, topic: str, partition: int, messages: int) -> None:  # type: ignore[override]
                lost.append((topic, partition, messages))

        await world.write(*notes(10), partition=0)
        await world.write(*notes(3), partition=1)
        world.broker.trim(TopicPartition("notes", 0), 7)
        loop = world.loop(Subscription(NOTES, _echo), meter=Meter())
        task = world.start(loop)
        await world.drained()
        after = loop.paused_reasons
        await world.stop(loop, task)
        (letter,) = world.letters()

        assert (letter.topic, letter.partition, letter.reason, letter.category) == (
            "notes",
            0,
            "retention_loss",
            "retention",
        )
        assert (letter.offset, letter.lost_from, letter.lost_to, letter.timestamp_ms) == (0, 0, 6, -1)
        assert lost == [("notes", 0, 7)]
        assert world.texts() == sorted(["0007", "0008", "0009", "0000", "0001", "0002"])
        assert after == {}

    simulate(scenario())


def test_a_loss_is_reported_before_it_is_skipped() -> None:
    """While the loss event cannot be written nothing of the partition is read; others are read."""

    async def scenario() -> None:
        world = World()
        await world.write(*notes(10), partition=0)
        world.broker.trim(TopicPartition("notes", 0), 7)
        letters = world.broker.topics.pop(LETTERS.name)
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.write(*notes(3), partition=1)
        await asyncio.sleep(300)
        during = (world.texts(), world.committed(), list(loop.paused_reasons))
        world.broker.topics[LETTERS.name] = letters
        await world.drained()
        await world.stop(loop, task)

        assert during == (["0000", "0001", "0002"], [0, 3], ["loss notes[0]"])
        assert [letter.lost_to for letter in world.letters()] == [6]

    simulate(scenario())


def test_pauses_of_one_kind_are_one_series() -> None:
    """Two partitions lose messages: the metric has `loss` until the last of the two is done."""

    async def scenario() -> None:
        world = World()
        told: list[tuple[str, bool]] = []

        class Meter(NoConsumerMeter):
            def paused(self, reason: str, *, is_paused: bool) -> None:  # type: ignore[override]
                told.append((reason, is_paused))

        for partition in (0, 1):
            await world.write(*notes(10), partition=partition)
            world.broker.trim(TopicPartition("notes", partition), 7)
        world.bus._chance, world.bus._ack_seconds = world.chance, (5.0, 5.0)
        loop = world.loop(Subscription(NOTES, _echo), meter=Meter())
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        losses = [each for each in told if each[0] == "loss"]
        assert losses == [("loss", True), ("loss", True), ("loss", False)]

    simulate(scenario())


def test_a_missing_offset_is_stated_and_never_guessed() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        await world.write(*notes(3))
        del world.broker.group(GROUP).committed[TopicPartition("notes", 0)]
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await asyncio.sleep(300)
        during = (dict(loop.paused_reasons), world.texts())
        world.broker.start_group(GROUP, ["notes"])
        await world.drained()
        after = loop.paused_reasons
        await world.stop(loop, task)

        assert during == (
            {"offsets": "group readers has no committed offset for notes[0]; run: strider topics apply"},
            [],
        )
        assert (world.texts(), after) == (["0000", "0001", "0002"], {})

    simulate(scenario())


def test_a_partition_that_ends_in_a_marker_has_no_lag_for_ever() -> None:
    """The watchdog would take it for a stall: messages wait, and nothing moves."""

    async def scenario() -> None:
        world = World(partitions=1)
        writer = await world.bus.take_shard("truth", 0)
        await world.write(*notes(2))
        writer.append("notes", 0, RawRecord(b"k", b"k=in a transaction"))
        await writer.flush()
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.until(lambda: len(world.texts()) == 3)
        await asyncio.sleep(20)
        lags = dict(loop.lags)
        await world.stop(loop, task)

        assert lags == {TopicPartition("notes", 0): 0}
        assert world.lag() == 0

    simulate(scenario())


def test_a_marker_that_was_not_skipped_yet_is_skipped_by_the_next_reader() -> None:
    """The one before died between its last commit and the marker's turn."""

    async def scenario() -> None:
        world = World(partitions=1)
        writer = await world.bus.take_shard("truth", 0)
        writer.append("notes", 0, RawRecord(b"k", b"k=in a transaction"))
        await writer.flush()
        world.broker.group(GROUP).committed[TopicPartition("notes", 0)] = 1
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert world.committed() == [2]
        assert world.texts() == []

    simulate(scenario())


@pytest.mark.fault("B11")
@pytest.mark.parametrize("is_new_topic", [False, True])
def test_a_log_that_lost_its_tail_is_continued_once_what_was_read_of_it_is_done(is_new_topic: bool) -> None:
    """Its offsets come a second time, with other messages; none of the first may be committed for them."""

    async def scenario() -> None:
        world = World(partitions=1)
        end, release = 0 if is_new_topic else 5, asyncio.Event()
        truncated: list[str] = []

        class Meter(NoConsumerMeter):
            def log_truncated(self, topic: str) -> None:  # type: ignore[override]
                truncated.append(topic)

        async def wait(note: Note, _record: Record) -> Effects:
            if note.text == "0007":
                await release.wait()
            return Effects(publish=(answer(note),))

        await world.write(*notes(10))
        loop = world.loop(Subscription(NOTES, wait), meter=Meter())
        task = world.start(loop)
        await world.until(lambda: world.committed() == [7])
        log = world.broker.log(TopicPartition("notes", 0))
        del log.records[end:]
        log.end = end
        await world.until(world.letters)
        during = (world.committed(), list(loop.paused_reasons))
        release.set()
        await world.until(lambda: world.committed() == [end])
        await world.write(*(Note("k", f"new {number}") for number in range(8)))
        await world.drained()
        await world.stop(loop, task)

        (letter,) = world.letters()
        assert (letter.reason, letter.category) == ("log_truncated", "infrastructure")
        assert (letter.offset, letter.lost_from, letter.lost_to) == (end, end, 9)
        assert during[0] == [7], "nothing of the log that is gone is committed meanwhile"
        assert truncated == ["notes"]
        assert world.texts() == sorted(
            [*(f"{number:04}" for number in range(10)), *(f"new {number}" for number in range(8))]
        )

    simulate(scenario())


class FailingReads:
    """A consumer to which partition 0 cannot be read, as long as there is a failure."""

    def __init__(self, consumer: Any, failure: Exception | None) -> None:
        self.failure = failure
        self.attempts = 0
        self._consumer = consumer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    async def poll(self, **arguments: Any) -> Any:
        await self._consumer._maintain_membership()
        if self.failure is not None and FIRST not in self._consumer._paused:
            self.attempts += 1
            raise self.failure
        return await self._consumer.poll(**arguments)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.failure = None
        self._consumer.seek(partition, offset)


FIRST = TopicPartition("notes", 0)


def with_failing_reads(world: World, failure: Exception) -> list[FailingReads]:
    """Let the next consumer fail; the list has it as soon as it was opened."""
    opened: list[FailingReads] = []
    new_consumer = world.bus.consumer

    async def consumer(*arguments: Any) -> Consumer:
        opened.append(FailingReads(await new_consumer(*arguments), failure))
        return cast("Consumer", opened[-1])

    world.bus.consumer = consumer  # type: ignore[method-assign, assignment]
    return opened


@pytest.mark.fault("A16")
def test_a_partition_that_cannot_be_read_holds_no_other() -> None:
    """It is tried again at growing intervals, and is not ready until it was read."""

    async def scenario() -> None:
        world = World()
        await world.write(*notes(3), partition=0)
        await world.write(*notes(50), partition=1)
        consumers = with_failing_reads(world, PartitionUnavailable("notes", 0, "arrives damaged"))
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await asyncio.sleep(300)
        during = (world.committed(), loop.paused_reasons)
        attempts, consumers[0].failure = consumers[0].attempts, None
        await world.drained()
        await asyncio.sleep(5)
        after = loop.paused_reasons
        await world.stop(loop, task)

        assert during == ([0, 50], {"unreadable notes[0]": "notes[0]: arrives damaged"})
        assert 5 < attempts < 50
        assert (world.committed(), after) == ([3, 50], {})

    simulate(scenario())


@pytest.mark.fault("A16")
@pytest.mark.parametrize(
    ("kind", "reason"), [(BatchUnreadable, "batch_unreadable"), (TooManyRecords, "batch_too_large")]
)
def test_a_batch_that_cannot_be_read_is_one_dead_letter(kind: type[BatchUnreadable], reason: str) -> None:
    async def scenario() -> None:
        world = World()
        await world.write(*notes(10), partition=0)
        failure = kind("notes", 0, first=0, last=6, codec="gzip", compressed_bytes=9, why="is odd")
        with_failing_reads(world, failure)
        loop = world.loop(Subscription(NOTES, _echo))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)
        (letter,) = world.letters()

        assert (letter.reason, letter.category, letter.lost_from, letter.lost_to) == (reason, "decode", 0, 6)
        assert letter.error_message == (
            "notes[0]: offsets 0 to 6 are skipped unread: their batch of 9 bytes (gzip) is odd"
        )
        assert world.texts() == ["0007", "0008", "0009"]

    simulate(scenario())

"""on_caught_up: up to which moment everything in a partition is done."""

from __future__ import annotations

import asyncio

import pytest

from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import RawRecord, Record, TopicPartition
from tests.unit.runtime.consumer.loop_harness import NOTES, Note, World

from .test_takeovers import Shards

ONLY = TopicPartition("notes", 0)


def test_what_is_not_done_is_not_caught_up_with() -> None:
    """A message that waits for its handler holds the account back; what is done moves it on."""

    async def scenario() -> None:
        world = World(partitions=1)
        told: list[tuple[TopicPartition, float]] = []
        may_end = asyncio.Event()

        async def handle(note: Note, _record: Record) -> Effects:
            if note.text == "slow":
                await may_end.wait()
            return NO_EFFECTS

        loop = world.loop(Subscription(NOTES, handle), on_caught_up=lambda *word: told.append(word))
        task = world.start(loop)
        await asyncio.sleep(20)
        quiet = list(told)
        await world.write(Note("a", "slow"))
        sent_at = world.clock.monotonic()
        await world.write(Note("b", "quick"))
        await asyncio.sleep(20)
        stuck = [as_of for _, as_of in told if as_of > sent_at]
        may_end.set()
        await asyncio.sleep(20)
        loop.request_stop()
        await task

        assert {name for name, _ in quiet} == {ONLY}
        assert stuck == []
        assert told[-1][1] > sent_at
        moments = [as_of for _, as_of in told]
        assert moments == sorted(set(moments))

    simulate(scenario())


def test_what_was_there_when_a_shard_opened_is_caught_up_with_soon() -> None:
    """A new owner of a shard waits for that: not for an interval, and not by an earlier end."""

    async def scenario() -> None:
        world = World(partitions=1)
        told: list[float] = []
        opened_at: list[float] = []

        async def take() -> None:
            await asyncio.sleep(7)
            opened_at.append(world.clock.monotonic())

        loop = world.loop(
            Subscription(NOTES, _handle),
            sharded=True,
            shards=Shards(take),
            on_caught_up=lambda _name, as_of: told.append(as_of),
        )
        task = world.start(loop)
        await world.until(lambda: opened_at)
        await asyncio.sleep(2)
        loop.request_stop()
        await task

        assert [as_of >= opened_at[0] for as_of in told][-1:] == [True]

    simulate(scenario())


def test_where_nothing_is_unread_that_is_known_at_once() -> None:
    """A new crawl would else begin with a wait for messages that do not exist."""

    async def scenario() -> None:
        world = World(partitions=1)
        told: list[TopicPartition] = []
        loop = world.loop(Subscription(NOTES, _handle), on_caught_up=lambda name, _as_of: told.append(name))
        task = world.start(loop)
        await asyncio.sleep(1)
        at_once = list(told)
        loop.request_stop()
        await task

        assert at_once == [ONLY]

    simulate(scenario())


async def _handle(_note: Note, _record: Record) -> Effects:
    return NO_EFFECTS


@pytest.mark.fault("A17")
def test_a_transaction_that_is_left_open_is_named_after_half_a_minute() -> None:
    """Nothing behind it is read and the lag is zero, so that nothing else would show it."""

    async def scenario() -> None:
        world = World()
        transactions, name = world.broker.transactions, "stranger"
        loop = world.loop(Subscription(NOTES, _ignore))
        task = world.start(loop)
        await asyncio.sleep(20)
        epoch = transactions.initialise(name)
        transactions.append(name, ONLY, RawRecord(b"k", b"open"), epoch=epoch, shard=0)
        await world.write(Note("a", "behind"), partition=0)
        await asyncio.sleep(20)
        early = loop.paused_reasons
        await asyncio.sleep(20)
        late, exempt, lag = loop.paused_reasons, loop.exempt_pauses, loop.lags[ONLY]
        transactions.abort(name, epoch=epoch, shard=0)
        await world.drained()
        await asyncio.sleep(10)
        after = loop.paused_reasons
        await world.stop(loop, task)

        assert (early, list(late), exempt, lag) == ({}, ["transaction notes[0]"], {}, 0)
        assert "nothing is readable from offset 0 on" in late["transaction notes[0]"]
        assert after == {}

    simulate(scenario())


async def _ignore(_note: Note, _record: Record) -> Effects:
    return NO_EFFECTS

"""Batches of a public topic: many small bad messages cost few dead letters, and the others one batch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest

from strider.contracts.generated.events import DeadLetter
from strider.messaging.effects import Effects, GivenUp, Publish, Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import OutgoingMessage, Record
from strider.runtime.publishing.report_allowance import LETTERS, ReportAllowance

from .loop_harness import CLOSINGS, NOTES, UNKNOWN, Note, World, answer, notes

POLL = 500
"""Records of one poll, and so of a batch."""


async def _echo(items: Sequence[tuple[Note, Record]]) -> Effects:
    return Effects(publish=[answer(note) for note, _ in items])


def _messages_of(letter: DeadLetter) -> int:
    """Return how many messages a dead letter is for."""
    found = re.match(r"(\d+) messages among", letter.error_message)
    return int(found[1]) if found else 1


@pytest.mark.fault("F22", part="many small bad messages in one record batch")
def test_many_small_bad_messages_share_dead_letters() -> None:
    """20,000 records of one byte are 28 KB on the wire; a letter for each would be 20 MB."""

    async def scenario() -> None:
        world = World(partitions=1)
        await world.write(*notes(3), *[b"bad"] * 20_000, *notes(3))
        loop = world.loop(Subscription(NOTES, batch_handler=_echo, is_public=True))
        task = world.start(loop)
        await world.drained()
        reasons = loop.paused_reasons
        await world.stop(loop, task)
        letters = world.letters()

        assert (reasons, len(world.texts()), world.committed()) == ({}, 6, [20_006])
        assert len(letters) <= LETTERS + 20_006 // POLL + 2
        assert sum(map(_messages_of, letters)) == 20_000
        assert [letter.value for letter in letters[:LETTERS]] == [b"bad"] * LETTERS
        shared = letters[LETTERS:]
        assert all((letter.value, letter.lost_from) == (None, letter.offset) for letter in shared)
        assert all(before.lost_to < after.lost_from for before, after in pairwise(shared))
        assert {letter.reason for letter in letters} == {"bad_magic"}

    simulate(scenario())


def test_good_messages_between_bad_ones_are_handled_together() -> None:
    async def scenario() -> None:
        world = World(partitions=2)
        batches: list[int] = []

        async def handle(items: Sequence[tuple[Note, Record]]) -> Effects:
            batches.append(len(items))
            return await _echo(items)

        for number in range(100):
            for partition in (0, 1):
                note = Note("k", f"{number:03}-{partition}")
                await world.write(note, b"bad", partition=partition)
                value = UNKNOWN + b"none:k=x"
                world.broker.append(OutgoingMessage("notes", None, value, partition))
        loop = world.loop(Subscription(NOTES, batch_handler=handle, is_public=True))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)
        shared = [letter for letter in world.letters() if letter.lost_from >= 0]

        assert sum(batches) == len(world.texts()) == 200
        assert len(batches) <= 3
        assert sum(map(_messages_of, world.letters())) == 400
        assert {(letter.partition, letter.reason) for letter in shared} == {
            (partition, reason) for partition in (0, 1) for reason in ("bad_magic", "unknown_schema")
        }

    simulate(scenario())


def test_the_service_adds_effects_for_every_message_of_a_shared_dead_letter() -> None:
    """A seed with a misspelt field is a refusal of its URL, however many there are."""

    async def scenario() -> None:
        world = World(partitions=1)
        written: list[int] = []

        async def last_words(record: Record, failure: GivenUp) -> Effects:
            async def write() -> None:
                written.append(record.offset)

            say = Publish(CLOSINGS, Note("", f"{record.offset:03} {failure.reason}"))
            return Effects(publish_last=(say,), after_ack=write)

        await world.write(*[b"bad"] * 100)
        loop = world.loop(Subscription(NOTES, batch_handler=_echo, is_public=True), on_given_up=last_words)
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert world.texts(CLOSINGS) == [f"{number:03} bad_magic" for number in range(100)]
        assert sorted(written) == [*range(100)]
        assert len(world.letters()) == LETTERS + 1

    simulate(scenario())


def test_a_topic_of_ours_has_a_dead_letter_for_each_message() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        await world.write(*[part for number in range(50) for part in (Note("k", f"{number}"), b"bad")])
        loop = world.loop(Subscription(NOTES, batch_handler=_echo))
        task = world.start(loop)
        await world.drained()
        await world.stop(loop, task)

        assert [letter.value for letter in world.letters()] == [b"bad"] * 50

    simulate(scenario())


def test_the_allowance_is_renewed_each_second() -> None:
    allowance = ReportAllowance()
    taken = [[allowance.take(now) for _ in range(LETTERS + 5)] for now in (7.0, 7.9, 8.0)]
    allowance.leave_out()
    allowance.leave_out()

    assert [sum(each) for each in taken] == [LETTERS, 0, LETTERS]
    assert (allowance.pop_unlogged(), allowance.pop_unlogged()) == (2, 0)

"""Who asks hears up to which moment everything in a partition is done."""

from __future__ import annotations

import asyncio

from strider.runtime.effects import NOTHING, Effects, Reads
from strider.runtime.inprocess import simulate
from strider.runtime.ports import Record, TopicPartition

from .loop_world import NOTES, Note, World

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
            return NOTHING

        loop = world.loop(Reads(NOTES, handle), on_caught_up=lambda *word: told.append(word))
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

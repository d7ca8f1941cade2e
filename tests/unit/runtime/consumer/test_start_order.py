"""Messages that are started by shares: one sender's wait for no place of another's."""

from __future__ import annotations

import asyncio

from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Record
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.consumer.start_order import Claim

from .loop_harness import NOTES, Note, World

PLACES = 16
SETTINGS = ConsumerSettings(concurrency=PLACES, handler_timeout_seconds=600)


def _claim_of(record: Record) -> Claim:
    sender = (record.key or b"").partition(b"-")[0].decode()
    return Claim((sender, f"{sender} run"), max_wait_seconds=30.0)


class _Handler:
    """Hangs for messages of one sender, and is done at once with those of all others."""

    def __init__(self, hangs_for: str) -> None:
        self.hangs_for = hangs_for
        self.started: list[tuple[str, float]] = []
        self.go_on = asyncio.Event()

    async def __call__(self, note: Note, _record: Record) -> Effects:
        self.started.append((note.key, asyncio.get_running_loop().time()))
        if note.key.startswith(self.hangs_for) and not self.go_on.is_set():
            await self.go_on.wait()
        return NO_EFFECTS

    def started_of(self, sender: str) -> int:
        return sum(key.startswith(sender) for key, _ in self.started)


def _reads(handler: _Handler) -> Subscription:
    return Subscription(NOTES, handler, is_ordered_by_key=False)


def test_requests_that_hang_take_their_share_and_others_pass_them() -> None:
    async def scenario() -> None:
        world, handler = World(partitions=1), _Handler("silent")
        loop = world.loop(_reads(handler), settings=SETTINGS, claim_of=_claim_of)
        task = world.start(loop)
        await world.write(*(Note(f"silent-{number}", "") for number in range(100)))
        await asyncio.sleep(1)
        before = handler.started_of("silent")

        await world.write(*(Note(f"owner-{number}", "") for number in range(50)))
        await asyncio.sleep(1)

        assert 1 <= before < PLACES
        assert handler.started_of("owner") == 50
        assert handler.started_of("silent") == before, "the share of the others is not theirs"
        handler.go_on.set()
        await world.drained()
        await world.stop(loop, task)
        assert handler.started_of("silent") == 100

    simulate(scenario())


def test_a_message_that_waited_too_long_is_started_to_be_ended() -> None:
    async def scenario() -> None:
        world, handler = World(partitions=1), _Handler("silent")
        loop = world.loop(_reads(handler), settings=SETTINGS, claim_of=_claim_of)
        task = world.start(loop)
        await world.write(*(Note(f"silent-{number}", "") for number in range(PLACES)))
        await asyncio.sleep(29)
        waiting = PLACES - handler.started_of("silent")
        assert waiting > 0

        await asyncio.sleep(3)

        assert handler.started_of("silent") == PLACES
        handler.go_on.set()
        await world.drained()
        await world.stop(loop, task)

    simulate(scenario())


def test_a_release_waits_for_what_was_started_and_not_for_what_waits_for_a_place() -> None:
    async def scenario() -> None:
        world, handler = World(partitions=1), _Handler("silent")
        settings = ConsumerSettings(concurrency=PLACES, handler_timeout_seconds=600, stop_timeout_seconds=600)
        loop = world.loop(_reads(handler), settings=settings, claim_of=_claim_of)
        task = world.start(loop)
        await world.write(*(Note(f"silent-{number}", "") for number in range(100)))
        await asyncio.sleep(1)
        before = handler.started_of("silent")
        loop.request_stop()
        await asyncio.sleep(1)
        assert not task.done(), "what was started is finished"

        handler.go_on.set()
        await asyncio.wait_for(task, 5)

        assert handler.started_of("silent") == before

    simulate(scenario())

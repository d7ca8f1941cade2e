"""Joining a group and taking shards: when that keeps a process from being ready, and what excuses it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from structlog.testing import capture_logs

from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.errors import PartitionNotOwned, Unavailable
from strider.messaging.inprocess import InProcessBus, simulate
from strider.messaging.ports import Record
from strider.runtime.consumer.spec import ConsumerSettings
from strider.runtime.observability import log_events
from tests.unit.runtime.consumer.loop_harness import NOTES, Note, WatchedBus, World, notes

JOINING = {"joining": "waiting for the group to hand out partitions"}


async def _nothing(_note: Note, _record: Record) -> Effects:
    return NO_EFFECTS


class Shards:
    """Hooks of a service that takes shards when the test allows it."""

    def __init__(
        self,
        take: Callable[[], Awaitable[None]] | None = None,
        lose: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._take = take
        self._lose = lose

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        if self._take is not None:
            await self._take()

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        if self._lose is not None:
            await self._lose()


def test_a_member_is_joining_until_it_was_given_its_share() -> None:
    """A dead member's session delays the assignment; a member that waits for it is not ready."""

    async def scenario() -> None:
        world = World(partitions=2)
        dead_bus = WatchedBus(world.broker)
        dead = world.loop(Subscription(NOTES, _nothing), bus=dead_bus)
        dead_task = world.start(dead)
        await world.until(lambda: dead.assignment)
        dead_bus.member.kill()
        dead_task.cancel()
        loop = world.loop(Subscription(NOTES, _nothing))
        task = world.start(loop)
        await asyncio.sleep(40)
        during = (loop.paused_reasons, loop.exempt_pauses, loop.assignment)
        await world.until(lambda: loop.paused_reasons == {}, seconds=10)
        share = loop.assignment
        await world.stop(loop, task)

        assert during == (JOINING, {}, frozenset())
        assert len(share) == 2

    simulate(scenario())


def test_a_share_of_nothing_is_a_share() -> None:
    """With more members than partitions one has none, and is as ready as it can be."""

    async def scenario() -> None:
        world = World(partitions=1)
        loops = [world.loop(Subscription(NOTES, _nothing), bus=WatchedBus(world.broker)) for _ in range(2)]
        tasks = [world.start(loop) for loop in loops]
        await world.until(lambda: [loop.paused_reasons for loop in loops] == [{}, {}])
        shares = sorted(len(loop.assignment) for loop in loops)
        for loop, task in zip(loops, tasks, strict=True):
            await world.stop(loop, task)

        assert shares == [0, 1]

    simulate(scenario())


def test_a_member_that_gave_back_is_joining_again() -> None:
    """Its twin is stopped in the middle of the rebalance: no member has partitions until its session ends."""

    async def scenario() -> None:
        world = World(partitions=2)
        buses = [WatchedBus(world.broker) for _ in range(2)]
        loops = [world.loop(Subscription(NOTES, _nothing), bus=bus) for bus in buses]
        tasks = [world.start(loop) for loop in loops]
        await world.until(lambda: all(len(loop.assignment) == 1 for loop in loops))
        buses[1].member.freeze()
        guest = world.loop(Subscription(NOTES, _nothing), bus=InProcessBus(world.broker))
        guest_task = world.start(guest)
        await asyncio.sleep(30)
        during = (loops[0].paused_reasons, loops[0].assignment)
        await world.until(lambda: loops[0].paused_reasons == {}, seconds=30)
        buses[1].member.thaw()
        for loop, task in zip([*loops, guest], [*tasks, guest_task], strict=True):
            await world.stop(loop, task)

        assert during == (JOINING, frozenset())

    simulate(scenario())


def test_joining_is_logged_without_a_warning() -> None:
    """Every start and every rebalance goes through it."""

    async def scenario() -> list[tuple[str, str]]:
        world = World(partitions=1)
        with capture_logs() as lines:
            loop = world.loop(Subscription(NOTES, _nothing))
            task = world.start(loop)
            await world.until(lambda: loop.assignment)
            await world.stop(loop, task)
        return [(line["event"], line["log_level"]) for line in lines if line.get("reason") == "joining"]

    assert simulate(scenario()) == [
        (log_events.CONSUMPTION_PAUSED_ROUTINELY.text, "info"),
        (log_events.CONSUMPTION_RESUMED.text, "info"),
    ]


def test_a_takeover_is_not_ready_and_not_exempt() -> None:
    """So a hook that hangs is seen as what it is, while one that gets on shows it by signs of life."""

    async def scenario() -> None:
        world = World(partitions=2)
        go_on = asyncio.Event()

        async def take() -> None:
            await go_on.wait()

        loop = world.loop(Subscription(NOTES, _nothing), sharded=True, shards=Shards(take))
        task = world.start(loop)
        await world.until(lambda: loop.assignment)
        first = (loop.paused_reasons, loop.opening, loop.last_activity)
        await asyncio.sleep(3600)
        during = (loop.paused_reasons, loop.exempt_pauses, loop.opening, loop.last_activity)
        go_on.set()
        await world.until(lambda: not loop.opening)
        after = (loop.paused_reasons, world.clock.monotonic() - loop.last_activity < 1)
        await world.stop(loop, task)

        waiting = {"shards": "not ready yet: 0, 1"}
        assert first[:2] == (waiting, 2)
        assert during == (waiting, {}, 2, first[2])
        assert after == ({}, True)

    simulate(scenario())


def test_a_takeover_is_exempt_while_it_waits_for_its_next_attempt() -> None:
    """What is away may stay away for hours; each refusal is a sign of life besides."""

    async def scenario() -> None:
        world = World(partitions=1)
        tries = 0

        async def take() -> None:
            nonlocal tries
            tries += 1
            await asyncio.sleep(0 if tries == 1 else 100)
            if tries <= 2:
                raise Unavailable("redis", f"away {tries}")

        loop = world.loop(Subscription(NOTES, _nothing), sharded=True, shards=Shards(take))
        task = world.start(loop)
        await world.until(lambda: loop.exempt_pauses)
        resting = (tries, loop.paused_reasons, loop.exempt_pauses)
        await world.until(lambda: not loop.exempt_pauses)
        trying = (tries, loop.paused_reasons)
        await world.until(lambda: loop.exempt_pauses)
        refused_at, seen_at = loop.last_activity, world.clock.monotonic()
        await world.until(lambda: not loop.opening)
        after = loop.paused_reasons
        await world.stop(loop, task)

        why = {"shards": "shard 0 is not ready: redis is unavailable: away 1"}
        assert resting == (1, why, why)
        assert trying == (2, why)
        assert seen_at - refused_at < 0.1
        assert after == {}

    simulate(scenario())


def test_shards_that_do_not_let_go_hold_up_the_group_for_a_bounded_time() -> None:
    """Else one hanging close would keep the whole group from its next hand-out."""

    async def scenario() -> None:
        world = World(partitions=1)

        async def lose() -> None:
            await asyncio.Event().wait()

        loop = world.loop(Subscription(NOTES, _nothing), sharded=True, shards=Shards(lose=lose))
        task = world.start(loop)
        await world.until(lambda: loop.assignment and not loop.paused_reasons)
        began = world.clock.monotonic()
        with capture_logs() as lines:
            await world.stop(loop, task)

        assert world.clock.monotonic() - began < 31
        (line,) = (line for line in lines if line["event"] == log_events.SHARDS_NOT_CLOSED.text)
        assert (line["shards"], line["why"]) == ([0], "still busy after 30 s")

    simulate(scenario())


def test_partitions_that_move_in_the_middle_of_a_poll_end_nothing() -> None:
    """A client may raise it from any call; the next poll is in the new generation."""

    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings())
        loop = world.loop(Subscription(NOTES, _nothing))
        task = world.start(loop)
        await world.until(lambda: loop.assignment)
        poll, refusals = world.bus.member.poll, iter(range(3))

        async def moved(*, max_records: int, timeout_seconds: float) -> object:
            if next(refusals, None) is not None:
                raise PartitionNotOwned("notes[0] is not ours")
            return await poll(max_records=max_records, timeout_seconds=timeout_seconds)

        world.bus.member.poll = moved  # type: ignore[assignment, method-assign]
        await world.write(*notes(3))
        await world.drained()
        await world.stop(loop, task)

        assert world.committed() == [3]

    simulate(scenario())

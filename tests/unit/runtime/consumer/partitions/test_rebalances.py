"""Partitions that go and come: finish, commit, abandon; shards that open and close; stopping."""

from __future__ import annotations

import asyncio

import pytest

from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Record, TopicPartition
from strider.runtime.consumer.ports import NoConsumerMeter
from strider.runtime.consumer.spec import ConsumerSettings
from tests.unit.runtime.consumer.loop_harness import NOTES, Note, WatchedBus, World, answer, notes


def test_messages_in_flight_are_finished_and_committed_before_partitions_go() -> None:
    """A second member joins while messages are being handled: within the timeout nothing is done twice."""

    async def scenario() -> None:
        world = World(partitions=4)
        handled: list[str] = []

        async def handle(note: Note, _record: Record) -> Effects:
            await asyncio.sleep(2)
            handled.append(note.text)
            return Effects(publish=(answer(note),))

        loops = [world.loop(Subscription(NOTES, handle)) for _ in range(2)]
        first = world.start(loops[0])
        await world.write(*notes(40, keys=40))
        await asyncio.sleep(1)
        second = world.start(loops[1])
        await world.until(lambda: len(loops[0].assignment) == len(loops[1].assignment) == 2)
        await world.write(*notes(40, keys=40))
        await world.drained()
        await world.stop(loops[0], first)
        await world.stop(loops[1], second)

        assert len(handled) == 80
        assert len(world.texts()) == 80

    simulate(scenario())


def test_work_that_exceeds_the_revoke_timeout_is_abandoned() -> None:
    """Its result is not published by the old owner, its offset not committed; the new owner handles it."""

    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(revoke_timeout_seconds=5))
        tries: list[str] = []
        ended: list[str] = []

        async def handle(note: Note, _record: Record) -> Effects:
            tries.append(note.text)
            try:
                await asyncio.sleep(20 if len(tries) == 1 else 0)
            except asyncio.CancelledError:
                ended.append(note.text)
                raise
            return Effects(publish=(answer(note),))

        loops = [world.loop(Subscription(NOTES, handle)) for _ in range(2)]
        first = world.start(loops[0])
        await world.write(*notes(3, keys=1))
        await asyncio.sleep(1)
        second = world.start(loops[1])
        await world.drained()
        await world.stop(loops[0], first)
        await world.stop(loops[1], second)

        assert tries == ["0000", "0000", "0001", "0002"]
        assert ended == ["0000"]
        assert world.texts() == ["0000", "0001", "0002"]

    simulate(scenario())


def test_acknowledgements_that_come_after_a_partition_has_gone_change_nothing() -> None:
    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(stop_timeout_seconds=1))
        slow = WatchedBus(world.broker, chance=world.chance, ack_seconds=(30, 30))
        remembered: list[str] = []

        def handler(name: str) -> Subscription:
            async def handle(note: Note, _record: Record) -> Effects:
                async def remember() -> None:
                    remembered.append(f"{name} {note.text}")

                return Effects(publish=(answer(note),), after_ack=remember)

            return Subscription(NOTES, handle)

        loops = [world.loop(handler("slow"), bus=slow), world.loop(handler("quick"))]
        first = world.start(loops[0])
        await world.write(*notes(2, keys=2))
        await asyncio.sleep(1)
        loops[0].request_stop()
        second = world.start(loops[1])
        await first
        await world.drained()
        await asyncio.sleep(60)
        await world.stop(loops[1], second)

        assert sorted(remembered) == ["quick 0000", "quick 0001"]
        assert world.committed() == [2]

    simulate(scenario())


def test_a_refused_commit_is_counted_and_harmless() -> None:
    """A member that was stopped beyond its session commits nothing, and what it had comes again."""

    async def scenario() -> None:
        world = World(partitions=1)
        refused: list[str] = []

        class Meter(NoConsumerMeter):
            def commit_failed(self, why: str) -> None:  # type: ignore[override]
                refused.append(why)

        async def handle(note: Note, _record: Record) -> Effects:
            await asyncio.sleep(10)
            return Effects(publish=(answer(note),))

        zombie_bus = WatchedBus(world.broker)
        zombie, other = (
            world.loop(Subscription(NOTES, handle), bus=zombie_bus, meter=Meter()),
            world.loop(Subscription(NOTES, handle)),
        )
        zombie_task = world.start(zombie)
        await world.write(*notes(1))
        await asyncio.sleep(5)
        zombie_bus.member.freeze()
        other_task = world.start(other)
        await world.until(lambda: other.assignment)
        await world.drained()
        zombie_bus.member.thaw()
        await asyncio.sleep(30)
        await world.stop(zombie, zombie_task)
        await world.stop(other, other_task)

        assert "not_owned" in refused
        assert world.committed() == [1]
        assert set(world.texts()) == {"0000"}

    simulate(scenario())


@pytest.mark.req("S1.3.9")
def test_a_loop_under_load_stops_in_order() -> None:
    """What was begun is finished and committed; what was not begun is left to the next one."""

    async def scenario() -> None:
        world = World(partitions=2, settings=ConsumerSettings(concurrency=4))
        handled: list[str] = []

        async def handle(note: Note, _record: Record) -> Effects:
            await asyncio.sleep(1)
            handled.append(note.text)
            return Effects(publish=(answer(note),))

        await world.write(*notes(100, keys=100))
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await asyncio.sleep(2.5)
        began = world.clock.monotonic()
        await world.stop(loop, task)
        took = world.clock.monotonic() - began
        members = dict(world.broker.group("readers").members)
        again = world.loop(Subscription(NOTES, handle))
        task = world.start(again)
        await world.drained()
        await world.stop(again, task)

        assert took <= 1.6
        assert members == {}
        assert sorted(handled) == sorted(world.texts()) == [f"{n:04}" for n in range(100)]

    simulate(scenario())


def test_stopping_takes_no_longer_than_its_timeout() -> None:
    async def scenario() -> None:
        world = World(
            partitions=1, settings=ConsumerSettings(stop_timeout_seconds=7, handler_timeout_seconds=1000)
        )

        async def handle(note: Note, _record: Record) -> Effects:
            await asyncio.sleep(1 if note.text == "0000" else 500)
            return Effects(publish=(answer(note),))

        await world.write(*notes(2, keys=2))
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await asyncio.sleep(0.5)
        began = world.clock.monotonic()
        await world.stop(loop, task)

        assert 7 <= world.clock.monotonic() - began < 8
        assert (world.texts(), world.committed()) == (["0000"], [1])

    simulate(scenario())


def test_long_handlers_do_not_cost_the_membership() -> None:
    """A handler takes three times the poll interval that the group bears; the loop polls meanwhile."""

    async def scenario() -> None:
        world = World(
            partitions=1,
            settings=ConsumerSettings(
                handler_timeout_seconds=10_000, buffer_messages=2, keepalive_seconds=30
            ),
        )
        starts: list[str] = []

        async def handle(note: Note, _record: Record) -> Effects:
            starts.append(note.text)
            await asyncio.sleep(1000)
            return NO_EFFECTS

        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.write(*notes(6, keys=1))
        await asyncio.sleep(1)
        generation = world.broker.group("readers").generation
        await world.until(lambda: world.lag() == 0, seconds=20_000, every=5)
        await world.stop(loop, task)

        assert starts == [f"{n:04}" for n in range(6)]
        assert world.broker.group("readers").generation == generation + 1  # the last one is its own leaving

    simulate(scenario())


class Shards:
    """Hooks that record their calls, and open a shard when they are allowed to."""

    def __init__(self, world: World) -> None:
        self.heard: list[str] = []
        self.ready = asyncio.Event()
        self.failures: list[Exception] = []
        self._world = world

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.heard.append(f"taken {sorted(shards)}")
        await self.ready.wait()

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        self.heard.append(f"lost {sorted(shards)} after {self._world.committed()}")


def test_a_shard_is_read_when_it_is_ready_and_closed_after_its_last_commit() -> None:
    async def scenario() -> None:
        world = World(partitions=2)
        shards = Shards(world)
        handled: list[str] = []

        async def handle(note: Note, _record: Record) -> Effects:
            handled.append(note.text)
            return NO_EFFECTS

        loop = world.loop(Subscription(NOTES, handle), sharded=True, shards=shards)
        task = world.start(loop)
        await world.write(*notes(10, keys=10))
        await asyncio.sleep(100)
        before = (list(handled), dict(loop.paused_reasons))
        shards.ready.set()
        await world.until(lambda: len(handled) == 10)
        await world.stop(loop, task)
        ends = [log.end for log in world.broker.topic("notes").partitions]

        assert before == ([], {"shards": "not ready yet: 0, 1"})
        assert shards.heard == ["taken [0]", "taken [1]", f"lost [0, 1] after {ends}"]

    simulate(scenario())


def test_each_shard_opens_by_itself() -> None:
    async def scenario() -> None:
        world = World(partitions=2)
        slow = asyncio.Event()

        class Slow(Shards):
            async def on_shards_taken(self, shards: frozenset[int]) -> None:
                if 1 in shards:
                    await slow.wait()

        async def handle(note: Note, record: Record) -> Effects:
            return Effects(publish=(answer(Note("k", str(record.partition))),))

        loop = world.loop(Subscription(NOTES, handle), sharded=True, shards=Slow(world))
        task = world.start(loop)
        await world.write(*notes(20, keys=20))
        await asyncio.sleep(100)
        early = set(world.texts())
        slow.set()
        await world.drained()
        await world.stop(loop, task)

        assert (early, set(world.texts())) == ({"0"}, {"0", "1"})

    simulate(scenario())


def test_opening_a_shard_is_tried_until_infrastructure_is_back() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        shards = Shards(world)
        shards.ready.set()
        shards.failures = [Unavailable("redis", "gone")] * 5

        async def handle(_note: Note, _record: Record) -> Effects:
            return NO_EFFECTS

        loop = world.loop(Subscription(NOTES, handle), sharded=True, shards=shards)
        task = world.start(loop)
        await world.write(*notes(3))
        await asyncio.sleep(1)
        during = loop.paused_reasons
        await world.drained()
        after = loop.paused_reasons
        await world.stop(loop, task)

        assert (during, after) == ({"shards": "shard 0 is not ready: redis is unavailable: gone"}, {})

    simulate(scenario())


def test_a_shard_is_closed_after_its_abandoned_handlers_have_ended() -> None:
    """Else a handler's last lines would run beside the next owner's first ones, without need."""

    async def scenario() -> None:
        world = World(partitions=1, settings=ConsumerSettings(stop_timeout_seconds=1))
        shards = Shards(world)
        shards.ready.set()

        async def handle(_note: Note, _record: Record) -> Effects:
            try:
                await asyncio.sleep(1000)
            finally:
                await asyncio.sleep(0.3)
                shards.heard.append("handler ended")
            return NO_EFFECTS

        loop = world.loop(Subscription(NOTES, handle), sharded=True, shards=shards)
        task = world.start(loop)
        await world.write(*notes(1))
        await asyncio.sleep(1)
        await world.stop(loop, task)

        assert shards.heard == ["taken [0]", "handler ended", "lost [0] after [0]"]

    simulate(scenario())


def test_a_shard_that_goes_while_it_opens_is_not_opened_further() -> None:
    async def scenario() -> None:
        world = World(partitions=2)
        shards = Shards(world)
        ended: list[int] = []

        class Endless(Shards):
            async def on_shards_taken(self, shards: frozenset[int]) -> None:
                try:
                    await asyncio.sleep(10_000)
                finally:
                    ended.extend(shards)

        async def handle(_note: Note, _record: Record) -> Effects:
            return NO_EFFECTS

        endless = Endless(world)
        first, second = (
            world.loop(Subscription(NOTES, handle), sharded=True, shards=each) for each in (endless, shards)
        )
        tasks = [world.start(first)]
        await asyncio.sleep(10)
        tasks.append(world.start(second))
        await world.until(lambda: len(second.assignment) == 1)
        await world.stop(first, tasks[0])
        await world.stop(second, tasks[1])

        assert sorted(ended[:2]) == [0, 1]
        assert endless.heard[0] == "lost [0, 1] after [0, 0]"

    simulate(scenario())


def test_a_fenced_shard_stands_still_until_the_group_takes_it_away() -> None:
    """Nothing of it is committed or given up; the other shard continues."""

    async def scenario() -> None:
        world = World(partitions=2)
        shards = Shards(world)
        shards.ready.set()

        async def handle(note: Note, record: Record) -> Effects:
            async def remember() -> None:
                if record.partition == 0:
                    raise ShardFenced(0)

            return Effects(publish=(answer(note),), after_ack=remember)

        loop = world.loop(Subscription(NOTES, handle), sharded=True, shards=shards)
        task = world.start(loop)
        await world.write(*notes(40, keys=40))
        await asyncio.sleep(20)
        ends = [log.end for log in world.broker.topic("notes").partitions]
        during = (world.committed(), world.letters(), set(loop.paused_reasons))
        world.broker.create_topic("other", 2)
        group = world.broker.group("readers")
        group._prepare()  # the rebalance that the fencing was the herald of
        await asyncio.sleep(2)
        heard = list(shards.heard)
        reasons = set(loop.paused_reasons)
        loop.request_stop()
        await task

        assert during == ([0, ends[1]], [], {"fenced"})
        assert heard[:3] == ["taken [0]", "taken [1]", f"lost [0, 1] after [0, {ends[1]}]"]
        assert reasons <= {"fenced"}

    simulate(scenario())


def test_a_shard_that_stays_fenced_ends_the_loop() -> None:
    """Another process took it outside of the group: only a new start can put that right."""

    async def scenario() -> None:
        world = World(partitions=1)

        async def handle(_note: Note, _record: Record) -> Effects:
            raise ShardFenced(0)

        loop = world.loop(Subscription(NOTES, handle), sharded=True)
        await world.write(*notes(3))
        with pytest.raises(ShardFenced, match="shard 0"):
            await loop.run()

        assert world.clock.monotonic() >= 45
        assert (world.committed(), world.letters()) == ([0], [])

    simulate(scenario())


def test_a_failing_hook_ends_the_loop() -> None:
    async def scenario() -> None:
        world = World(partitions=1)
        shards = Shards(world)
        shards.failures = [KeyError("bug")]

        async def handle(_note: Note, _record: Record) -> Effects:
            return NO_EFFECTS

        with pytest.raises(KeyError, match="bug"):
            await world.loop(Subscription(NOTES, handle), sharded=True, shards=shards).run()

        assert world.broker.group("readers").members == {}

    simulate(scenario())


@pytest.mark.fault("F8", part="in process")
def test_a_storm_of_rebalances_stops_no_progress() -> None:
    """Members come and go every few seconds for two minutes; everything is handled, order per key kept."""

    async def scenario() -> None:
        world = World(partitions=6, settings=ConsumerSettings(revoke_timeout_seconds=2))

        async def handle(note: Note, _record: Record) -> Effects:
            await asyncio.sleep(world.chance.uniform(0, 0.5))
            return Effects(publish=(answer(note),))

        stable = world.loop(Subscription(NOTES, handle))
        stable_task = world.start(stable)
        count = 0
        for _ in range(30):
            await world.write(*(Note(f"k{n % 12}", f"{n:04}") for n in range(count, count + 20)))
            count += 20
            visitor = world.loop(Subscription(NOTES, handle))
            visit = world.start(visitor)
            await asyncio.sleep(world.chance.uniform(1, 5))
            await world.stop(visitor, visit)
        await world.drained()
        await world.stop(stable, stable_task)

        assert set(world.texts()) == {f"{n:04}" for n in range(count)}
        assert len(world.texts()) <= count * 1.1
        assert world.letters() == []

    simulate(scenario())


def test_offsets_of_a_partition_are_its_own() -> None:
    async def scenario() -> None:
        world = World(partitions=3)

        async def handle(_note: Note, _record: Record) -> Effects:
            return NO_EFFECTS

        for partition, count in enumerate((5, 0, 2)):
            await world.write(*notes(count), partition=partition)
        loop = world.loop(Subscription(NOTES, handle))
        task = world.start(loop)
        await world.drained()
        assignment = loop.assignment
        await world.stop(loop, task)

        assert world.committed() == [5, 0, 2]
        assert assignment == {TopicPartition("notes", number) for number in range(3)}

    simulate(scenario())

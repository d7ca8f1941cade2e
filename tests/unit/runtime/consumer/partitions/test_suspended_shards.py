"""Shards over rebalances: what stays is suspended and resumed, what moves is closed."""

from __future__ import annotations

import asyncio

import pytest

from strider.messaging.effects import NO_EFFECTS, Effects, Subscription
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import simulate
from strider.messaging.ports import Record
from strider.runtime.consumer.spec import ConsumerSettings
from tests.unit.runtime.consumer.loop_harness import NOTES, Note, World, notes

pytestmark = pytest.mark.fault("B3")


class SuspendableShards:
    """Hooks that record their calls, and keep all shards but some."""

    def __init__(self, *, not_kept: frozenset[int] = frozenset()) -> None:
        self.calls: list[str] = []
        self.failures: list[Exception] = []
        self._not_kept = not_kept

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        self.calls.append(f"taken {sorted(shards)}")

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        self.calls.append(f"lost {sorted(shards)}")

    async def on_shards_suspended(self, shards: frozenset[int]) -> frozenset[int]:
        self.calls.append(f"suspended {sorted(shards)}")
        return shards - self._not_kept

    async def on_shards_resumed(self, shards: frozenset[int]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.calls.append(f"resumed {sorted(shards)}")


async def ignore(_note: Note, _record: Record) -> Effects:
    return NO_EFFECTS


def member(world: World, shards: SuspendableShards):
    return world.loop(Subscription(NOTES, ignore), sharded=True, shards=shards)


def test_a_rebalance_closes_only_the_shards_that_move() -> None:
    async def scenario() -> None:
        world = World(partitions=4)
        first, second = SuspendableShards(), SuspendableShards()
        one = member(world, first)
        running = world.start(one)
        await world.until(lambda: len(first.calls) == 4)
        first.calls.clear()
        other = member(world, second)
        beside = world.start(other)
        await world.until(lambda: len(second.calls) == 2 and len(first.calls) == 4)
        joined = list(first.calls)
        first.calls.clear()
        await world.stop(other, beside)
        await world.until(lambda: len(first.calls) == 5)
        await world.write(*notes(20, keys=20))
        await world.drained()
        await world.stop(one, running)

        assert joined == ["suspended [0, 1, 2, 3]", "lost [2, 3]", "resumed [0]", "resumed [1]"]
        assert first.calls == [
            "suspended [0, 1]", "resumed [0]", "resumed [1]", "taken [2]", "taken [3]", "lost [0, 1, 2, 3]",
        ]  # fmt: skip
        assert second.calls == ["taken [2]", "taken [3]", "lost [2, 3]"]

    simulate(scenario())


def test_a_shard_that_its_service_does_not_keep_is_taken_again() -> None:
    async def scenario() -> None:
        world = World(partitions=2)
        first = SuspendableShards(not_kept=frozenset({0}))
        one = member(world, first)
        running = world.start(one)
        await world.until(lambda: len(first.calls) == 2)
        first.calls.clear()
        other = member(world, SuspendableShards())
        beside = world.start(other)
        await world.until(lambda: len(first.calls) == 4)
        await world.stop(other, beside)
        await world.stop(one, running)

        assert first.calls[:4] == ["suspended [0, 1]", "lost [0]", "lost [1]", "taken [0]"]

    simulate(scenario())


def test_a_member_that_was_away_for_a_generation_takes_its_shards_again() -> None:
    """Another one may have owned and changed them meanwhile."""

    async def scenario() -> None:
        world = World(partitions=2)
        first, second = SuspendableShards(), SuspendableShards()
        one = member(world, first)
        running = world.start(one)
        await world.until(lambda: len(first.calls) == 2)
        first.calls.clear()
        consumer = one._consumer
        assert consumer is not None
        consumer.freeze()
        other = member(world, second)
        beside = world.start(other)
        await world.until(lambda: len(second.calls) == 2, seconds=1000)
        await world.stop(other, beside)
        consumer.thaw()
        await world.until(lambda: "taken [1]" in first.calls, seconds=1000)
        await world.stop(one, running)

        assert second.calls == ["taken [0]", "taken [1]", "lost [0, 1]"]
        assert [call for call in first.calls if call.startswith("resumed")] == []
        assert {"taken [0]", "taken [1]"} <= set(first.calls)

    simulate(scenario())


def test_resuming_is_tried_until_infrastructure_is_back() -> None:
    async def scenario() -> None:
        world = World(partitions=2)
        first = SuspendableShards()
        one = member(world, first)
        running = world.start(one)
        await world.until(lambda: len(first.calls) == 2)
        first.failures = [Unavailable("kafka", "gone")] * 3
        other = member(world, SuspendableShards())
        beside = world.start(other)
        await world.until(lambda: "resumed [0]" in first.calls)
        await world.stop(other, beside)
        await world.stop(one, running)

        assert first.failures == []
        assert first.calls.count("taken [0]") == 1

    simulate(scenario())


def test_shards_with_abandoned_messages_are_closed() -> None:
    """What a cancelled handler has left behind in memory is not to be relied on."""

    async def scenario() -> None:
        world = World(
            partitions=2, settings=ConsumerSettings(revoke_timeout_seconds=5, stop_timeout_seconds=5)
        )
        first = SuspendableShards()

        async def hang(_note: Note, _record: Record) -> Effects:
            await asyncio.sleep(10_000)
            return NO_EFFECTS

        one = world.loop(Subscription(NOTES, hang), sharded=True, shards=first)
        running = world.start(one)
        await world.write(*notes(4, keys=4))
        await world.until(lambda: one.running > 0)
        other = world.loop(Subscription(NOTES, hang), sharded=True, shards=SuspendableShards())
        beside = world.start(other)
        await world.until(lambda: any(call.startswith("lost") for call in first.calls), seconds=100)
        await world.stop(other, beside)
        await world.stop(one, running)

        assert [call for call in first.calls if call.startswith(("suspended", "resumed"))] == []

    simulate(scenario())

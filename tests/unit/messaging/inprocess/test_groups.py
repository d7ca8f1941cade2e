"""Who gets what in a group: even, sticky, never twice; and who is put out."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.messaging.errors import (
    InfrastructureError,
    OffsetMissing,
    PartitionNotOwned,
    StartRefused,
    Unavailable,
)
from strider.messaging.inprocess import (
    EventLoopClock,
    InProcessBroker,
    InProcessBus,
    InProcessConsumer,
    simulate,
)
from strider.messaging.inprocess.groups import assign_evenly
from strider.messaging.ports import GroupSpec, OutgoingMessage, TopicPartition

SPEC = GroupSpec("readers", ("notes",), session_timeout_seconds=10, max_poll_interval_seconds=60)


@given(
    st.integers(0, 40),
    st.lists(st.sets(st.sampled_from("abcdefg"), min_size=1), min_size=1, max_size=6),
)
def test_shares_are_even_and_moves_are_few(units: int, generations: list[set[str]]) -> None:
    """In every generation all is given once, shares differ by one at most, and only what must move moves."""
    previous: dict[int, str] = {}
    for members in generations:
        shares = assign_evenly(range(units), members=sorted(members), previous=previous)
        owners = {unit: member for member, share in shares.items() for unit in share}
        sizes = [len(share) for share in shares.values()]

        assert sorted(unit for share in shares.values() for unit in share) == list(range(units))
        assert max(sizes) - min(sizes) <= 1
        kept = sum(previous.get(unit) == owner for unit, owner in owners.items())
        base, larger = divmod(units, len(members))
        counts = sorted((list(previous.values()).count(member) for member in members), reverse=True)
        could_stay = sum(min(n, base + (rank < larger)) for rank, n in enumerate(counts))
        assert kept == could_stay
        previous = owners


def test_units_go_only_to_members_that_can_own_them() -> None:
    shares = assign_evenly(
        ["x1", "x2", "y1"],
        members=["a", "b"],
        previous={},
        can_own=lambda member, unit: unit[0] != "y" or member == "b",
    )

    assert shares == {"a": ["x1"], "b": ["x2", "y1"]}
    assert assign_evenly([1], members=[], previous={}) == {}
    assert assign_evenly([1], members=["a"], previous={}, can_own=lambda _member, _unit: False) == {"a": []}


class Listener:
    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self.heard.append(("revoked", len(partitions)))

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        self.heard.append(("assigned", len(partitions)))


class Members:
    """A broker with one topic, and members of a group on it."""

    def __init__(self, partitions: int = 4) -> None:
        self.clock = EventLoopClock()
        self.broker = InProcessBroker(clock=self.clock)
        self.broker.create_topic("notes", partitions)
        self.broker.start_group("readers", ["notes"])
        self.bus = InProcessBus(self.broker)
        self.listeners: list[Listener] = []

    async def join(self, spec: GroupSpec = SPEC) -> InProcessConsumer:
        self.listeners.append(Listener())
        return await self.bus.consumer(spec, self.listeners[-1])

    def write(self, count: int) -> None:
        for number in range(count):
            self.broker.append(OutgoingMessage("notes", None, str(number).encode()))


async def poll(*consumers: InProcessConsumer, seconds: float = 0.1, rounds: int = 4) -> list[list[bytes]]:
    """Let consumers poll side by side; what each one got."""
    got: list[list[bytes]] = [[] for _ in consumers]

    async def keep(index: int, consumer: InProcessConsumer) -> None:
        for _ in range(rounds):
            found = await consumer.poll(max_records=100, timeout_seconds=seconds)
            got[index] += [record.value or b"" for records in found.values() for record in records]

    await asyncio.gather(*(keep(index, consumer) for index, consumer in enumerate(consumers)))
    return got


def test_a_member_that_leaves_gives_its_share_back_at_once() -> None:
    async def scenario() -> None:
        world = Members()
        first, second = await world.join(), await world.join()
        await poll(first, second)
        shares = (len(first.assignment()), len(second.assignment()))
        await second.close()
        await poll(first)

        assert shares == (2, 2)
        assert len(first.assignment()) == 4
        assert world.listeners[0].heard[-2:] == [("revoked", 2), ("assigned", 4)]
        with pytest.raises(InfrastructureError, match="closed"):
            await second.poll(max_records=1, timeout_seconds=0)

    simulate(scenario())


def test_a_killed_member_is_put_out_after_its_session() -> None:
    async def scenario() -> None:
        world = Members()
        first, second = await world.join(), await world.join()
        await poll(first, second)
        killed_at = world.clock.monotonic()
        second.kill()
        while len(first.assignment()) < 4:
            await first.poll(max_records=1, timeout_seconds=0.5)

        assert 10 <= world.clock.monotonic() - killed_at <= 11
        with pytest.raises(PartitionNotOwned):
            await second.commit({TopicPartition("notes", 0): 1})

    simulate(scenario())


def test_a_member_that_stops_polling_is_put_out_and_comes_back() -> None:
    async def scenario() -> None:
        world = Members()
        busy, other = await world.join(), await world.join()
        await poll(busy, other)
        had = busy.assignment()
        began = world.clock.monotonic()
        while len(other.assignment()) < 4:
            await other.poll(max_records=1, timeout_seconds=5)
        took = world.clock.monotonic() - began
        with pytest.raises(PartitionNotOwned):
            await busy.commit(dict.fromkeys(had, 0))
        await poll(busy, other)

        assert 55 <= took <= 66
        assert (len(busy.assignment()), len(other.assignment())) == (2, 2)
        assert ("revoked", 2) in world.listeners[0].heard

    simulate(scenario())


def test_a_frozen_member_commits_nothing_when_it_thaws() -> None:
    async def scenario() -> None:
        world = Members(1)
        world.write(3)
        zombie, other = await world.join(), await world.join()
        await poll(zombie, other, rounds=1)
        zombie.freeze()
        commit = asyncio.create_task(zombie.commit({TopicPartition("notes", 0): 3}))
        while not other.assignment():
            await other.poll(max_records=100, timeout_seconds=5)
        stood_still = not commit.done()
        zombie.thaw()
        with pytest.raises(PartitionNotOwned):
            await commit

        assert stood_still
        assert world.broker.group("readers").committed == {TopicPartition("notes", 0): 0}

    simulate(scenario())


def test_what_was_not_committed_comes_again() -> None:
    async def scenario() -> None:
        world = Members(1)
        world.write(5)
        first = await world.join()
        (got,) = await poll(first, rounds=1)
        await first.commit({TopicPartition("notes", 0): 2})
        await first.close()
        (again,) = await poll(await world.join(), rounds=1)

        assert got == [b"0", b"1", b"2", b"3", b"4"]
        assert again == [b"2", b"3", b"4"]

    simulate(scenario())


def test_records_that_were_found_are_not_lost_to_another_partitions_error() -> None:
    """One partition has no offset: records of the other are returned before that is raised."""

    async def scenario() -> None:
        world = Members(2)
        world.write(4)
        del world.broker.group("readers").committed[TopicPartition("notes", 1)]
        consumer = await world.join()
        found = await consumer.poll(max_records=100, timeout_seconds=0)
        with pytest.raises(OffsetMissing):
            await consumer.poll(max_records=100, timeout_seconds=0)

        assert [record.value for record in found[TopicPartition("notes", 0)]] == [b"0", b"2"]

    simulate(scenario())


def test_shards_need_topics_of_one_partition_count() -> None:
    async def scenario() -> None:
        world = Members(4)
        world.broker.create_topic("other", 3)
        with pytest.raises(StartRefused, match="one partition count"):
            await world.bus.consumer(GroupSpec("readers", ("notes", "other"), sharded=True), Listener())

    simulate(scenario())


def test_a_topic_that_is_created_later_is_handed_out() -> None:
    async def scenario() -> None:
        world = Members(2)
        consumer = await world.join(GroupSpec("readers", ("notes", "later")))
        await poll(consumer, rounds=1)
        before = len(consumer.assignment())
        world.broker.create_topic("later", 3)
        world.broker.start_group("readers", ["later"])
        await poll(consumer, rounds=2)

        assert (before, len(consumer.assignment())) == (2, 5)

    simulate(scenario())


def test_a_topic_is_not_created_twice_with_another_count() -> None:
    async def scenario() -> None:
        world = Members(2)
        world.broker.create_topic("notes", 2)
        with pytest.raises(StartRefused, match="has 2 partitions, not 5"):
            world.broker.create_topic("notes", 5)

    simulate(scenario())


def test_a_broker_that_fails_refuses_everything_and_forgets_nothing() -> None:
    async def scenario() -> None:
        world = Members(1)
        world.write(2)
        consumer = await world.join()
        await poll(consumer, rounds=1)
        world.broker.set_unavailable("down")
        for call in (
            consumer.poll(max_records=1, timeout_seconds=0),
            consumer.commit({TopicPartition("notes", 0): 1}),
            consumer.end_offsets([TopicPartition("notes", 0)]),
            world.bus.ping(),
            world.bus.producer(),
            world.bus.take_shard("s", 0),
            world.bus.partition_count("notes"),
        ):
            with pytest.raises(Unavailable, match="down"):
                await call
        world.broker.set_available()
        await consumer.commit({TopicPartition("notes", 0): 1})

        assert world.broker.lag("readers") == {TopicPartition("notes", 0): 1}

    simulate(scenario())

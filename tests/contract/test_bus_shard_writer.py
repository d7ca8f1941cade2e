"""Sharded groups: one owner a shard, whatever the members read, however they come and go."""

from __future__ import annotations

import pytest

from strider.messaging.errors import StartRefused
from strider.messaging.ports import GroupSpec, TopicPartition

from .bus_environments import World
from .bus_members import Journal, Member, until_settled

SHARDS = 12
SESSION_SECONDS = 2.0


def spec(group: str, *topics: str) -> GroupSpec:
    return GroupSpec(group, topics, sharded=True, session_timeout_seconds=SESSION_SECONDS)


async def test_a_shard_brings_its_partition_of_every_topic(world: World) -> None:
    """State of a shard is fed by several topics: all of them must come to the same owner."""
    topics = [await world.create_topic(SHARDS) for _ in range(2)]
    group = world.unique("group")
    await world.start_group(group, topics)
    members = [Member("a"), Member("b")]
    for member in members:
        await member.join(world.bus(), spec(group, *topics))
    await until_settled(members, SHARDS)
    for member in members:
        assert member.owned == {TopicPartition(t, shard) for t in topics for shard in member.shards}
        await member.leave()


async def test_two_versions_share_the_shards_while_they_come_go_and_die(world: World) -> None:
    """A roll-out: the newer version reads one topic more. No shard ever has two owners, moves are minimal."""
    old_topics = [await world.create_topic(SHARDS) for _ in range(2)]
    new_topics = [*old_topics, await world.create_topic(SHARDS)]
    group, journal = world.unique("group"), Journal()
    await world.start_group(group, new_topics)
    members = {name: Member(name, journal) for name in ("old-1", "old-2", "new-1", "new-2")}

    async def join(name: str, *others: str) -> None:
        before = {other: members[other].shards for other in others}
        topics = new_topics if name.startswith("new") else old_topics
        await members[name].join(world.bus(), spec(group, *topics))
        await until_settled([members[name], *(members[other] for other in others)], SHARDS)
        # Who was there gives up what the newcomer gets, and gets nothing itself.
        assert all(members[other].shards <= before[other] for other in others)

    async def settle_without(gone: frozenset[int], *others: str) -> None:
        before = {other: members[other].shards for other in others}
        await until_settled([members[other] for other in others], SHARDS)
        # What was not orphaned stays where it was.
        assert all(before[other] <= members[other].shards for other in others)
        assert gone <= frozenset[int]().union(*(members[other].shards for other in others))

    await join("old-1")
    await join("old-2", "old-1")
    await join("new-1", "old-1", "old-2")
    gone = members["old-1"].shards
    await members["old-1"].kill(world)
    await settle_without(gone, "old-2", "new-1")
    await join("new-2", "old-2", "new-1")
    gone = members["old-2"].shards
    await members["old-2"].leave()
    await settle_without(gone, "new-1", "new-2")
    new = [members["new-1"], members["new-2"]]
    assert all({p.topic for p in member.owned} == set(new_topics) for member in new)
    assert journal.shared_shards() == []
    for member in new:
        await member.leave()


async def test_more_members_than_shards_leave_some_idle(world: World) -> None:
    topic, group = await world.create_topic(2), world.unique("group")
    await world.start_group(group, [topic])
    members = [Member(f"m{n}") for n in range(3)]
    for member in members:
        await member.join(world.bus(), spec(group, topic))
    await until_settled(members, 2)
    assert sorted(len(member.shards) for member in members) == [0, 1, 1]
    for member in members:
        await member.leave()


async def test_topics_of_different_partition_counts_are_refused(world: World) -> None:
    """Shard 5 would mean one host here and another one there."""
    topics = [await world.create_topic(4), await world.create_topic(6)]
    group = world.unique("group")
    await world.start_group(group, topics)

    async def start() -> None:
        member = Member("a")
        await member.join(world.bus(), spec(group, *topics))
        await until_settled([member], 4)

    with pytest.raises(StartRefused, match="partition count"):
        await start()


@pytest.mark.fault("B3")
async def test_partitions_are_kept_that_no_other_member_had_since_the_last_assignment(world: World) -> None:
    """What a rebalance leaves where it is need not be taken again; what was elsewhere meanwhile must."""
    topic = await world.create_topic(SHARDS)
    group = world.unique("group")
    await world.start_group(group, [topic])
    first, second = Member("first"), Member("second")
    await first.join(world.bus(), spec(group, topic))
    await until_settled([first], SHARDS)
    assert first.kept == frozenset()

    await second.join(world.bus(), spec(group, topic))
    await until_settled([first, second], SHARDS)
    assert first.kept == first.owned
    assert second.kept == frozenset()

    moved = second.owned
    await second.leave()
    await until_settled([first], SHARDS)
    assert first.kept == first.owned - moved
    await first.leave()

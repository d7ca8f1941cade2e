"""Groups: hand-out, commits, redelivery, positions, pauses, and what is gone or missing."""

from __future__ import annotations

import asyncio
import time

import pytest

from strider.messaging.errors import OffsetLost, OffsetMissing, PartitionNotOwned
from strider.messaging.ports import Bus, Consumer, GroupSpec, OutgoingMessage, TopicPartition

from .bus_environments import World, until
from .bus_members import Journal, Member, Silent, poll_quietly, read, until_settled, values

SESSION_SECONDS = 2.0


def spec(group: str, *topics: str) -> GroupSpec:
    return GroupSpec(group, topics, session_timeout_seconds=SESSION_SECONDS)


async def send(bus: Bus, topic: str, messages: list[bytes], *, partition: int = 0) -> None:
    producer = await bus.producer()
    sent = [await producer.send(OutgoingMessage(topic, b"k", m, partition=partition)) for m in messages]
    await asyncio.gather(*sent)
    await producer.close()


async def test_members_share_all_partitions_and_none_is_shared(world: World) -> None:
    topic, group, journal = await world.create_topic(6), world.unique("group"), Journal()
    await world.start_group(group, [topic])
    members = [Member(f"m{n}", journal) for n in range(3)]
    for member in members:
        await member.join(world.bus(), spec(group, topic))
    await until_settled(members, 6)
    assert journal.shared_shards() == []
    for member in members:
        await member.leave()


async def test_a_committed_message_does_not_come_again(world: World) -> None:
    topic, group = await world.create_topic(1), world.unique("group")
    await world.start_group(group, [topic])
    await send(world.bus(), topic, [b"0", b"1", b"2"])
    first = await world.bus().consumer(spec(group, topic), Silent())
    await read(first, 3)
    partition = TopicPartition(topic, 0)
    await first.commit({partition: 2})
    await first.close()
    second = await world.bus().consumer(spec(group, topic), Silent())
    assert values(await read(second, 1)) == [b"2"]
    assert await second.committed(partition) == 2


async def test_what_a_killed_member_did_not_commit_comes_again(world: World) -> None:
    """At-least-once: a crash repeats, it never loses."""
    topic, group = await world.create_topic(1), world.unique("group")
    await world.start_group(group, [topic])
    await send(world.bus(), topic, [b"0", b"1", b"2"])
    first = await world.bus().consumer(spec(group, topic), Silent())
    assert len(await read(first, 3)) == 3
    await first.commit({TopicPartition(topic, 0): 1})
    await world.kill(first)
    second = await world.bus().consumer(spec(group, topic), Silent())
    assert values(await read(second, 2)) == [b"1", b"2"]


async def test_a_commit_for_a_partition_that_moved_is_refused(world: World) -> None:
    """Else a slow member would set back, or jump ahead of, the current owner of the partition."""
    topic, group = await world.create_topic(2), world.unique("group")
    await world.start_group(group, [topic])
    first, second = Member("first"), Member("second")
    await first.join(world.bus(), spec(group, topic))
    await until_settled([first], 2)
    await second.join(world.bus(), spec(group, topic))
    await until_settled([first, second], 2)
    (moved,) = second.owned
    with pytest.raises(PartitionNotOwned):
        await first.consumer.commit({moved: 1})
    assert await second.consumer.committed(moved) == 0
    for member in (first, second):
        await member.leave()


async def test_a_commit_while_handing_back_still_counts(world: World) -> None:
    """That is what the hand-back waits for: work that was done is not done twice."""
    topic, group = await world.create_topic(2), world.unique("group")
    await world.start_group(group, [topic])
    await send(world.bus(), topic, [b"0"], partition=0)
    await send(world.bus(), topic, [b"0"], partition=1)
    first, second = Member("first"), Member("second")
    await first.join(world.bus(), spec(group, topic))

    async def has_read() -> bool:
        return len(first.records) == 2

    await until(has_read, what="the first member has read both messages")
    await second.join(world.bus(), spec(group, topic))
    await until_settled([first, second], 2)
    assert [await second.consumer.committed(TopicPartition(topic, n)) for n in (0, 1)] == [1, 1]
    assert second.records == []
    for member in (first, second):
        await member.leave()


async def test_without_a_committed_offset_nothing_is_read(world: World) -> None:
    """A group that begins somewhere by itself has skipped or repeated without telling anyone."""
    topic, group = await world.create_topic(1), world.unique("group")
    consumer = await world.bus().consumer(spec(group, topic), Silent())
    for _ in range(2):
        with pytest.raises(OffsetMissing) as raised:
            await read(consumer, 1)
        failure = raised.value
        assert (failure.group, failure.topic, failure.partition) == (group, topic, 0)


async def test_an_offset_that_retention_took_is_a_loss_with_its_range(world: World) -> None:
    topic, group = await world.create_topic(1), world.unique("group")
    await world.start_group(group, [topic])
    await send(world.bus(), topic, [b"%d" % n for n in range(10)])
    partition = TopicPartition(topic, 0)
    await world.trim(partition, 6)
    consumer = await world.bus().consumer(spec(group, topic), Silent())
    with pytest.raises(OffsetLost) as raised:
        await read(consumer, 1)
    failure = raised.value
    assert (failure.topic, failure.partition, failure.first, failure.resume_at) == (topic, 0, 0, 6)
    consumer.seek(partition, failure.resume_at)
    assert values(await read(consumer, 4)) == [b"6", b"7", b"8", b"9"]


async def test_a_paused_partition_delivers_nothing_until_it_is_resumed(world: World) -> None:
    topic, group = await world.create_topic(2), world.unique("group")
    await world.start_group(group, [topic])
    consumer = await world.bus().consumer(spec(group, topic), Silent())
    await poll_quietly(consumer, 1)
    await until(lambda: _owns(consumer, 2), what="both partitions are ours")
    consumer.pause([TopicPartition(topic, 0)])
    await send(world.bus(), topic, [b"a"], partition=0)
    await send(world.bus(), topic, [b"b"], partition=1)
    assert values(await read(consumer, 1)) == [b"b"]
    assert await poll_quietly(consumer) == []
    consumer.resume([TopicPartition(topic, 0)])
    assert values(await read(consumer, 1)) == [b"a"]


async def _owns(consumer, count: int) -> bool:
    await consumer.poll(max_records=1, timeout_seconds=0.1)
    return len(consumer.assignment()) == count


async def test_a_pause_drops_what_was_fetched_and_loses_nothing(world: World) -> None:
    """Records that the client had already fetched must come after the resume, in order."""
    topic, group = await world.create_topic(1), world.unique("group")
    await world.start_group(group, [topic])
    await send(world.bus(), topic, [b"%d" % n for n in range(100)])
    consumer = await world.bus().consumer(spec(group, topic), Silent())
    partition = TopicPartition(topic, 0)
    seen: list[bytes | None] = []
    while len(seen) < 100:
        found = await consumer.poll(max_records=7, timeout_seconds=0.5)
        seen += values(found.get(partition, ()))
        consumer.pause([partition])
        assert await consumer.poll(max_records=7, timeout_seconds=0.01) == {}
        consumer.resume([partition])
    assert seen == [b"%d" % n for n in range(100)]


async def test_a_rebalance_ends_pauses(world: World) -> None:
    """Who is given a partition starts afresh, also when it is the one that had it before."""
    topic, group = await world.create_topic(2), world.unique("group")
    await world.start_group(group, [topic])
    first, second = Member("first"), Member("second")
    await first.join(world.bus(), spec(group, topic))
    await until_settled([first], 2)
    first.consumer.pause(first.owned)
    await second.join(world.bus(), spec(group, topic))
    await until_settled([first, second], 2)
    (kept,) = first.owned
    await send(world.bus(), topic, [b"after"], partition=kept.partition)

    async def has_come() -> bool:
        return values(first.records) == [b"after"]

    await until(has_come, what="the partition that was paused before delivers")
    for member in (first, second):
        await member.leave()


async def test_reading_can_begin_again_at_an_offset_or_a_moment(world: World) -> None:
    """Replay: by offset, or from the first message at or after a moment."""
    topic = await world.create_topic(1)
    bus, partition = world.bus(), TopicPartition(topic, 0)
    await send(bus, topic, [b"0", b"1"])
    await asyncio.sleep(0.05)
    moment = round(time.time() * 1000)
    await send(bus, topic, [b"2", b"3"])
    reader = await bus.reader([partition])
    assert values(await read(reader, 4)) == [b"0", b"1", b"2", b"3"]
    reader.seek(partition, 1)
    assert await reader.position(partition) == 1
    assert values(await read(reader, 3)) == [b"1", b"2", b"3"]
    found = await reader.offsets_at({partition: moment})
    assert found == {partition: 2}
    reader.seek(partition, found[partition])
    assert values(await read(reader, 2)) == [b"2", b"3"]
    assert await reader.offsets_at({partition: moment + 3_600_000}) == {partition: 4}


async def test_lag_is_the_end_less_what_is_committed(world: World) -> None:
    topic, group = await world.create_topic(1), world.unique("group")
    await world.start_group(group, [topic])
    await send(world.bus(), topic, [b"%d" % n for n in range(5)])
    consumer = await world.bus().consumer(spec(group, topic), Silent())
    partition = TopicPartition(topic, 0)
    await read(consumer, 5)
    await consumer.commit({partition: 3})
    assert await consumer.begin_offsets([partition]) == {partition: 0}
    assert await consumer.end_offsets([partition]) == {partition: 5}
    assert (await consumer.committed(partition), await consumer.position(partition)) == (3, 5)


async def test_a_poll_brings_no_more_than_requested(world: World) -> None:
    topic = await world.create_topic(3)
    bus = world.bus()
    for number in range(3):
        await send(bus, topic, [b"x"] * 20, partition=number)
    reader = await bus.reader([TopicPartition(topic, number) for number in range(3)])
    seen = 0
    while seen < 60:
        found = await reader.poll(max_records=8, timeout_seconds=1)
        count = sum(map(len, found.values()))
        assert count <= 8
        seen += count


async def test_a_reader_commits_nothing(world: World) -> None:
    """A rebuild that moved a group's offsets would make the group skip."""
    topic = await world.create_topic(1)
    reader = await world.bus().reader([TopicPartition(topic, 0)])
    with pytest.raises(Exception, match="group"):
        await reader.commit({TopicPartition(topic, 0): 1})


async def test_what_is_not_ours_cannot_be_moved(world: World) -> None:
    topic = await world.create_topic(2)
    reader = await world.bus().reader([TopicPartition(topic, 0)])
    other = TopicPartition(topic, 1)
    with pytest.raises(PartitionNotOwned):
        reader.seek(other, 0)
    with pytest.raises(PartitionNotOwned):
        await reader.position(other)


async def test_a_member_that_still_waits_to_join_leaves_at_once(world: World) -> None:
    """A dead member holds every join up until its session ends; a stop must not wait for that."""
    topic, group = await world.create_topic(1), world.unique("group")
    await world.start_group(group, [topic])
    patient = GroupSpec(group, (topic,), session_timeout_seconds=30.0)
    first = await world.bus().consumer(patient, Silent())
    await until(lambda: _has_partitions(first), what="the first member has the partition")
    await world.kill(first)
    joining = asyncio.create_task(world.bus().consumer(patient, Silent()))
    await asyncio.wait([joining], timeout=1.0)

    began = time.monotonic()
    if not joining.done():
        joining.cancel()
        await asyncio.wait([joining])
    else:
        await joining.result().close()

    assert time.monotonic() - began < 10.0


async def _has_partitions(consumer: Consumer) -> bool:
    await consumer.poll(max_records=1, timeout_seconds=0.05)
    return bool(consumer.assignment())


async def test_an_observer_reads_committed_offsets_and_log_ends(world: World) -> None:
    """A program that follows messages through several services needs them without joining their groups."""
    topic, group = await world.create_topic(2), world.unique("group")
    onlooker = world.bus()
    await world.start_group(group, [topic])
    await send(world.bus(), topic, [b"0", b"1", b"2"])
    member = await world.bus().consumer(spec(group, topic), Silent())
    await read(member, 3)
    await member.commit({TopicPartition(topic, 0): 2})

    partitions = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    reader = await onlooker.reader(())
    assert await onlooker.committed(group) == dict(zip(partitions, (2, 0), strict=True))
    assert await reader.end_offsets(partitions) == dict(zip(partitions, (3, 0), strict=True))
    assert await onlooker.committed(world.unique("nobody")) == {}
    await member.close()

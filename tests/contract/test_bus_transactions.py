"""Shard topics: visible when committed, one writer a shard, a fenced one is never visible again."""

from __future__ import annotations

import asyncio

import pytest

from strider.messaging.errors import InfrastructureError, ShardFenced
from strider.messaging.ports import GroupSpec, RawRecord, TopicPartition

from .bus_environments import World, until
from .bus_members import Silent, poll_quietly, read, values

NEVER_SECONDS = 3600.0
"""An interval that no test waits for: only `flush` commits."""


async def test_nothing_is_visible_or_resolved_before_the_commit(world: World) -> None:
    topic, namespace = await world.create_topic(1), world.unique("shards")
    bus = world.bus()
    writer = await bus.take_shard(namespace, 0, commit_interval_seconds=NEVER_SECONDS)
    committed = asyncio.ensure_future(writer.append(topic, 0, RawRecord(b"k", b"v")))
    reader = await bus.reader([TopicPartition(topic, 0)])
    assert await poll_quietly(reader) == []
    assert not committed.done()
    await writer.flush()
    await committed
    assert values(await read(reader, 1)) == [b"v"]


async def test_a_group_is_committed_at_its_interval(world: World) -> None:
    """All at once, over several topics: what was appended meanwhile shares the cost of one commit."""
    topics = [await world.create_topic(1) for _ in range(2)]
    bus = world.bus()
    writer = await bus.take_shard(world.unique("shards"), 3, commit_interval_seconds=0.1)
    appended = [writer.append(topics[n % 2], 0, RawRecord(b"%d" % n, b"v")) for n in range(100)]
    await asyncio.gather(*appended)
    for number, topic in enumerate(topics):
        records = await read(await bus.reader([TopicPartition(topic, 0)]), 50)
        assert [record.key for record in records] == [b"%d" % n for n in range(number, 100, 2)]
    assert writer.shard == 3


async def test_taking_a_shard_fences_the_owner_before_for_good(world: World) -> None:
    topic, namespace = await world.create_topic(1), world.unique("shards")
    old = await world.bus().take_shard(namespace, 0, commit_interval_seconds=NEVER_SECONDS)
    old.append(topic, 0, RawRecord(b"k", b"old-committed"))
    await old.flush()
    zombie = old.append(topic, 0, RawRecord(b"k", b"old-open"))
    new = await world.bus().take_shard(namespace, 0, commit_interval_seconds=NEVER_SECONDS)
    assert new.epoch > old.epoch
    with pytest.raises(ShardFenced) as raised:
        await old.flush()
    assert raised.value.shard == 0
    with pytest.raises(ShardFenced):
        await zombie
    for _ in range(2):
        with pytest.raises(ShardFenced):
            await old.append(topic, 0, RawRecord(b"k", b"old-later"))
    new.append(topic, 0, RawRecord(b"k", b"new"))
    await new.flush()
    records = await read(await world.bus().reader([TopicPartition(topic, 0)]), 2)
    assert values(records) == [b"old-committed", b"new"]


async def test_epochs_of_a_shard_grow_and_shards_do_not_fence_each_other(world: World) -> None:
    topic, namespace = await world.create_topic(2), world.unique("shards")
    writers = [await world.bus().take_shard(namespace, shard) for shard in (0, 1, 0, 0)]
    assert writers[0].epoch < writers[2].epoch < writers[3].epoch
    for writer in (writers[1], writers[3]):
        appended = writer.append(topic, writer.shard, RawRecord(b"k", b"v"))
        await writer.flush()
        await appended


async def test_an_undisturbed_takeover_gets_the_next_epoch(world: World) -> None:
    """Then no other owner wrote in between, which spares a returning owner its rebuild."""
    namespace = world.unique("shards")
    first = await world.bus().take_shard(namespace, 0)
    await first.close()
    second = await world.bus().take_shard(namespace, 0)
    assert second.epoch == first.epoch + 1


async def test_closing_commits_what_is_open(world: World) -> None:
    topic, namespace = await world.create_topic(1), world.unique("shards")
    writer = await world.bus().take_shard(namespace, 0, commit_interval_seconds=NEVER_SECONDS)
    appended = writer.append(topic, 0, RawRecord(b"k", b"v"))
    await writer.close()
    await appended
    with pytest.raises(InfrastructureError, match="closed"):
        await writer.append(topic, 0, RawRecord(b"k", b"late"))
    assert values(await read(await world.bus().reader([TopicPartition(topic, 0)]), 1)) == [b"v"]


async def test_giving_up_on_one_append_leaves_the_others_waiting(world: World) -> None:
    """They share one commit, and a timeout of one of them must not cancel it."""
    topic, namespace = await world.create_topic(1), world.unique("shards")
    writer = await world.bus().take_shard(namespace, 0, commit_interval_seconds=NEVER_SECONDS)
    impatient = asyncio.ensure_future(writer.append(topic, 0, RawRecord(b"a", b"v")))
    patient = asyncio.ensure_future(writer.append(topic, 0, RawRecord(b"b", b"v")))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.sleep(0)
    await writer.flush()
    await patient
    assert impatient.cancelled()


async def test_open_and_aborted_records_are_invisible(world: World) -> None:
    """And what comes behind an open transaction waits for its end, so that order stays order."""
    topic = await world.create_topic(1)
    partition = TopicPartition(topic, 0)
    bus = world.bus()
    producer = await bus.producer()
    await asyncio.gather(*await producer.send_raw(topic, 0, [RawRecord(b"k", b"before")]))
    transaction = await world.open_transaction(partition, [RawRecord(b"k", b"aborted")])
    await asyncio.gather(*await producer.send_raw(topic, 0, [RawRecord(b"k", b"behind")]))
    reader = await bus.reader([partition])
    assert values(await read(reader, 1)) == [b"before"]
    assert await poll_quietly(reader) == []
    assert await reader.end_offsets([partition]) == {partition: 1}
    await transaction.abort()
    assert values(await read(reader, 1)) == [b"behind"]


@pytest.mark.fault("A17")
async def test_a_group_that_reads_everything_waits_for_no_transaction(world: World) -> None:
    """Its end is that of the log, and what was aborted stays read."""
    topic, group = await world.create_topic(1), world.unique("group")
    partition = TopicPartition(topic, 0)
    await world.start_group(group, [topic])
    transaction = await world.open_transaction(partition, [RawRecord(b"k", b"open")])
    bus = world.bus()
    producer = await bus.producer()
    await asyncio.gather(*await producer.send_raw(topic, 0, [RawRecord(b"k", b"behind")]))
    reader = await bus.consumer(GroupSpec(group, (topic,), read_committed=False), Silent())
    assert values(await read(reader, 2)) == [b"open", b"behind"]
    assert await reader.end_offsets([partition]) == {partition: 2}
    assert reader.held_by_transactions() == {}
    await transaction.abort()
    await asyncio.gather(*await producer.send_raw(topic, 0, [RawRecord(b"k", b"later")]))
    assert values(await read(reader, 1)) == [b"later"]


@pytest.mark.fault("A17")
async def test_a_reader_without_a_group_may_read_everything(world: World) -> None:
    """So does `strider topics tail` of a public topic."""
    topic = await world.create_topic(1)
    partition = TopicPartition(topic, 0)
    transaction = await world.open_transaction(partition, [RawRecord(b"k", b"open")])
    bus = world.bus()
    producer = await bus.producer()
    await asyncio.gather(*await producer.send_raw(topic, 0, [RawRecord(b"k", b"behind")]))
    reader = await bus.reader([partition], read_committed=False)

    assert values(await read(reader, 2)) == [b"open", b"behind"]
    assert await reader.end_offsets([partition]) == {partition: 2}
    await transaction.abort()


@pytest.mark.fault("A17")
async def test_a_reader_names_where_an_open_transaction_holds_it(world: World) -> None:
    topic = await world.create_topic(1)
    partition = TopicPartition(topic, 0)
    bus = world.bus()
    producer = await bus.producer()
    await asyncio.gather(*await producer.send_raw(topic, 0, [RawRecord(b"k", b"before")]))
    reader = await bus.reader([partition])
    assert values(await read(reader, 1)) == [b"before"]
    assert reader.held_by_transactions() == {}
    transaction = await world.open_transaction(partition, [RawRecord(b"k", b"open")])

    async def is_held() -> bool:
        assert await poll_quietly(reader) == []
        return reader.held_by_transactions() == {partition: 1}

    await until(is_held, what="the open transaction is noticed")
    await transaction.commit()
    assert values(await read(reader, 1)) == [b"open"]

    async def is_free() -> bool:
        await poll_quietly(reader)
        return reader.held_by_transactions() == {}

    await until(is_free, what="its end is noticed")


async def test_a_flush_with_nothing_open_is_no_work(world: World) -> None:
    writer = await world.bus().take_shard(world.unique("shards"), 0)
    await writer.flush()
    await writer.close()
    await writer.close()


async def test_a_record_over_the_limit_is_refused_and_spoils_no_group(world: World) -> None:
    topic = await world.create_topic(1)
    writer = await world.bus().take_shard(world.unique("shards"), 0)
    appended = writer.append(topic, 0, RawRecord(b"k", b"small"))
    with pytest.raises(Exception, match="limit"):
        writer.append(topic, 0, RawRecord(b"k", b"x" * 1_100_000))
    await writer.flush()
    await appended

"""Rebuilding a table from its compacted topic, whatever the log ends with."""

from __future__ import annotations

import asyncio

from strider.messaging.compacted_table import CompactedTableReader, TableReadProgress
from strider.messaging.ports import Bus, RawRecord, TopicPartition
from strider.runtime.clocks import SystemClock

from .bus_environments import COMPACTED, World


async def write(bus: Bus, partition: TopicPartition, *records: RawRecord) -> None:
    producer = await bus.producer()
    await asyncio.gather(*await producer.send_raw(*partition, records))
    await producer.close()


async def load(bus: Bus, *partitions: TopicPartition) -> dict[bytes, bytes]:
    return await CompactedTableReader(bus, clock=SystemClock()).load(partitions, key=bytes, value=bytes)


async def test_the_last_value_of_each_key_stays_and_tombstones_delete(world: World) -> None:
    partition = TopicPartition(await world.create_topic(1), 0)
    bus = world.bus()
    await write(
        bus,
        partition,
        RawRecord(b"a", b"1"),
        RawRecord(b"b", b"1"),
        RawRecord(b"a", b"2"),
        RawRecord(b"b", None),
        RawRecord(b"c", b"1"),
        RawRecord(b"never", None),
    )
    assert await load(bus, partition) == {b"a": b"2", b"c": b"1"}


async def test_empty_partitions_are_an_empty_table(world: World) -> None:
    """A reader that waits for a first record would wait for ever."""
    topic = await world.create_topic(3)
    bus = world.bus()
    assert await load(bus, *(TopicPartition(topic, n) for n in range(3))) == {}
    await write(bus, TopicPartition(topic, 1), RawRecord(b"k", b"v"))
    assert await load(bus, *(TopicPartition(topic, n) for n in range(3))) == {b"k": b"v"}


async def test_no_partitions_are_an_empty_table(world: World) -> None:
    assert await load(world.bus()) == {}


async def test_a_log_that_ends_in_a_commit_marker_is_read_to_its_end(world: World) -> None:
    """The marker has an offset of its own and is never delivered."""
    partition = TopicPartition(await world.create_topic(1), 0)
    bus = world.bus()
    writer = await bus.take_shard(world.unique("shards"), 0)
    writer.append(*partition, RawRecord(b"k", b"v"))
    await writer.flush()
    await writer.close()
    assert await load(bus, partition) == {b"k": b"v"}


async def test_a_log_that_ends_in_aborted_records_is_read_to_its_end(world: World) -> None:
    partition = TopicPartition(await world.create_topic(1), 0)
    bus = world.bus()
    await write(bus, partition, RawRecord(b"k", b"v"))
    transaction = await world.open_transaction(partition, [RawRecord(b"k", b"w")] * 10)
    await transaction.abort()
    assert await load(bus, partition) == {b"k": b"v"}


async def test_a_log_of_nothing_but_aborted_records_is_an_empty_table(world: World) -> None:
    partition = TopicPartition(await world.create_topic(1), 0)
    bus = world.bus()
    transaction = await world.open_transaction(partition, [RawRecord(b"k", b"w")] * 10)
    await transaction.abort()
    assert await load(bus, partition) == {}


async def test_an_open_transaction_is_not_waited_for(world: World) -> None:
    """Its owner may be dead; the committed end is where the table ends."""
    partition = TopicPartition(await world.create_topic(1), 0)
    bus = world.bus()
    await write(bus, partition, RawRecord(b"k", b"v"))
    transaction = await world.open_transaction(partition, [RawRecord(b"k", b"w")])
    assert await load(bus, partition) == {b"k": b"v"}
    await transaction.commit()
    assert await load(bus, partition) == {b"k": b"w"}


async def test_what_is_written_after_the_start_is_not_read(world: World) -> None:
    """Else a busy writer would keep a rebuild going for ever."""
    partition = TopicPartition(await world.create_topic(1), 0)
    bus = world.bus()
    await write(bus, partition, *(RawRecord(b"%d" % n, b"v" * 100) for n in range(5000)))
    producer = await bus.producer()
    seen: list[bytes | None] = []
    writing: list[asyncio.Task[None]] = []

    async def write_more() -> None:
        await asyncio.gather(*await producer.send_raw(*partition, [RawRecord(b"late", b"v")] * 100))

    def on_record(key: bytes | None, _value: bytes | None) -> None:
        seen.append(key)
        if not writing:
            writing.append(asyncio.ensure_future(write_more()))

    result = await CompactedTableReader(bus, clock=SystemClock()).read([partition], on_record)
    await asyncio.gather(*writing)
    assert seen == [b"%d" % n for n in range(5000)]
    assert (result.records, result.offset, result.end) == (5000, 5000, 5000)


async def test_progress_is_reported_and_ends_at_the_end(world: World) -> None:
    topic = await world.create_topic(2)
    partitions = [TopicPartition(topic, n) for n in range(2)]
    bus = world.bus()
    for partition in partitions:
        await write(bus, partition, *(RawRecord(b"%d" % n, b"v") for n in range(6000)))
    told: list[TableReadProgress] = []
    reader = CompactedTableReader(bus, clock=SystemClock(), on_progress=told.append)
    result = await reader.read(partitions, lambda _key, _value: None)
    assert told[-1] == result
    assert (result.records, result.offset, result.end) == (12000, 12000, 12000)
    assert [p.offset for p in told] == sorted(p.offset for p in told)
    assert len(told) > 1


async def test_compaction_changes_nothing_and_leaves_less_to_read(world: World) -> None:
    """Offsets have holes afterwards, also where deleted keys were the last that was written."""
    topic = await world.create_topic(2, **{k.replace(".", "_"): v for k, v in COMPACTED.items()})
    full, emptied = TopicPartition(topic, 0), TopicPartition(topic, 1)
    bus = world.bus()
    await write(bus, full, *(RawRecord(b"%d" % (n % 10), b"%d" % n) for n in range(3000)))
    await write(bus, emptied, *(RawRecord(b"%d" % n, b"v") for n in range(50)))
    await write(bus, emptied, *(RawRecord(b"%d" % n, None) for n in range(50)))

    async def is_compacted() -> bool:
        counts = {full: 0, emptied: 0}
        for partition in counts:
            result = await CompactedTableReader(bus, clock=SystemClock()).read(
                [partition], lambda _k, _v: None
            )
            counts[partition] = result.records
        return counts[full] < 300 and counts[emptied] < 50

    await world.compact(topic, is_compacted)
    table = await load(bus, full, emptied)
    table.pop(b"~", None)
    assert table == {b"%d" % n: b"%d" % (2990 + n) for n in range(10)}


async def test_a_log_that_is_cut_while_it_is_read_is_read_to_its_end(world: World) -> None:
    """What was cut off is no part of the table any more."""
    partition = TopicPartition(await world.create_topic(1), 0)
    bus = world.bus()
    await write(bus, partition, *(RawRecord(b"%d" % n, b"x" * 1000) for n in range(6000)))
    cutting: list[asyncio.Task[None]] = []

    def on_progress(progress: TableReadProgress) -> None:
        if not cutting and progress.offset:
            cutting.append(asyncio.ensure_future(world.trim(partition, 5900)))

    reader = CompactedTableReader(bus, clock=SystemClock(), on_progress=on_progress)
    keys: list[bytes | None] = []
    result = await reader.read([partition], lambda key, _value: keys.append(key))
    await asyncio.gather(*cutting)
    assert result.offset == result.end == 6000
    assert keys[-100:] == [b"%d" % n for n in range(5900, 6000)]


async def test_a_log_that_retention_has_emptied_is_an_empty_table(world: World) -> None:
    partition = TopicPartition(await world.create_topic(1), 0)
    bus = world.bus()
    await write(bus, partition, *(RawRecord(b"%d" % n, b"v") for n in range(10)))
    await world.trim(partition, 10)
    assert await load(bus, partition) == {}

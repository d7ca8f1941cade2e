"""Who has lost a shard writes nothing any more: frozen owners, unknown outcomes, renewed epochs."""

from __future__ import annotations

import asyncio
import itertools
import signal
import uuid
from collections import Counter
from functools import partial

import pytest
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.protocol.transaction import EndTxnRequest

from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.kafka.patches.internals import close_producer
from strider.messaging.kafka.shard_writer import KafkaShardWriter
from strider.messaging.kafka.transactions import NO_SESSION, open_session
from strider.messaging.ports import RawRecord, TopicPartition
from strider.runtime.clocks import SystemClock
from strider.testing.stack import RunningServer, start_kafka, temp_server_directory

from .conftest import create_topic
from .processes import Program, until

RECORDS = 20_000
INVALID_PRODUCER_ID_MAPPING = 49


async def visible(bus: KafkaBus, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    found: list[tuple[bytes | None, bytes | None]] = []
    reader = CompactedTableReader(bus, clock=SystemClock())
    await reader.read([TopicPartition(topic, 0)], lambda key, value: found.append((key, value)))
    return found


@pytest.mark.fault("F29")
async def test_an_owner_that_wakes_with_full_buffers_makes_nothing_visible(
    kafka_bootstrap: str, bus: KafkaBus
) -> None:
    """SIGSTOP beyond a take-over: the broker refuses everything that the owner still holds."""
    topic, namespace = await create_topic(kafka_bootstrap, 1), f"shards-{uuid.uuid4().hex[:8]}"
    arguments = (kafka_bootstrap, namespace, topic, str(RECORDS))
    owner = await Program.start("owner", "shard_owner.py", *arguments)
    try:
        await until(lambda: any(line.startswith("full") for line in owner.lines), what="buffers are full")
        epoch = int(owner.lines[0].split()[1])
        owner.send(signal.SIGSTOP)
        writer = await bus.take_shard(namespace, 0)
        assert writer.epoch > epoch
        await writer.append(topic, 0, RawRecord(b"k", b"new"))
        await owner.say("go on")
        owner.send(signal.SIGCONT)
        await until(lambda: len(owner.lines) >= 4, what="the old owner has heard its fate")
        await writer.append(topic, 0, RawRecord(b"k", b"newer"))
    finally:
        await owner.end()
    assert owner.lines[1:] == ["fenced", "ShardFenced", "ShardFenced('shard 0 has a newer owner')"]
    assert Counter(value for _, value in await visible(bus, topic)) == {b"owner": 1, b"new": 1, b"newer": 1}


async def test_an_old_session_cannot_be_renewed_and_disturbs_no_owner(kafka_bootstrap: str) -> None:
    """After a commit of unknown outcome a writer begins again, but never fences a newer owner."""
    settings = KafkaConnection((kafka_bootstrap,))
    name = f"shards-{uuid.uuid4().hex[:8]}-0"
    topic = await create_topic(kafka_bootstrap, 1)
    first, old = await open_session(settings, name, shard=0, held=NO_SESSION)
    again, renewed = await open_session(settings, name, shard=0, held=old)
    newer, newest = await open_session(settings, name, shard=0, held=NO_SESSION)
    assert old.epoch < renewed.epoch < newest.epoch
    for held in (old, renewed):
        with pytest.raises(ShardFenced):
            await open_session(settings, name, shard=0, held=held)
    await newer.begin_transaction()
    await newer.send_and_wait(topic, b"v", key=b"k", partition=0)
    await newer.commit_transaction()
    for producer in (first, again, newer):
        await close_producer(producer, within_seconds=0)


@pytest.mark.fault("F11", part="the broker is frozen during a transaction")
async def test_an_unknown_outcome_renews_the_epoch_and_tears_no_group(own_kafka: RunningServer) -> None:
    """The broker hangs in the middle of commits: groups are whole or absent, and writing continues."""
    bus = KafkaBus(KafkaConnection((own_kafka.address,), commit_timeout_seconds=2, close_timeout_seconds=5))
    topic = await create_topic(own_kafka.address, 1)
    epochs: list[int] = []
    writer = await bus.take_shard("shards", 0, commit_interval_seconds=0.01, on_epoch=epochs.append)
    first = writer.epoch
    acknowledged: list[int] = []
    failed: list[int] = []

    async def write() -> None:
        for group in itertools.count():
            for part in range(5):
                committed = writer.append(topic, 0, RawRecord(b"%d" % group, b"%d" % part))
            try:
                await writer.flush()
                await committed
            except Unavailable:
                failed.append(group)
                await asyncio.sleep(0.02)
            else:
                acknowledged.append(group)

    async def grows(what: list[int]) -> None:
        size = len(what)
        await until(lambda: len(what) > size, what="it goes on")

    writing = asyncio.create_task(write())
    for delay_seconds in (0, 0.002, 0.005, 0.01):  # wherever in a commit that is
        await grows(acknowledged)
        await asyncio.sleep(delay_seconds)
        own_kafka.freeze()
        await grows(failed)
        own_kafka.thaw()
    await grows(acknowledged)
    writing.cancel()
    await asyncio.wait([writing])
    await bus.close()
    bus = KafkaBus(KafkaConnection((own_kafka.address,)))
    found = Counter(key for key, _ in await visible(bus, topic))
    await bus.close()
    assert set(found.values()) == {5}
    assert {b"%d" % group for group in acknowledged} <= found.keys()
    assert (len(epochs) >= 4, epochs == sorted(epochs), epochs[0] > first) == (True, True, True)
    assert writer.epoch == epochs[-1]


@pytest.mark.fault("B8")
async def test_a_writer_whose_transactional_id_has_expired_begins_again() -> None:
    """Kafka forgets it after seven days without a transaction, here after a second: no newer owner."""
    expiry = {
        "transactional.id.expiration.ms": "1000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
    }
    with temp_server_directory() as directory:
        kafka = start_kafka(directory, extra=expiry)
        try:
            bus = KafkaBus(KafkaConnection((kafka.address,)))
            topic, epochs = await create_topic(kafka.address, 1), list[int]()
            writer = await bus.take_shard("shards", 0, commit_interval_seconds=0.01, on_epoch=epochs.append)
            first = writer.epoch
            await writer.append(topic, 0, RawRecord(b"1", b"before"))
            await until(partial(is_forgotten, writer), what="the transactional id has expired")

            async def is_written() -> bool:
                try:
                    await writer.append(topic, 0, RawRecord(b"2", b"after"))
                except Unavailable:
                    return False
                return True

            await until(is_written, what="a record after the quiet time")
            assert dict(await visible(bus, topic)) == {b"1": b"before", b"2": b"after"}
            assert epochs[-1] == writer.epoch > first
            await bus.close()
        finally:
            kafka.close()


async def is_forgotten(writer: KafkaShardWriter) -> bool:
    """Whether the coordinator knows the writer's id no more; the request changes nothing."""
    session, client = writer._session, writer._client.client
    node = await client.coordinator_lookup(CoordinationType.TRANSACTION, "shards-0")
    request = EndTxnRequest("shards-0", session.producer_id, session.producer_epoch, False)
    response = await client.send(node, request, group=ConnectionGroup.COORDINATION)
    return response.error_code == INVALID_PRODUCER_ID_MAPPING

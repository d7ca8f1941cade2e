"""Transactions whose end was requested twice, or arrives when its writer has given it up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from strider.messaging.errors import Unavailable
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import Consumer, RawRecord, TopicPartition
from strider.testing.faulty_tcp_proxy import FaultyTcpProxy, faulty_tcp_proxy
from tests.figures import record_figure

from .conftest import create_topic
from .processes import until

COMMITS = 6
RECORDS = 50
NEVER_SECONDS = 3600.0


@asynccontextmanager
async def connections_through_a_proxy(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FaultyTcpProxy]:
    """Lead the library's new connections through a proxy, whatever address the broker names for itself."""
    host, port = bootstrap.rsplit(":", 1)
    loop: Any = asyncio.get_running_loop()
    connect = loop.create_connection
    async with faulty_tcp_proxy(host, int(port)) as (wire, proxy_port):

        async def connect_through(new_protocol: Any, *place: Any, **more: Any) -> Any:
            is_client = type(new_protocol()).__name__ == "AIOKafkaProtocol"
            return await connect(new_protocol, *(("127.0.0.1", proxy_port) if is_client else place), **more)

        with monkeypatch.context() as patched:
            patched.setattr(loop, "create_connection", connect_through)
            yield wire


async def read_keys(reader: Consumer, keys: list[bytes | None]) -> None:
    for records in (await reader.poll(max_records=1000, timeout_seconds=0.2)).values():
        keys += [record.key for record in records]


@pytest.mark.fault("B9")
async def test_a_transaction_whose_end_is_requested_twice_is_neither_lost_nor_torn(
    kafka_bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader beside the proxy sees the commit while its answer is held; then the connection is cut."""
    topic = await create_topic(kafka_bootstrap, 2)
    partitions = [TopicPartition(topic, number) for number in (0, 1)]
    direct, bus = KafkaBus(KafkaConnection((kafka_bootstrap,))), KafkaBus(KafkaConnection((kafka_bootstrap,)))
    reader, keys, acknowledged = await direct.reader(partitions), list[bytes | None](), set[bytes]()
    await read_keys(reader, keys)
    async with connections_through_a_proxy(kafka_bootstrap, monkeypatch) as wire:
        writer = await bus.take_shard(f"shards-{topic}", 0, commit_interval_seconds=NEVER_SECONDS)
        for number in range(COMMITS):
            group = [b"%d-%d" % (number, each) for each in range(RECORDS)]
            appended = [writer.append(topic, n % 2, RawRecord(key, b"v")) for n, key in enumerate(group)]
            commit = writer._client.commit_transaction

            async def commit_unanswered(commit: Any = commit) -> None:
                wire.hold()
                await commit()

            monkeypatch.setattr(writer._client, "commit_transaction", commit_unanswered)
            flushed = asyncio.ensure_future(writer.flush())

            async def is_committed(group: list[bytes] = group) -> bool:
                await read_keys(reader, keys)
                return {*group} <= {*keys}

            await until(is_committed, what="the broker has committed, and its answer is held")
            wire.cut()
            wire.release()
            monkeypatch.setattr(writer._client, "commit_transaction", commit)
            await asyncio.gather(flushed, return_exceptions=True)
            results = await asyncio.gather(*appended, return_exceptions=True)
            assert {type(each) for each in results} <= {type(None), Unavailable}
            assert len({type(each) for each in results}) == 1, "a group is acknowledged as a whole"
            acknowledged.update(key for key, each in zip(group, results, strict=True) if each is None)
        await writer.close()
    await read_keys(reader, keys)
    await direct.close()
    await bus.close()

    record_figure(f"lost answers to EndTxn: {COMMITS} of {COMMITS}, {len(acknowledged)} records acknowledged")
    assert acknowledged <= set(keys)
    assert sorted(keys, key=str) == sorted(
        (b"%d-%d" % (number, each) for number in range(COMMITS) for each in range(RECORDS)), key=str
    )


@pytest.mark.fault("F11", part="the end of a transaction is delayed beyond its timeout")
async def test_a_commit_that_arrives_late_brings_nothing_back(
    kafka_bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer has reported the group as lost and continues with the next; the old commit comes then."""
    topic = await create_topic(kafka_bootstrap, 2)
    direct = KafkaBus(KafkaConnection((kafka_bootstrap,)))
    bus = KafkaBus(
        KafkaConnection((kafka_bootstrap,), commit_timeout_seconds=2, transaction_timeout_seconds=4)
    )
    reader = await direct.reader([TopicPartition(topic, number) for number in (0, 1)])
    keys: list[bytes | None] = []
    async with connections_through_a_proxy(kafka_bootstrap, monkeypatch) as wire:
        writer = await bus.take_shard(f"shards-{topic}", 0, commit_interval_seconds=NEVER_SECONDS)
        first_epoch = writer.epoch
        late = [writer.append(topic, each % 2, RawRecord(b"late-%d" % each, b"v")) for each in range(RECORDS)]
        commit = writer._client.commit_transaction

        async def commit_late() -> None:
            wire.hold_requests()
            await commit()

        monkeypatch.setattr(writer._client, "commit_transaction", commit_late)
        await asyncio.gather(writer.flush(), return_exceptions=True)
        results = await asyncio.gather(*late, return_exceptions=True)
        assert {type(each) for each in results} == {Unavailable}
        assert wire.request_held.is_set()

        async def writes_on() -> bool:
            kept = writer.append(topic, 0, RawRecord(b"kept", b"v"))
            await asyncio.gather(writer.flush(), return_exceptions=True)
            return not isinstance((await asyncio.gather(kept, return_exceptions=True))[0], Unavailable)

        await until(writes_on, what="the writer continues in another epoch")
        assert writer.epoch > first_epoch
        wire.release()
        assert await writes_on()
        await writer.close()
    await read_keys(reader, keys)
    await direct.close()
    await bus.close()

    assert set(keys) == {b"kept"}

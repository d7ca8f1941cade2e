"""Attacks by the protocol of Kafka instead of by seeds hold no seeds of other senders."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from strider.contracts.generated.topics import SEEDS_SUBMITTED
from tests.integration.messaging.strangers.forged_batches import (
    forged_batch,
    record,
    send_forged,
    with_gzip_tail,
)

from .neighbours import Stage

pytestmark = pytest.mark.timeout(600)

MANY_RECORDS = 20_000


@pytest.fixture
async def stranger(stage: Stage) -> AsyncIterator[Any]:
    client: Any = AIOKafkaProducer(
        bootstrap_servers=stage.ring.servers.kafka.address, enable_idempotence=False, request_timeout_ms=5000
    )
    await client.start()
    yield client
    await client.stop()


async def send_refused_seeds(client: Any, attack: str) -> list[str]:
    """Send a seed that is refused to each partition; return their URLs."""
    urls = []
    for partition in sorted(await client.partitions_for(SEEDS_SUBMITTED.name)):
        urls.append(f"http://127.0.0.1:9/{attack}/{partition}")
        value = json.dumps({"url": urls[-1], "delay": 86_400}).encode()
        await client.send_and_wait(SEEDS_SUBMITTED.name, value, partition=partition)
    return urls


@pytest.mark.fault("A16")
@pytest.mark.parametrize(
    ("attack", "content"),
    [
        ("gzip-tail", with_gzip_tail(record(b'{"url": "http://127.0.0.1:9/"}'))),
        ("wrong-offset", forged_batch(record(b"{}", delta=2**31 - 1))),
        (
            "many-records",
            forged_batch(
                gzip.compress(b"".join(record(b"x", delta=delta) for delta in range(MANY_RECORDS))),
                count=MANY_RECORDS,
                codec=1,
            ),
        ),
    ],
)
async def test_batches_that_cannot_be_read_hold_no_seeds(
    stage: Stage, stranger: Any, attack: str, content: bytes
) -> None:
    """One for each partition; the broker takes them, and seeds behind them are handled as ever."""
    async with stage.unharmed_neighbours(f"A16 {attack}"):
        for partition in await stranger.partitions_for(SEEDS_SUBMITTED.name):
            sent = await send_forged(stranger, SEEDS_SUBMITTED.name, content, partition=partition)
            assert sent is not None, "the broker takes it"
        for url in await send_refused_seeds(stranger, attack):
            await stage.until_refused(url, field="delay")

"""Attacks by the protocol of Kafka instead of by seeds hold no seeds of other senders."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

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


GZIP_TAIL = with_gzip_tail(record(b'{"url": "http://127.0.0.1:9/"}'))


async def send_unreadable_batches(stranger: Any, attack: str, content: bytes) -> list[str]:
    """Send one to each partition; the broker takes them. Return the URLs of refused seeds behind them."""
    for partition in await stranger.partitions_for(SEEDS_SUBMITTED.name):
        sent = await send_forged(stranger, SEEDS_SUBMITTED.name, content, partition=partition)
        assert sent is not None, "the broker takes it"
    return await send_refused_seeds(stranger, attack)


@pytest.mark.slow
@pytest.mark.fault("A16")
@pytest.mark.parametrize(
    ("attack", "content"),
    [
        pytest.param("wrong-offset", forged_batch(record(b"{}", delta=2**31 - 1)), id="wrong-offset"),
        pytest.param(
            "many-records",
            forged_batch(
                gzip.compress(b"".join(record(b"x", delta=delta) for delta in range(MANY_RECORDS))),
                count=MANY_RECORDS,
                codec=1,
            ),
            id="many-records",
        ),
    ],
)
async def test_batches_that_cannot_be_read_hold_no_seeds(
    stage: Stage, stranger: Any, attack: str, content: bytes
) -> None:
    """Seeds behind them are handled as ever."""
    async with stage.unharmed_neighbours(f"A16 {attack}"):
        for url in await send_unreadable_batches(stranger, attack, content):
            await stage.until_refused(url, field="delay")


@pytest.mark.fault("A16", "A17")
async def test_unreadable_batches_and_a_transaction_that_is_left_open_hold_no_seeds(
    stage: Stage, stranger: Any
) -> None:
    """It begins in each partition, with a good seed, and is never ended; the broker aborts it."""
    owner_of_transaction: Any = AIOKafkaProducer(
        bootstrap_servers=stage.ring.servers.kafka.address,
        transactional_id="stranger",
        transaction_timeout_ms=60_000,
    )
    await owner_of_transaction.start()
    try:
        async with stage.unharmed_neighbours("A16 A17 batches and transaction"):
            for url in await send_unreadable_batches(stranger, "gzip-tail", GZIP_TAIL):
                await stage.until_refused(url, field="delay")
            await owner_of_transaction.begin_transaction()
            within = await send_refused_seeds(owner_of_transaction, "within")
            behind = [f"http://127.0.0.1:9/behind/{number}" for number in range(2 * len(within))]
            stage.send_all([{"url": url, "delay": 86_400} for url in behind])
            for url in (*behind, *within):
                await stage.until_refused(url, field="delay")
    finally:
        await owner_of_transaction.stop()


@pytest.mark.fault("A17")
async def test_the_broker_of_the_stack_takes_no_longer_transactions(stage: Stage) -> None:
    """Fifteen minutes are the default; no reader of a topic without permissions is held longer than one."""
    stranger: Any = AIOKafkaProducer(
        bootstrap_servers=stage.ring.servers.kafka.address,
        transactional_id="patient",
        transaction_timeout_ms=60_001,
    )
    with pytest.raises(KafkaError, match="InvalidTransactionTimeout"):
        await stranger.start()
    await stranger.stop()

"""Requests for the ends of a log, of a client that waits for new records of the same broker."""

from __future__ import annotations

import asyncio

from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from tests.integration.messaging.conftest import create_topic

WAIT_SECONDS = 20.0
"""Of one poll. Fetches of it follow each other, and the broker holds each of them for half a second."""
LOOKUPS = 60
"""Behind those fetches, all of these would take half as long again as the poll."""


async def test_the_ends_of_a_log_are_known_while_a_fetch_waits(kafka_bootstrap: str) -> None:
    """A shard is taken over, and a run ended, by several such requests for logs without a new record."""
    partition = TopicPartition(await create_topic(kafka_bootstrap, 1), 0)
    bus = KafkaBus(KafkaConnection((kafka_bootstrap,)))
    reader = await bus.reader([partition])
    waiting = asyncio.create_task(reader.poll(max_records=1, timeout_seconds=WAIT_SECONDS))
    for _ in range(LOOKUPS):
        assert await reader.end_offsets([partition]) == {partition: 0}

    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await bus.close()

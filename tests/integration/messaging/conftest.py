"""What the runtime's integration tests share: topics on the session's broker, and a broker to break."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.structs import TopicPartition as LibraryPartition

from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.testing.stack import RunningServer, start_kafka, temp_server_directory

CreateTopic = Callable[..., Awaitable[str]]


async def create_topic(bootstrap: str, partitions: int, **config: str) -> str:
    name = f"topic-{uuid.uuid4().hex[:10]}"
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=settings)])
    finally:
        await admin.close()
    return name


async def start_group(bootstrap: str, group: str, topics: list[str], partitions: int) -> None:
    names = [LibraryPartition(topic, number) for topic in topics for number in range(partitions)]
    client = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    client.assign(names)
    await client.start()
    try:
        await client.commit(dict.fromkeys(names, 0))
    finally:
        await client.stop()


@pytest.fixture
async def bus(kafka_bootstrap: str) -> AsyncIterator[KafkaBus]:
    made = KafkaBus(KafkaConnection((kafka_bootstrap,)))
    yield made
    await made.close()


@pytest.fixture
def own_kafka() -> Iterator[RunningServer]:
    """Start a broker that this test may kill: no other test uses it."""
    with temp_server_directory() as directory:
        running = start_kafka(directory)
        try:
            yield running
        finally:
            running.close()

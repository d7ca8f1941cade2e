"""A broker for the fault tests alone, and the scene on it.

The example pair's topics and groups have fixed names, tests here kill the broker and take records
away from it: so it is not the session's, which others use. Tests share it one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from strider.contracts import TOPICS
from strider.contracts.generated.topics import SCHEMAS
from strider.messaging.kafka import KafkaConnection
from strider.messaging.topics import apply_topics
from strider.testing.stack import RunningServer, start_kafka, temp_server_directory
from tests.processes.broker import Broker
from tests.processes.services import Yard

from .scene import LONG, SHORT, Scale, Scene

SHARDS = 12
EXAMPLE_TOPICS = [topic for topic in TOPICS.values() if topic.profile == "example"]


@pytest.fixture(scope="package")
def broker_part() -> Iterator[RunningServer]:
    with temp_server_directory() as directory:
        running = start_kafka(directory)
        try:
            connection = KafkaConnection((running.address,))
            asyncio.run(apply_topics(connection, [*EXAMPLE_TOPICS, SCHEMAS], shards=SHARDS))
            yield running
        finally:
            running.close()


@pytest.fixture
async def scene(broker_part: RunningServer, tmp_path: Path) -> AsyncIterator[Scene]:
    await asyncio.to_thread(broker_part.start)  # the test before may have failed while it was down
    yard = Yard(broker_part.address, tmp_path, shards=SHARDS)
    broker = Broker(broker_part.address, shards=SHARDS)
    try:
        await broker.open(*EXAMPLE_TOPICS)
        yield await Scene.open(broker_part, broker, yard)
    finally:
        await broker.close()
        await asyncio.to_thread(yard.close)


@pytest.fixture(
    params=[
        pytest.param(SHORT, id="short", marks=pytest.mark.timeout(300)),
        pytest.param(LONG, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ]
)
def scale(request: pytest.FixtureRequest) -> Scale:
    return request.param

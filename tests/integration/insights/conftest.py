"""A broker with the topics of insights, and the service as a process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from strider.contracts.generated.topics import FETCHES_COMPLETED, PAGES_SETTLED, SCHEMAS
from strider.messaging.kafka import KafkaConnection
from strider.messaging.topics import apply_topics
from strider.testing.stack import RunningServer, start_kafka
from strider.testing.temp_dirs import temp_server_directory
from tests.processes.services import Yard

SHARDS = 4


@pytest.fixture(scope="package")
def broker() -> Iterator[RunningServer]:
    """A broker of its own: group and changelog have fixed names, and a test stops the broker."""
    with temp_server_directory() as directory:
        running = start_kafka(directory)
        try:
            connection = KafkaConnection((running.address,))
            asyncio.run(apply_topics(connection, [FETCHES_COMPLETED, PAGES_SETTLED, SCHEMAS], shards=SHARDS))
            yield running
        finally:
            running.close()


@pytest.fixture
def yard(broker: RunningServer, tmp_path: Path) -> Iterator[Yard]:
    started = Yard(broker.address, tmp_path, shards=SHARDS)
    yield started
    started.close()

"""A broker of these tests' own, with the registry's real topics: other tests use those names differently."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from strider.messaging.kafka import KafkaConnection
from strider.messaging.topics import apply_topics, select_topics
from strider.testing.stack import start_kafka, temp_server_directory

from .service import SHARDS, Service


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker for a module, with all topics and the first offsets of all groups."""
    with temp_server_directory() as directory:
        running = start_kafka(directory)
        try:
            connection = KafkaConnection((running.address,))
            asyncio.run(apply_topics(connection, select_topics(examples=False), shards=SHARDS))
            yield running.address
        finally:
            running.close()


@pytest.fixture
def service(bootstrap: str, redis_url: str, tmp_path: Path) -> Iterator[Service]:
    """One process of the service."""
    running = Service(bootstrap, redis_url, tmp_path / "link-ingestion.log")
    try:
        yield running
    finally:
        running.close()

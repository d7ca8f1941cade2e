"""A broker of these tests' own: they apply the registry's real names, which others use differently."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts import Topic
from strider.contracts.generated.topics import ECHO_REQUESTS, ECHOES, TALLIES
from strider.messaging.kafka import KafkaConnection
from strider.testing.stack import start_kafka, temp_server_directory


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """An empty broker for a module."""
    with temp_server_directory() as directory:
        running = start_kafka(directory)
        try:
            yield running.address
        finally:
            running.close()


@pytest.fixture
def connection(bootstrap: str) -> KafkaConnection:
    return KafkaConnection((bootstrap,), request_timeout_seconds=15)


@pytest.fixture
def topics() -> tuple[Topic[Any], ...]:
    """The example topics under names of this test's own, groups included."""
    mark = uuid.uuid4().hex[:8]
    return tuple(
        replace(
            topic,
            name=f"{topic.name}-{mark}",
            read_by=tuple(
                replace(reader, group=reader.group and f"{reader.group}-{mark}") for reader in topic.read_by
            ),
        )
        for topic in (ECHO_REQUESTS, ECHOES, TALLIES)
    )

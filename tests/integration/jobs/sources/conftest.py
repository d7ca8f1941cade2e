"""A broker with the topic of sources, for each test one that has no record yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SourceSaved
from strider.contracts.generated.topics import SCHEMAS, SOURCES
from strider.jobs.sources.publication import SourcePublication
from strider.jobs.sources.store import PostgresSourceStore
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import Bus, TopicPartition
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher
from strider.storage.postgres import Postgres

CODEC = Codec(SchemaStore.bundled())


@dataclass
class Publishing:
    """The record of a database, and its publication on a bus."""

    store: PostgresSourceStore
    bus: Bus
    publisher: EventPublisher = field(init=False)
    publication: SourcePublication = field(init=False)

    def __post_init__(self) -> None:
        clock = SystemClock()
        self.publisher = EventPublisher(self.bus, CODEC, service="api", shards=1, clock=clock)
        self.publication = SourcePublication(self.store, self.publisher, self.bus, CODEC, clock=clock)

    async def published(self) -> dict[str, SourceSaved]:
        """Return what a reader of the whole topic has, by id."""
        reader = CompactedTableReader(self.bus, clock=SystemClock())
        table = await reader.load([TopicPartition(SOURCES.name, 0)], key=bytes, value=bytes)
        return {key.decode(): CODEC.decode(SOURCES, value) for key, value in table.items()}


@pytest.fixture
def broker() -> InProcessBroker:
    made = InProcessBroker(clock=SystemClock())
    for topic in (SOURCES, SCHEMAS):
        made.declare_topic(topic, shards=1)
    return made


@pytest.fixture
async def publishing(broker: InProcessBroker, postgres: Postgres) -> AsyncIterator[Publishing]:
    made = Publishing(PostgresSourceStore(postgres), InProcessBus(broker))
    yield made
    await made.publisher.close()

"""insights on a real broker: counting, restoring the table, losses, shutdown."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import FETCHES_COMPLETED, PAGES_SETTLED
from strider.insights import log_events
from strider.insights.adapters.application import APPLICATION_NAME
from strider.insights.adapters.host_table import CHANGELOG_TOPIC
from strider.messaging.compacted_table import CompactedTableReader
from strider.messaging.effects import Publish
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import TopicPartition
from strider.messaging.topics.admin import TopicAdmin
from strider.runtime.clocks import SystemClock
from strider.runtime.observability import log_events as runtime_events
from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.publishing.publisher import EventPublisher
from strider.testing.stack import RunningServer
from tests.integration.messaging.batch_bombs import bomb, send_batch
from tests.processes.services import GRACE_SECONDS, Service, Yard
from tests.processes.waiting import until
from tests.unit.insights.events import a_fetch, a_settlement

from .conftest import SHARDS

INSIGHTS = ("-m", "strider.insights")
CODEC = Codec(SchemaStore.bundled())

pytestmark = pytest.mark.timeout(180)


class Ring:
    """Publishes the events that insights consumes, and reads its state from the broker."""

    def __init__(self, address: str) -> None:
        self._connection = KafkaConnection((address,))
        self._admin = AdminClient({"bootstrap.servers": address})
        self._bus = KafkaBus(self._connection)
        self._speaker = EventPublisher(
            self._bus, CODEC, service="fetcher", shards=SHARDS, clock=SystemClock()
        )

    async def fetch(self, host: str, *, times: int = 1, **changes: Any) -> None:
        await self._speaker.publish([Publish(FETCHES_COMPLETED, a_fetch(group=host, **changes))] * times)

    async def burst(self, host: str, *, hosts: int, outcome: str) -> None:
        """Publish one outcome of each of so many hosts."""
        names = [f"{number}.{host}" for number in range(hosts)]
        await self._speaker.publish(
            [Publish(FETCHES_COMPLETED, a_fetch(group=name, outcome=outcome)) for name in names]
        )

    async def settle(self, host: str) -> None:
        await self._speaker.publish([Publish(PAGES_SETTLED, a_settlement(group=host))])

    async def table(self) -> dict[str, dict[str, int]]:
        """Return the totals of each host that were written last to the changelog."""
        places = [TopicPartition(CHANGELOG_TOPIC, number) for number in range(SHARDS)]
        found = await CompactedTableReader(self._bus, clock=SystemClock()).load(
            places, key=json.loads, value=json.loads
        )
        return {host: counts["total"] for host, counts in found.items()}

    async def waiting(self) -> int:
        """Return the lag behind the group's committed offsets."""
        places = [TopicPartition(FETCHES_COMPLETED.name, number) for number in range(SHARDS)]
        async with TopicAdmin.open(self._connection) as broker:
            committed = await broker.committed(APPLICATION_NAME)
        reader = await self._bus.reader(places)
        ends = await reader.end_offsets(places)
        await reader.close()
        return sum(ends[place] - committed[place] for place in places)

    async def cut(self) -> None:
        """Delete all records of the topic, as retention does."""
        places = [Place(FETCHES_COMPLETED.name, number, -1) for number in range(SHARDS)]
        for cut in self._admin.delete_records(places).values():
            await asyncio.wrap_future(cut)

    async def wipe(self) -> None:
        """Delete the changelog topic, and wait until it is gone."""
        await asyncio.wrap_future(self._admin.delete_topics([CHANGELOG_TOPIC])[CHANGELOG_TOPIC])

        async def is_gone() -> bool:
            return await self._bus.partition_count(CHANGELOG_TOPIC) is None

        await until(is_gone, what="the table's log is gone")

    async def close(self) -> None:
        await self._speaker.close()
        await self._bus.close()


@pytest.fixture
async def ring(broker: RunningServer) -> AsyncIterator[Ring]:
    opened = Ring(broker.address)
    yield opened
    await opened.close()


async def until_counted(service: Service, word: str, count: int) -> None:
    await service.until_ready()

    async def is_counted() -> bool:
        return await service.metric("strider_insights_outcomes_total", outcome=word) >= count

    await service.until(is_counted, what=f"counts {count} × {word}")


async def until_written(ring: Ring, service: Service, host: str, counts: dict[str, int]) -> None:
    async def is_written() -> bool:
        return (await ring.table()).get(host) == counts

    await until(is_written, what=f"the table has {counts}", tell=service.last_words)


async def until_committed(ring: Ring, service: Service) -> None:
    async def is_committed() -> bool:
        return await ring.waiting() == 0

    await until(is_committed, what="everything is committed", tell=service.last_words)


def a_host() -> str:
    """Return a host of this test's own: all tests share one table."""
    return f"{uuid.uuid4().hex[:8]}.test"


async def test_counts_outlive_their_process(ring: Ring, yard: Yard) -> None:
    """After a shutdown or a kill, committed counts are not counted again."""
    host = a_host()
    await ring.fetch(host, times=5)
    await ring.settle(host)
    first = yard.start(INSIGHTS)
    await ring.fetch(host, outcome="timed_out", times=50)  # while it starts
    await until_counted(first, "timed_out", 50)
    await until_committed(ring, first)
    first.ask_to_stop()
    assert await first.until_ended() == 0
    known = (await ring.table())[host]
    # A rebalance may repeat messages in progress; counts are exact from here on.
    assert known["settled:valid"] == 1
    assert known["fetched"] >= 5
    assert known["timed_out"] >= 50

    second = yard.start(INSIGHTS)
    await second.until_ready()
    await ring.fetch(host, outcome="not_found", times=3)
    await until_written(ring, second, host, known | {"not_found": 3})
    await until_committed(ring, second)
    second.kill()
    third = yard.start(INSIGHTS)
    await third.until_ready()
    await ring.fetch(host, outcome="server_error", times=2)
    await until_written(ring, third, host, known | {"not_found": 3, "server_error": 2})


async def test_a_wiped_table_costs_nothing_but_its_counts(ring: Ring, yard: Yard) -> None:
    """The group's offsets stay, and the topic is created again."""
    host = a_host()
    first = yard.start(INSIGHTS)
    await first.until_ready()
    await ring.fetch(host)
    await until_counted(first, "fetched", 1)
    await until_committed(ring, first)
    first.ask_to_stop()
    assert await first.until_ended() == 0
    await ring.wipe()

    second = yard.start(INSIGHTS)
    await second.until_ready()
    await ring.fetch(host, outcome="not_found")

    await until_written(ring, second, host, {"not_found": 1})
    assert set(await ring.table()) == {host}


async def test_what_retention_took_leaves_a_hole_and_no_stop(ring: Ring, yard: Yard) -> None:
    """A loss does not stop it: it is reported, and offsets behind it are committed."""
    host = a_host()
    left = await ring.waiting()  # by earlier tests
    await ring.fetch(host, times=20)
    await ring.cut()
    service = yard.start(INSIGHTS)
    await service.until_ready()
    await until_committed(ring, service)
    assert (
        sum(event["messages"] for event in service.events(log_events.UNCOUNTED_MESSAGES_LOST.text))
        == left + 20
    )

    await ring.fetch(host, outcome="not_found", times=4)

    await until_written(ring, service, host, {"not_found": 4})
    await until_committed(ring, service)


async def test_a_batch_that_no_memory_holds_is_skipped_and_reported(
    broker: RunningServer, ring: Ring, yard: Yard
) -> None:
    host, neighbour = a_host(), a_host()
    service = yard.start(INSIGHTS)
    await service.until_ready()
    await ring.fetch(host, outcome="not_found")
    await until_written(ring, service, host, {"not_found": 1})
    client: Any = AIOKafkaProducer(bootstrap_servers=broker.address, enable_idempotence=False)
    await client.start()
    records = await asyncio.to_thread(bomb, "zstd", 256)
    for partition in range(SHARDS):
        await send_batch(client, FETCHES_COMPLETED.name, "zstd", records, partition=partition)
    await client.stop()
    await ring.fetch(host, outcome="not_found", times=4)
    await ring.fetch(neighbour, outcome="not_found", times=4)

    await until_written(ring, service, host, {"not_found": 5})
    await until_written(ring, service, neighbour, {"not_found": 4})
    skipped = service.events(runtime_events.RECORD_BATCH_SKIPPED.text)
    assert sorted(event["partition"] for event in skipped) == list(range(SHARDS))
    reported = service.events(log_events.UNCOUNTED_MESSAGES_LOST.text)
    assert sum(event["messages"] for event in reported) == SHARDS
    await until_committed(ring, service)


async def test_it_ends_in_time_although_the_broker_is_unresponsive(
    broker: RunningServer, ring: Ring, yard: Yard
) -> None:
    """Faust waits for its threads on the event loop, and they wait for the broker."""
    service = yard.start(INSIGHTS)
    # Faust may skip messages that arrive during its start, until the monitor rereads them.
    await service.until_ready()
    await ring.fetch(a_host())
    await until_counted(service, "fetched", 1)
    broker.freeze()
    try:
        service.ask_to_stop()

        code = await service.until_ended(seconds=GRACE_SECONDS)
    finally:
        broker.thaw()

    assert code == ExitCode.TERMINATED

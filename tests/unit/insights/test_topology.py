"""Messages in, counts out, with a dictionary as the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from strider.contracts import UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.topics import FETCHES_COMPLETED, PAGES_SETTLED, TOPICS
from strider.insights.adapters.application import APPLICATION_NAME as GROUP
from strider.insights.core import HOUR_MS, HostCounts
from strider.insights.topology import CONSUMES, ConsumedMessage, Insights

from .events import a_fetch, a_settlement

CODEC = Codec(SchemaStore.bundled())
HOUR = 500_000
NOW_MS = HOUR * HOUR_MS + 1
FOREIGN = b"\xc3\x01" + b"x" * 20


class World:
    """The service with one fake for table, observer and schema lookup."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS
        self.known: dict[str, HostCounts] = {}
        self.partitions: dict[str, int] = {}
        self.labels: Counter[str] = Counter()
        self.observed: dict[str, HostCounts] = {}
        self.looked_for: list[UnknownSchema] = []
        self._insights = Insights(
            self, CODEC, find_schema=self.find, observer=self, now_ms=lambda: self.now_ms, keep_hours=2
        )

    async def fetch(self, *, headers=(), partition=0, **changes):
        encoded = CODEC.encode(FETCHES_COMPLETED, a_fetch(**changes))
        await self.consume(encoded.value, [*encoded.headers, *headers], partition=partition)

    async def settle(self, **changes):
        encoded = CODEC.encode(PAGES_SETTLED, a_settlement(**changes))
        await self.consume(encoded.value, encoded.headers, topic=PAGES_SETTLED)

    async def consume(self, value, headers=(), *, topic=FETCHES_COMPLETED, partition=0):
        await self._insights.on_message(ConsumedMessage(topic.name, partition, NOW_MS, value, tuple(headers)))

    async def expire(self):
        await self._insights.expire_hosts()

    @property
    def totals(self) -> dict[str, dict[str, int]]:
        return {host: counts["total"] for host, counts in self.known.items()}

    def get(self, host: str) -> HostCounts | None:
        return self.known.get(host)

    def store(self, host: str, counts: HostCounts, *, partition: int) -> None:
        self.known[host] = counts
        self.partitions[host] = partition

    def items(self):
        return self.known.items()

    def delete(self, hosts: Sequence[str]) -> None:
        for host in hosts:
            del self.known[host]

    def on_label(self, label: str) -> None:
        self.labels[label] += 1

    def on_host(self, host: str, counts: HostCounts) -> None:
        self.observed[host] = counts

    async def find(self, *unknown: UnknownSchema) -> bool:
        self.looked_for.extend(unknown)
        return False


async def test_counts_are_stored_by_host():
    world = World()

    await world.fetch()
    await world.fetch(outcome="not_found")
    await world.fetch(group="b.test", partition=3)
    await world.settle()

    assert world.totals == {
        "a.test": {"fetched": 1, "not_found": 1, "settled:valid": 1},
        "b.test": {"fetched": 1},
    }
    assert world.partitions == {"a.test": 0, "b.test": 3}
    assert world.labels == {"fetched": 2, "not_found": 1, "settled:valid": 1}
    assert world.observed == world.known


async def test_the_hour_is_the_events_own():
    """A backlog is counted for the hours in which it happened."""
    world = World()
    await world.fetch()
    world.now_ms += HOUR_MS

    await world.fetch()

    assert world.known["a.test"]["hour"] == HOUR
    assert world.known["a.test"]["this_hour"] == {"fetched": 2}


@pytest.mark.parametrize(
    ("value", "searches"),
    [
        pytest.param(None, 0, id="a-tombstone"),
        pytest.param(b"", 0, id="empty"),
        pytest.param(FOREIGN, 1, id="of-an-unknown-schema"),
    ],
)
async def test_what_cannot_be_read_is_counted_and_nothing_more(value, searches):
    """An unknown schema is looked for before its message counts as unreadable."""
    world = World()

    await world.consume(value)

    assert (world.known, world.labels, len(world.looked_for)) == ({}, {"unreadable": 1}, searches)


async def test_what_is_replayed_was_counted_before():
    world = World()

    await world.fetch(headers=[("replay-id", b"again")])

    assert (world.known, world.labels) == ({}, {})


async def test_quiet_hosts_are_forgotten():
    """The number of hosts is unlimited, and the table is in memory."""
    world = World()
    await world.fetch()
    world.now_ms += 2 * HOUR_MS
    await world.expire()
    assert list(world.known) == ["a.test"]

    world.now_ms += HOUR_MS
    await world.expire()

    assert world.known == {}


def test_it_reads_what_is_declared_for_its_group():
    """Faust knows nothing of declarations, and offsets to begin at are written for declared groups."""
    declared = {topic.name for topic in TOPICS.values() for reader in topic.read_by if reader.group == GROUP}

    assert {topic.name for topic in CONSUMES} == declared

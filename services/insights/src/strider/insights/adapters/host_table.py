"""Table of counts per host: in memory, with a changelog topic, kept by Faust.

Decides when counts are written: a write costs Faust more than an event, so a host is written at most once in
a few seconds, however often it is counted. Of Faust's own table only the store and the changelog are used.
Its windows keep a number in memory for each write until they expire, and never expire when they were restored
from the changelog; so hours are counted in `core`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from strider.contracts.partitioning import shard_of_host
from strider.insights.core import HostCounts
from strider.messaging.errors import StartRefused
from strider.messaging.kafka import KafkaConnection
from strider.messaging.ports import Bus
from strider.messaging.topics.admin import TopicAdmin
from strider.messaging.topics.diff import DeclaredTopic

from .application import APPLICATION_NAME, FaustApplication

TABLE_NAME: Final = "outcomes-by-host"
"""Another format of counts needs another name: records are restored as they are."""
CHANGELOG_TOPIC: Final = f"{APPLICATION_NAME}-{TABLE_NAME}-changelog"
CHANGELOG_CONFIG: Final = {"cleanup.policy": "compact", "segment.bytes": str(8 * 1024 * 1024)}
"""The newest segment is not compacted, and Faust restores some 10,000 records a second at a start."""

WRITE_INTERVAL_SECONDS: Final = 2.0
"""Loss by a kill: counts of committed messages that were not written yet."""
WRITE_SLICE_HOSTS: Final = 500
"""Hosts that are written before control returns to the event loop."""


class HostTable:
    """Counts by host; implements `HostCountStore`."""

    def __init__(self, application: FaustApplication, *, shards: int) -> None:
        self._application = application
        self._shards = shards
        self._table: Any = application.table(TABLE_NAME, partitions=shards)
        self._unwritten: dict[str, int] = {}
        application.before_revoke(self.write_changelog)

    def __len__(self) -> int:
        """Return the number of hosts."""
        return len(self._table.data)

    def get(self, host: str) -> HostCounts | None:
        """Return the counts of a host."""
        return cast("HostCounts | None", self._table.data.get(host))

    def store(self, host: str, counts: HostCounts, *, partition: int) -> None:
        """Store the counts of a host, with the partition that they came from."""
        self._table.data[host] = counts
        self._unwritten[host] = partition

    def items(self) -> Iterable[tuple[str, HostCounts]]:
        """Return all hosts with their counts."""
        return cast("Iterable[tuple[str, HostCounts]]", self._table.data.items())

    def delete(self, hosts: Sequence[str]) -> None:
        """Delete hosts; in the changelog only those whose partition is assigned to this process."""
        if not hosts:
            return
        ours = self._application.partitions(CHANGELOG_TOPIC)
        for host in hosts:
            self._table.data.pop(host, None)
            self._unwritten.pop(host, None)
            if (shard := shard_of_host(host, self._shards)) in ours:
                self._table.send_changelog(shard, host, None, value_serializer="raw")

    async def write_changelog(self) -> None:
        """Write the changed counts; those of revoked partitions are left to the process that has them now."""
        if not self._unwritten:
            return
        changed, self._unwritten = self._unwritten, {}
        ours = self._application.partitions(CHANGELOG_TOPIC)
        for number, (host, partition) in enumerate(changed.items(), start=1):
            if partition in ours:
                self._table.send_changelog(partition, host, self._table.data[host])
            if number % WRITE_SLICE_HOSTS == 0:
                await asyncio.sleep(0)


async def ensure_changelog_topic(bus: Bus, connection: KafkaConnection, *, shards: int) -> None:
    """Create the changelog topic where missing, with the broker's default replication."""
    found = await bus.partition_count(CHANGELOG_TOPIC)
    if found is None:
        async with TopicAdmin.open(connection) as broker:
            await broker.create([DeclaredTopic(CHANGELOG_TOPIC, shards, CHANGELOG_CONFIG, groups=())])
    elif found != shards:
        raise StartRefused(
            f"topic {CHANGELOG_TOPIC} has {found} partitions, but STRIDER_SHARDS is {shards}; "
            "delete the topic, it holds nothing but counts"
        )

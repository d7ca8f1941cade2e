"""The table of hosts: in memory, with its log on the broker, kept by Faust.

Decides when counts are written: a write costs Faust more than an event, so a host is written at most
once in a few seconds, however often it is counted. Of Faust's own table only the store and the log are
used. Its windows keep a number in memory for each write until they end, and never end where they were
read back from the log; so hours are a matter of `core`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from strider.contracts.partitioning import shard_of_host
from strider.insights.core import HostCounts

from .application import APPLICATION_NAME, FaustApplication

TABLE_NAME: Final = "outcomes-by-host"
"""Counts of another form want another name: what is in the log is read back as it is."""
CHANGELOG_TOPIC: Final = f"{APPLICATION_NAME}-{TABLE_NAME}-changelog"
CHANGELOG_CONFIG: Final = {"cleanup.policy": "compact", "segment.bytes": str(8 * 1024 * 1024)}
"""What is in the newest segment is not compacted, and Faust reads some 10,000 records a second at a start."""

WRITE_INTERVAL_SECONDS: Final = 2.0
"""What a kill may take: counts that were committed as read, and not yet written."""
WRITE_SLICE_HOSTS: Final = 500
"""Hosts that are written between two turns of the event loop."""


class HostTable:
    """Counts by host; the port `Hosts`."""

    def __init__(self, application: FaustApplication, *, shards: int) -> None:
        self._application = application
        self._shards = shards
        self._table: Any = application.table(TABLE_NAME, partitions=shards)
        self._unwritten: dict[str, int] = {}
        application.before_revoke(self.write_changelog)

    def __len__(self) -> int:
        """Count the hosts."""
        return len(self._table.data)

    def get(self, host: str) -> HostCounts | None:
        """Give the counts of a host."""
        return cast("HostCounts | None", self._table.data.get(host))

    def store(self, host: str, counts: HostCounts, *, partition: int) -> None:
        """Keep the counts of a host, beside the partition that they came from."""
        self._table.data[host] = counts
        self._unwritten[host] = partition

    def items(self) -> Iterable[tuple[str, HostCounts]]:
        """Give everything that is kept."""
        return cast("Iterable[tuple[str, HostCounts]]", self._table.data.items())

    def delete(self, hosts: Sequence[str]) -> None:
        """Let hosts go; in the log only those whose counts are kept by this process."""
        if not hosts:
            return
        ours = self._application.partitions(CHANGELOG_TOPIC)
        for host in hosts:
            self._table.data.pop(host, None)
            self._unwritten.pop(host, None)
            if (shard := shard_of_host(host, self._shards)) in ours:
                self._table.send_changelog(shard, host, None, value_serializer="raw")

    async def write_changelog(self) -> None:
        """Write what has changed since the last time; what has gone to another process is its to write."""
        if not self._unwritten:
            return
        changed, self._unwritten = self._unwritten, {}
        ours = self._application.partitions(CHANGELOG_TOPIC)
        for number, (host, partition) in enumerate(changed.items(), start=1):
            if partition in ours:
                self._table.send_changelog(partition, host, self._table.data[host])
            if number % WRITE_SLICE_HOSTS == 0:
                await asyncio.sleep(0)

"""Restore host groups and robots.txt files of a shard from its log, record by record.

The log may have millions of hosts and several records of each, so none is held here: each record is applied
to the caches of the shard, whose bounds hold meanwhile. Records of a group and of its origins come in any
order: each changes its own part of the group.
"""

from __future__ import annotations

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import HostRecordKind
from strider.contracts.generated.events import HostRecorded
from strider.scheduler.core.hosts.host_state import (
    HostGroup,
    apply_robots_delay,
    host_group_from_record,
    new_host_group,
)
from strider.scheduler.core.hosts.robots import NO_ROBOTS, restore_robots
from strider.scheduler.ports import FrontierLogReader
from strider.urls import host_group_of

from .shard import OwnedShard


async def restore_hosts(shard: OwnedShard, log_reader: FrontierLogReader) -> None:
    """Restore host groups and robots.txt files from the log."""
    restoration = HostRestoration(shard)
    await log_reader.read_hosts(shard.number, restoration.apply)


class HostRestoration:
    """Applies records to the caches of one shard."""

    def __init__(self, shard: OwnedShard) -> None:
        self._shard = shard
        self._options = shard.options

    def apply(self, name: str, record: HostRecorded | None) -> None:
        """Apply the next record of a group or an origin; None deletes it."""
        if record is None:
            self._drop(name)
        elif record.kind == HostRecordKind.ROBOTS:
            self._restore_robots(record)
        else:
            self._put(host_group_from_record(record, delay_seconds=self._options.delay_seconds))
            self._shard.host_groups.mark_recorded([record.group])

    def _restore_robots(self, record: HostRecorded) -> None:
        shard, now_ms = self._shard, self._shard.clock.now_ms()
        robots = restore_robots(record, user_agent=self._options.user_agent, now_ms=now_ms)
        if robots is NO_ROBOTS:
            shard.robots.discard([record.origin])
        else:
            shard.robots.put(record.origin, robots)
        # Recorded with the text: parsing it would be nearly the whole cost of a takeover.
        self._apply_delay(record.group, record.origin, record.robots_delay_seconds)

    def _drop(self, name: str) -> None:
        shard = self._shard
        if "://" in name:
            shard.robots.discard([name])
            group = host_group_of(f"{name}/", by_domain=self._options.by_domain)
            self._apply_delay(group, name, 0.0)
        elif name in shard.host_groups:
            self._put(new_host_group(name, delay_seconds=self._options.delay_seconds))
            shard.host_groups.mark_unrecorded([name])

    def _put(self, group: HostGroup) -> None:
        """Store a group, with the crawl delays of its origins so far."""
        before = self._shard.host_groups.get(group.name)
        delays = before.robots_delays_ms
        self._shard.host_groups.put(
            replace_fields(group, robots_delays_ms=delays, knows_robots=before.knows_robots)
        )

    def _apply_delay(self, name: str, origin: str, delay_seconds: float) -> None:
        """Apply the crawl delay of an origin to its group, where that changes it."""
        group = self._shard.host_groups.get(name)
        if delay_seconds > 0 or origin in group.robots_delays_ms:
            self._shard.host_groups.put(apply_robots_delay(group, origin, delay_seconds))

"""Read from the working set whether a run waits for nothing but an unreachable robots.txt."""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.models import EntryLocation
from strider.scheduler.core.hosts.robots_waits import RobotsWait, robots_waits

from .shard import OwnedShard

SCAN_ENTRIES: Final = 1_000
"""Entries read from the working set at once."""


async def read_robots_waits(
    shard: OwnedShard, crawl_specs: CrawlSpecCache, execution_id: str, *, open_entries: int
) -> list[RobotsWait] | None:
    """Return the waits of a run's entries in one shard; None where any of them does not wait for robots.txt.

    Raises Unavailable, ShardFenced. Parked entries are not read, so a run that has some does not wait.
    """
    if open_entries and not shard.robots.has_unreachable():
        return None
    found: dict[str, tuple[EntryRecorded, EntryLocation]] = {}
    cursor, is_first = 0, True
    while open_entries and (cursor or is_first):
        scan = await shard.scan(cursor=cursor, limit=SCAN_ENTRIES)
        cursor, is_first = scan.cursor, False
        for entry, location in scan.entries:
            if entry.execution_id == execution_id:
                found[entry_id(entry.job_id, entry.url_key)] = entry, location
    if len(found) != open_entries:
        return None
    specs = await crawl_specs.known({entry.crawl_spec_id for entry, _ in found.values()})
    return robots_waits(
        found.values(),
        robots=shard.robots,
        groups=shard.host_groups,
        specs=specs,
        respects_robots=shard.options.respects_robots,
    )

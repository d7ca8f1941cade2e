"""A shard whose `hosts` has many records of one wildcard domain, and a takeover that restores them.

    python -m tests.faults.frontier.takeover_process fill|take BOOTSTRAP NUMBER

`take` prints, as JSON, the seconds, the peak of memory beyond that of the idle process, and what is kept.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from functools import cache
from typing import Final

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import RobotsState
from strider.contracts.generated.events import HostRecorded
from strider.frontier.memory.frontier import MemoryFrontier
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.politeness.robots.excerpt import excerpt_robots
from strider.politeness.robots.freshness import OriginRobots
from strider.runtime.clocks import SystemClock
from strider.scheduler.adapters.frontier_log.reader import TopicFrontierLogReader
from strider.scheduler.adapters.frontier_log.writer import TopicFrontierLogs
from strider.scheduler.core.hosts.host_state import (
    apply_robots_delay,
    host_group_to_record,
    new_host_group,
)
from strider.scheduler.core.hosts.robots import parse_robots, robots_to_record
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.shard.rebuild import restore_hosts
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.shard_clock import ShardClock
from tests.bench.measure import resident_mib

SHARD: Final = 0
WRITTEN_AT_ONCE: Final = 2_000
NOW_MS: Final = 1_800_000_000_000
RULES: Final = "".join(f"Disallow: /private/{number}/of/this/host\n" for number in range(40))
TEXT: Final = f"User-agent: *\nCrawl-delay: 2\n{RULES}"
"""1.5 KB, with a crawl delay: the group has a state of its own, and a record."""
LONG_TEXT: Final = TEXT + "".join(f"Disallow: /of/many/{number}\n" for number in range(20_000))
"""500 KB, of which an excerpt is kept; one host in `HOSTS_PER_LONG_TEXT` has it."""
HOSTS_PER_LONG_TEXT: Final = 50


def host_records(number: int) -> list[HostRecorded]:
    """Return the records of one host: its group, and the robots.txt of its origin."""
    name = f"h{number}.wild.test"
    origin = f"http://{name}"
    text = TEXT if number % HOSTS_PER_LONG_TEXT else _excerpt()
    robots = parse_robots(
        OriginRobots(
            RobotsState.FETCHED,
            text=text,
            requested_at_ms=NOW_MS + number,
            fetched_at_ms=NOW_MS + number,
            expires_at_ms=NOW_MS + 3_600_000,
            status=200,
            url=f"{origin}/robots.txt",
        )
    )
    group = apply_robots_delay(new_host_group(name, delay_seconds=1.0), origin, 2.0)
    return [
        robots_to_record(origin, name, robots, user_agent="Strider", now_ms=NOW_MS, epoch=1),
        host_group_to_record(group, now_ms=NOW_MS, epoch=1),
    ]


@cache
def _excerpt() -> str:
    return excerpt_robots(LONG_TEXT, "Strider")


async def fill(bus: KafkaBus, codec: Codec, number: int) -> None:
    """Write the records of so many hosts."""
    log = await TopicFrontierLogs(bus, codec, commit_interval_seconds=0.05).take_over(SHARD)
    for first in range(0, number, WRITTEN_AT_ONCE):
        names = range(first, min(first + WRITTEN_AT_ONCE, number))
        await log.write(
            (), [log.encode_host(record) for each in names for record in host_records(each)], at_once=True
        )
    await log.close()


async def take(bus: KafkaBus, codec: Codec) -> dict[str, float]:
    """Take the shard over, and restore its hosts."""
    clock = SystemClock()
    log = await TopicFrontierLogs(bus, codec, commit_interval_seconds=0.05).take_over(SHARD)
    working_set = MemoryFrontier(clock=clock)
    shard = OwnedShard(
        SHARD, log, working_set, options=SchedulerOptions(shards=12), clock=ShardClock(clock, NOW_MS)
    )
    idle, began = resident_mib("VmRSS"), time.monotonic()
    await restore_hosts(shard, TopicFrontierLogReader(bus, codec, clock=clock))
    seconds, peak = time.monotonic() - began, resident_mib("VmHWM") - idle
    await log.close()
    return {"seconds": round(seconds, 2), "peak_mib": round(peak), "groups": len(list(shard.host_groups))}


async def main(command: str, bootstrap: str, number: int) -> None:
    """Run one command."""
    codec = Codec(SchemaStore.bundled())
    bus = KafkaBus(KafkaConnection(bootstrap_servers=(bootstrap,)))
    try:
        if command == "fill":
            await fill(bus, codec, number)
        else:
            print(json.dumps(await take(bus, codec)), flush=True)  # noqa: T201  # read by the test
    finally:
        await bus.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))

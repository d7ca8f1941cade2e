"""How fast a shard is rebuilt: from a real broker, through the scheduler's own code, into a real Valkey.

Wall-clock time, because that is what a crawl waits: broker, scheduler and Valkey share the machine. Two
entries of three are closed, as in a crawl that has gone on for a while.
"""

from __future__ import annotations

import asyncio
import gc
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import uvloop

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.contracts.generated.topics import CRAWL_SPECS, FRONTIER, HOSTS
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.messaging.effects import Publish
from strider.messaging.kafka import KafkaBus, KafkaConnection
from strider.messaging.ports import RawRecord
from strider.messaging.topics import apply_topics
from strider.runtime.clocks import SystemClock
from strider.runtime.process.main import GC_THRESHOLD_OBJECTS
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.adapters.frontier_log.reader import TopicFrontierLogReader
from strider.scheduler.adapters.frontier_log.writer import TopicFrontierLog
from strider.scheduler.core.budgets.reservations import RunBudgets
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import NoSchedulerMeter
from strider.scheduler.shard.rebuild import ShardRebuilder
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.shard_clock import ShardClock
from strider.storage.redis import RedisOptions, connect
from strider.testing.stack import start_valkey
from tests.bench.measure import Row

BAR = 50_000
"""Entries a second; the moonshot is 150,000."""
GROUPS = 1_000
A_WRITE = 2_000


SPEC = CrawlSpecDeclared(crawl_spec_id="0" * 64)
"""Crawl spec of all entries; it has no budget."""


def entry(number: int, now_ms: int) -> EntryRecorded:
    """Make up an entry as a crawl leaves it: two of three are closed."""
    host = f"h{number % GROUPS}.test"
    url = f"https://{host}/articles/2026/05/some-readable-title-{number}.html"
    key = sha256(url.encode()).hexdigest()
    values: dict[str, Any] = {
        "referrer": f"https://{host}/articles/2026/index.html",
        "due_at_ms": now_ms,
        "discovered_at_ms": now_ms,
    }
    state, reason = "pending", "accepted"
    if number % 3:
        state, reason = "completed", "settled"
        values |= {
            "raw_hash": key,
            "text_hash": key,
            "status": 200,
            "etag": f'"{number}"',
            "fetched_at_ms": now_ms,
            "closed_at_ms": now_ms,
        }
    return EntryRecorded(
        "news", key, url, host, state, "news-1", SPEC.crawl_spec_id, number, now_ms, reason=reason, **values
    )


def measure(kafka: str, directory: Path, *, rounds: int, count: int) -> list[Row]:
    """Rebuild one shard several times, and take the best round: the others waited for other processes."""
    valkey, garbage = start_valkey(directory / "rebuild"), gc.get_threshold()
    try:
        rates = uvloop.run(_rebuild(kafka, valkey.address, rounds=rounds, count=count))
    finally:
        gc.unfreeze()
        gc.set_threshold(*garbage)
        valkey.close()
    walls, costs = [wall for wall, _ in rates], [cpu for _, cpu in rates]
    detail = f"{count} entries, best of {rounds}, the slowest {count / max(walls):,.0f}"
    return [
        Row("rebuild of a shard", count / min(walls), "entries/s", BAR, more_is_better=True, detail=detail),
        Row("rebuild of a shard, scheduler alone", min(costs) / count * 1e6, "µs CPU an entry", None),
    ]


async def _rebuild(kafka: str, valkey: str, *, rounds: int, count: int) -> list[tuple[float, float]]:
    """Give seconds on the clock and of CPU for each round."""
    connection = KafkaConnection((kafka,))
    await apply_topics(connection, [CRAWL_SPECS, FRONTIER, HOSTS], shards=1)
    bus, codec, clock = KafkaBus(connection), Codec(SchemaStore.bundled()), SystemClock()
    redis = connect(RedisOptions(valkey, timeout_seconds=10.0))
    writer = await bus.take_shard("bench", 0, commit_interval_seconds=0.1)
    truth = TopicFrontierLog(writer, codec, cluster="bench")
    await _fill(truth, count=count)
    await _declare_spec(bus, codec)
    specs = CrawlSpecCache(bus, codec, clock=clock)
    working_set, options = RedisWorkingSet(redis), SchedulerOptions(shards=1)
    rebuilding = ShardRebuilder(
        working_set=working_set,
        log_reader=TopicFrontierLogReader(bus, codec, clock=clock),
        crawl_specs=specs,
        budgets=RunBudgets(),
        options=options,
        meter=NoSchedulerMeter(),
        clock=clock,
    )
    # As a service has it: what is there stays, and a look at all of it is seldom.
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD_OBJECTS, 10, 10)
    rates = []
    for _ in range(rounds):
        await redis.command("FLUSHALL")
        shard = OwnedShard(0, truth, working_set, options=options, clock=ShardClock(clock, 0))
        began, spent = time.perf_counter(), time.process_time()
        await rebuilding.rebuild(shard)
        rates.append((time.perf_counter() - began, time.process_time() - spent))
        figures = await shard.figures()
        assert figures.seen == count, figures
    assert specs.get(SPEC.crawl_spec_id) == SPEC, "the rebuild did not read the crawl spec"
    await specs.close()
    await truth.close()
    await redis.close()
    await bus.close()
    return rates


async def _declare_spec(bus: KafkaBus, codec: Codec) -> None:
    publisher = EventPublisher(bus, codec, service="bench", shards=1, clock=SystemClock())
    await publisher.publish([Publish(CRAWL_SPECS, SPEC)])
    await publisher.close()


async def _fill(truth: TopicFrontierLog, *, count: int) -> None:
    now_ms = time.time_ns() // 1_000_000
    for first in range(0, count, A_WRITE):
        records: list[RawRecord] = [
            truth.encode_entry(entry(number, now_ms)) for number in range(first, min(first + A_WRITE, count))
        ]
        await truth.write(records, at_once=True)
        await asyncio.sleep(0)

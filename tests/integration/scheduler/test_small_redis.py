"""A frontier many times larger than its Valkey: nothing is lost or done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import pytest

from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.crawl.runs.control import RunControl
from strider.frontier.models import QueueLimits
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.runtime.clocks import SystemClock
from strider.scheduler.loops.refill import RefillLoop
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import NoSchedulerMeter
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.shard_clock import ShardClock
from strider.scheduler.shard.store_mapping import accepted_entry, entry_conclusion
from strider.storage.redis import Redis, RedisOptions, connect
from strider.testing.stack import start_valkey

MIB = 1024 * 1024
ACCEPTED_A_CALL = 500
RELEASED_A_LOOK = 500
MILLIONS = [pytest.mark.slow, pytest.mark.timeout(14_400)]


@dataclass
class Log:
    """The truth of one shard, in a table: keys, and what was said of each last."""

    epoch: int = 1
    said: dict[bytes, bytes] = field(default_factory=dict)

    def write(self, number: int, word: bytes) -> None:
        self.said[key_of(number)] = b"%d %b" % (number, word)

    async def read_latest(self, _shard: int, is_wanted: Callable[[bytes], bool]) -> Mapping[bytes, bytes]:
        return {key: value for key, value in self.said.items() if is_wanted(key)}

    def decode_entry(self, value: bytes) -> EntryRecorded | None:
        number, word = value.split()
        return replace(page(int(number)), state=word.decode())


class Specs:
    """Every crawl spec exists, with its defaults."""

    async def known(self, spec_ids: Iterable[str]) -> Mapping[str, CrawlSpecDeclared]:
        return {spec_id: CrawlSpecDeclared(spec_id) for spec_id in spec_ids}


def key_of(number: int) -> bytes:
    return f"news/{sha256(b'%d' % number).hexdigest()}".encode()


def page(number: int) -> EntryRecorded:
    group = f"www.host{number // 100}.test"
    url, key = f"https://{group}/articles/2026/05/some-title-{number}.html", key_of(number)[5:].decode()
    return EntryRecorded("news", key, url, group, "pending", "news-1", "0" * 64, 0, 1_795_018_180_635)


@asynccontextmanager
async def a_valkey(directory: Path, most_bytes: int) -> AsyncIterator[Redis]:
    """Start a server for this test alone, because it is filled up."""
    valkey = start_valkey(directory)
    redis = connect(RedisOptions(valkey.address, timeout_seconds=10))
    try:
        await redis.command("CONFIG", "SET", "maxmemory", str(most_bytes))
        yield redis
    finally:
        await redis.close()
        valkey.close()


async def a_shard(redis: Redis, log: Log) -> OwnedShard:
    room = QueueLimits(entries_per_group=10_000, horizon_ms=3_600_000, memory_percent=80, minimum_entries=100)
    options = SchedulerOptions(
        shards=1, queue_limits=room, refill_interval_seconds=0.01, refill_keys_per_part=100_000
    )
    working_set = RedisWorkingSet(redis, default_delay_ms=0, limits=room)
    taken = await working_set.take_over(0, log.epoch)
    shard = OwnedShard(0, log, working_set, options=options, clock=ShardClock(SystemClock(), taken.now_ms))  # type: ignore[arg-type]
    await working_set.begin_rebuild(0, log.epoch)
    await working_set.finish_rebuild(0, log.epoch, groups=[], sequence=0)
    shard.is_ready = True
    return shard


async def crawl(shard: OwnedShard, log: Log) -> tuple[Counter[str], int]:
    """Release and close until nothing is open, with refills; return the count of releases."""
    refilling = RefillLoop(
        shard,
        log_reader=log,
        crawl_specs=Specs(),
        run_control=RunControl(),
        log_lock=asyncio.Lock(),
        meter=NoSchedulerMeter(),
        clock=SystemClock(),
    )
    released: Counter[str] = Counter()
    most_percent = 0
    while (figures := await shard.figures()).queued + figures.overflow:
        most_percent = max(most_percent, figures.memory_percent)
        await refilling.run_once()
        leases = (await shard.lease_due_entries(limit=RELEASED_A_LOOK, reserved=0)).leases
        released.update(lease.entry.url for lease in leases)
        for lease in leases:
            log.write(int(lease.entry.url.rpartition("-")[2].partition(".")[0]), b"completed")
        closed = [replace(lease.entry, state="completed", closed_at_ms=1) for lease in leases]
        await shard.conclude(
            [entry_conclusion(entry, lease.lease_id) for entry, lease in zip(closed, leases, strict=True)]
        )
    return released, most_percent


@pytest.mark.parametrize(
    ("count", "most_bytes"),
    [
        pytest.param(15_000, 5 * MIB, id="short"),
        pytest.param(200_000, 20 * MIB, id="long", marks=pytest.mark.slow),
        pytest.param(1_000_000, 52 * MIB, id="large", marks=MILLIONS),
        pytest.param(5_000_000, 256 * MIB, id="millions", marks=MILLIONS),
    ],
)
async def test_a_frontier_larger_than_its_server_is_worked_off(
    tmp_path: Path, count: int, most_bytes: int
) -> None:
    log = Log()
    async with a_valkey(tmp_path / "valkey", most_bytes) as redis:
        shard = await a_shard(redis, log)
        for first in range(0, count, ACCEPTED_A_CALL):
            numbers = range(first, min(first + ACCEPTED_A_CALL, count))
            for number in numbers:
                log.write(number, b"pending")
            await shard.accept([accepted_entry(page(number)) for number in numbers], [], {})
        full = await shard.figures()

        released, most_percent = await crawl(shard, log)
        counts = await shard.working_set.run_counts(0, log.epoch)

    assert full.overflow > 0
    assert full.queued + full.overflow == count
    assert len(released) == count
    assert set(released.values()) == {1}
    assert most_percent < 100
    assert (counts["news-1"].open, counts["news-1"].accepted) == (0, count)

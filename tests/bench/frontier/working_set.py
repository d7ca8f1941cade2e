"""What the frontier's working set costs: bytes a URL, and microseconds at the client and in the server.

A real Valkey of this run's own. The client's share is this process's CPU time, the server's is its main
thread's; both are medians of interleaved rounds. A page's whole way (accepted, released, marked, ended,
sent round, closed) is walked in a small and in a large shard in turn, because it must not cost more there.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b, sha256
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id, key_fingerprint
from strider.frontier.models import (
    AcceptedEntry,
    EndedRequest,
    EntryConclusion,
    EntryDisposition,
    HostGroupState,
    Lease,
    RefusedFingerprint,
)
from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.storage.redis import Redis, RedisOptions, connect
from strider.testing.stack import start_valkey, temp_server_directory
from tests.bench.measure import Row

from .floor import Floor

ACCEPTED_A_CALL: Final = 800
RELEASED_A_CALL: Final = 100
LEASE_MS: Final = 3_600_000
SEEN_AT_LEAST: Final = 200_000
GROUPS: Final = 5_000
URLS_A_HOST: Final = 8
"""One after the other: pages link to their own host, and a batch holds some dozens of pages."""
NOW_MS: Final = 1_795_018_180_635


@dataclass(slots=True)
class Cost:
    """Seconds of CPU, client and server apart."""

    client: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)

    def told(self) -> tuple[float, float]:
        """Medians in microseconds."""
        return statistics.median(self.client) * 1e6, statistics.median(self.server) * 1e6


class Bench:
    """One server, and shards on it."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._set = RedisWorkingSet(redis, default_delay_ms=1)
        self._marks = RedisLeaseMarks(redis)
        self._next: defaultdict[int, int] = defaultdict(int)
        self.costs: defaultdict[str, Cost] = defaultdict(Cost)

    async def open(self, shard: int, *, groups: int) -> None:
        """Own an empty shard of so many hosts."""
        await self._set.take_over(shard, 1)
        await self._set.begin_rebuild(shard, 1)
        states = [HostGroupState(_host(number * URLS_A_HOST), 1) for number in range(groups)]
        await self._set.finish_rebuild(shard, 1, groups=states, sequence=0)

    async def timed(self, name: str, urls: int, work: Callable[[], Awaitable[None]]) -> None:
        """Note what a piece of work costs a URL."""
        gc.collect()
        gc.disable()
        server, began = await self._server_seconds(), time.process_time()
        await work()
        client = time.process_time() - began
        gc.enable()
        self.costs[name].client.append(client / urls)
        self.costs[name].server.append((await self._server_seconds() - server) / urls)

    async def fill(self, shard: int, count: int) -> None:
        """Queue so many entries more."""
        for first in range(0, count, ACCEPTED_A_CALL):
            await self._set.accept(shard, 1, self.entries(shard, min(ACCEPTED_A_CALL, count - first)))

    def entries(self, shard: int, count: int) -> list[AcceptedEntry]:
        """Make up pages that were not there yet."""
        first = self._next[shard]
        self._next[shard] += count
        return [_accepted(number) for number in range(first, first + count)]

    async def accept(self, shard: int, batches: Sequence[Sequence[AcceptedEntry]]) -> None:
        """Add them, a call each."""
        for batch in batches:
            await self._set.accept(shard, 1, batch)

    async def release(self, shard: int, calls: int, taken: list[Lease]) -> None:
        """Take what is due."""
        for _ in range(calls):
            release = await self._set.release(shard, 1, limit=RELEASED_A_CALL, lease_ms=LEASE_MS)
            taken += release.leases

    async def end(self, shard: int, leases: Sequence[Lease]) -> None:
        """Walk the rest of the way: marked, ended, sent round, closed."""
        for first in range(0, len(leases), RELEASED_A_CALL):
            part = leases[first : first + RELEASED_A_CALL]
            names = [(shard, lease.lease_id) for lease in part]
            marks = await self._marks.mark_started(names, nonce="bench", deadline_ms=1_000)
            freed = [
                EndedRequest(
                    lease.lease_id,
                    mark.now_us // 1000,
                    lease.entry.group,
                    entry_id(lease.entry.job_id, lease.entry.url_key),
                )
                for lease, mark in zip(part, marks, strict=True)
            ]
            await self._set.end_requests(shard, 1, freed)
            for fate in (EntryDisposition.PIPELINE, EntryDisposition.CLOSE):
                await self._set.conclude(shard, 1, [_fate(lease, fate) for lease in part])

    async def walk(self, shard: int, pages: int) -> None:
        """Walk so many pages' whole way."""
        for first in range(0, pages, ACCEPTED_A_CALL):
            count = min(ACCEPTED_A_CALL, pages - first)
            await self._set.accept(shard, 1, self.entries(shard, count))
            taken: list[Lease] = []
            while len(taken) < count:
                await self.release(shard, 1, taken)
            await self.end(shard, taken)

    async def remember(self, shard: int, scope: str, numbers: range) -> None:
        """Put URLs into a seen-set."""
        for first in range(numbers.start, numbers.stop, 1_000):
            part = range(first, min(first + 1_000, numbers.stop))
            await self._set.accept(
                shard, 1, (), refused=[RefusedFingerprint(scope, _fingerprint(each)) for each in part]
            )

    def floor(self) -> Floor:
        """Who does the same without deciding anything."""
        return Floor(self._redis)

    async def memory(self) -> int:
        """Bytes that the server has taken, without what it keeps to talk to us."""
        told = await self._redis.command("INFO", "memory")
        return int(told["used_memory"]) - int(told["mem_clients_normal"])

    async def _server_seconds(self) -> float:
        told = await self._redis.command("INFO", "cpu")
        return float(told["used_cpu_sys_main_thread"]) + float(told["used_cpu_user_main_thread"])


def measure(*, rounds: int, short: bool) -> list[Row]:
    """All rows of this file."""
    with temp_server_directory() as place:
        valkey = start_valkey(place / "valkey")
        try:
            return asyncio.run(_measure(valkey.address, rounds=rounds, short=short))
        finally:
            valkey.close()


async def _measure(url: str, *, rounds: int, short: bool) -> list[Row]:
    redis = connect(RedisOptions(url, timeout_seconds=10))
    bench = Bench(redis)
    try:
        rows = await _seen(bench, (10_000, 100_000) if short else (10_000, 1_000_000, 3_000_000))
        rows += await _calls(bench, rounds)
        rows += await _flat(bench, rounds, large=100_000 if short else 1_000_000)
    finally:
        await redis.close()
    return rows


async def _seen(bench: Bench, sizes: Sequence[int]) -> list[Row]:
    """Bytes a URL of a job, at several sizes; of small ones there are many, or noise would be measured."""
    await bench.open(0, groups=1)
    rows = []
    await bench.remember(0, "warm", range(10_000))
    for size in sizes:
        before, jobs = await bench.memory(), max(1, SEEN_AT_LEAST // size)
        for job in range(jobs):
            await bench.remember(0, f"job-{size}-{job}", range(size))
        spent = (await bench.memory() - before) / (size * jobs)
        rows.append(Row(f"seen-set, bytes a URL, {size:,} URLs of a job", spent, "B", 10.0))
    return rows


async def _calls(bench: Bench, rounds: int) -> list[Row]:
    """Adding, and taking with politeness; bytes of what is queued."""
    await bench.open(1, groups=GROUPS)
    await bench.fill(1, 20_000)
    before, count, floor = await bench.memory(), 40_000, bench.floor()
    await bench.fill(1, count)
    queued = (await bench.memory() - before) / count
    for _ in range(rounds):
        batches = [bench.entries(1, ACCEPTED_A_CALL) for _ in range(5)]
        await bench.timed("add", 5 * ACCEPTED_A_CALL, partial(bench.accept, 1, batches))
        taken: list[Lease] = []
        await bench.timed("take", 10 * RELEASED_A_CALL, partial(bench.release, 1, 10, taken))
        assert len(taken) == 10 * RELEASED_A_CALL
        await bench.end(1, taken)
        await bench.timed("least add", 5 * ACCEPTED_A_CALL, partial(floor.add, 5, urls=ACCEPTED_A_CALL))
        await bench.timed("least take", 5 * RELEASED_A_CALL, partial(floor.take, 5, urls=RELEASED_A_CALL))
    rows = [Row("queued entry, with its places in queue and seen-set", queued, "B", 300.0)]
    for name, what, bar in (("add", "add 800 URLs a call", 3.0), ("take", "take 100 with politeness", 5.0)):
        client, server = bench.costs[name].told()
        rows.append(Row(f"frontier, {what}: client, a URL", client, "µs", bar))
        rows.append(Row(f"frontier, {what}: server, a URL", server, "µs", bar))
        _, least = bench.costs[f"least {name}"].told()
        rows.append(Row(f"frontier, {what}: the commands alone, server, a URL", least, "µs", None))
    return rows


async def _flat(bench: Bench, rounds: int, *, large: int) -> list[Row]:
    """The whole way of a page where few and where many are queued."""
    sizes = {2: 10_000, 3: large}
    for shard, size in sizes.items():
        await bench.open(shard, groups=GROUPS)
        await bench.fill(shard, size)
        await bench.walk(shard, ACCEPTED_A_CALL)
    for _ in range(rounds):
        for shard in sizes:
            await bench.timed(f"walk {shard}", 1600, partial(bench.walk, shard, 1600))
    few, many = (sum(bench.costs[f"walk {shard}"].told()) for shard in sizes)
    detail = f"{many:.0f} µs against {few:.0f} µs, client and server together"
    name = f"frontier, CPU of a page's whole way with {large:,} queued against 10,000"
    return [Row(name, many / few, "×", 1.1, detail=detail)]


def _fate(lease: Lease, fate: EntryDisposition) -> EntryConclusion:
    return EntryConclusion(lease.entry, fate, "bench", key_fingerprint(lease.entry.url_key), lease.lease_id)


def _host(number: int) -> str:
    return f"www.host{number // URLS_A_HOST % GROUPS}.example.test"


def _fingerprint(number: int) -> int:
    return int.from_bytes(blake2b(number.to_bytes(8), digest_size=8).digest())


def _accepted(number: int) -> AcceptedEntry:
    group = _host(number)
    url = f"https://{group}/articles/2026/05/some-readable-title-{number}.html"
    key = sha256(url.encode()).hexdigest()
    entry = EntryRecorded(
        "bench",
        key,
        url,
        group,
        "pending",
        "bench-1",
        "0" * 64,
        0,
        NOW_MS,
        referrer=f"https://{group}/articles/2026/index.html",
        discovered_at_ms=NOW_MS,
        due_at_ms=NOW_MS,
        depth=2,
        reason="accepted",
    )
    return AcceptedEntry(entry, "bench", key_fingerprint(key))

"""The two frontiers that must behave alike, each with its own time; and the values that tests use.

A test says what happens to pages by a word each; it never learns whether memory or Redis answers.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from redis.asyncio.cluster import RedisCluster

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id, key_fingerprint
from strider.frontier.memory.frontier import MemoryFrontier
from strider.frontier.models import (
    AcceptedEntry,
    EndedRequest,
    EntryConclusion,
    EntryDisposition,
    EntryLookup,
    EntryLookupResult,
    HostGroupState,
    Lease,
    LeaseSwap,
    ReleaseResult,
    SeenEntry,
    StartMark,
)
from strider.frontier.ports import LeaseMarks, SeenLookup, WorkingSet
from strider.frontier.rebuild_records import RecordedEntry
from strider.frontier.redis.lease_marks import RedisLeaseMarks
from strider.frontier.redis.seen import RedisSeenLookup
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.storage.redis import Redis

SHARD = 7
EPOCH = 3
LEASE_MS = 60_000
DEADLINE_MS = 30_000
MARGIN_MS = 50
LONG_MS = 3_600_000


def page(word: str, group: str = "a.test", **more: Any) -> EntryRecorded:
    """Make up an entry; the same word is the same URL."""
    url = f"https://{group}/{word}"
    values: dict[str, Any] = {
        "job_id": "news",
        "url_key": sha256(url.encode()).hexdigest(),
        "url": url,
        "group": group,
        "state": "pending",
        "execution_id": "news-1",
        "crawl_spec_id": "spec",
        "fetch_sequence": 0,
        "updated_at_ms": 0,
    }
    return EntryRecorded(**(values | more))


def identity(entry: EntryRecorded) -> str:
    return entry_id(entry.job_id, entry.url_key)


def accepted(entry: EntryRecorded) -> AcceptedEntry:
    return AcceptedEntry(entry, entry.job_id, key_fingerprint(entry.url_key))


def recorded(entry: EntryRecorded) -> RecordedEntry:
    return RecordedEntry.of(entry)


def closed(entry: EntryRecorded) -> SeenEntry:
    fingerprint = key_fingerprint(entry.url_key)
    return SeenEntry(identity(entry), entry.job_id, fingerprint, entry.updated_at_ms, entry.seed_token)


def question(entry: EntryRecorded) -> EntryLookup:
    return EntryLookup(identity(entry), entry.job_id, key_fingerprint(entry.url_key))


def words(leases: Sequence[Lease]) -> list[str]:
    """Name pages by their words, in the order of the leases."""
    return [lease.entry.url.rpartition("/")[2] for lease in leases]


@dataclass
class HandClock:
    """Continues when the test lets it."""

    seconds: float = 1_000.0
    began: datetime = field(default_factory=lambda: datetime(2026, 3, 1, tzinfo=UTC))

    def now(self) -> datetime:
        return self.began + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class FrontierWorld(ABC):
    """One frontier, and what its owner does all day, in a word each."""

    working_set: WorkingSet
    marks: LeaseMarks
    question: SeenLookup

    @abstractmethod
    async def pass_ms(self, milliseconds: int) -> None: ...
    @abstractmethod
    async def lose(self) -> None:
        """Lose the store, as a restart without its data does."""

    @abstractmethod
    def owner(self, **settings: Any) -> WorkingSet:
        """Give the working set of one more process on the same store."""

    def other_process(self) -> WorkingSet:
        """Give the working set of a process that has its own view of who owns what."""
        return self.owner()

    @abstractmethod
    async def shut(self) -> None:
        """Close what was opened."""

    async def open(self, *groups: HostGroupState, sequence: int = 0, epoch: int = EPOCH) -> None:
        """Own an empty shard that is ready."""
        await self.working_set.take_over(SHARD, epoch)
        await self.working_set.begin_rebuild(SHARD, epoch)
        await self.working_set.finish_rebuild(SHARD, epoch, groups=groups, sequence=sequence)

    async def accept(self, *entries: EntryRecorded) -> None:
        await self.working_set.accept(SHARD, EPOCH, [accepted(entry) for entry in entries])

    async def release(self, limit: int = 100, lease_ms: int = LEASE_MS) -> ReleaseResult:
        return await self.working_set.release(SHARD, EPOCH, limit=limit, lease_ms=lease_ms)

    async def release_one(self, lease_ms: int = LEASE_MS) -> Lease:
        [lease] = (await self.release(lease_ms=lease_ms)).leases
        return lease

    async def released(self) -> list[str]:
        """Release all that may go, and name it."""
        return words((await self.release()).leases)

    async def mark(self, lease: Lease, nonce: str = "fetcher-1", deadline_ms: int = DEADLINE_MS) -> StartMark:
        [mark] = await self.marks.mark_started(
            [(SHARD, lease.lease_id)], nonce=nonce, deadline_ms=deadline_ms
        )
        return mark

    async def free(self, lease: Lease, started_at_ms: int = 0) -> str:
        name = "" if lease.entry.kind == "robots" else identity(lease.entry)
        freed = EndedRequest(lease.lease_id, started_at_ms, lease.entry.group, name)
        [ending] = await self.working_set.end_requests(SHARD, EPOCH, [freed])
        return ending.value

    async def conclude(self, lease: Lease, fate: EntryDisposition, **changes: Any) -> None:
        """Give a lease's entry its fate, and end the lease."""
        await self.conclude_entry(replace(lease.entry, **changes), fate, lease_id=lease.lease_id)

    async def conclude_entry(self, entry: EntryRecorded, fate: EntryDisposition, lease_id: str = "") -> None:
        fingerprint = key_fingerprint(entry.url_key)
        conclusion = EntryConclusion(entry, fate, entry.job_id, fingerprint, lease_id)
        await self.working_set.conclude(SHARD, EPOCH, [conclusion])

    async def swap(self, lease: Lease, request: EntryRecorded, lease_ms: int = LEASE_MS) -> Lease | None:
        swaps = [LeaseSwap(lease.lease_id, request)]
        [given] = await self.working_set.swap(SHARD, EPOCH, swaps, lease_ms=lease_ms)
        return given

    async def look(self, entry: EntryRecorded) -> EntryLookupResult:
        [known] = await self.working_set.lookup(SHARD, EPOCH, [question(entry)])
        return known

    async def asked(self, *entries: EntryRecorded, shard: int = SHARD) -> list[bool]:
        """Ask as link-ingestion does."""
        wanted = [key_fingerprint(entry.url_key) for entry in entries]
        answer = await self.question.find_seen({(shard, entries[0].job_id): wanted})
        return list(answer[shard, entries[0].job_id])

    async def figures(self) -> tuple[int, int, int]:
        """Count what is queued, leased, in the pipeline."""
        figures = await self.working_set.stats(SHARD, EPOCH)
        return figures.queued, figures.leased, figures.in_pipeline


class MemoryWorld(FrontierWorld):
    """Memory, with a clock that goes by hand."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self._settings: dict[str, Any] = {"default_delay_ms": 0, "mark_margin_ms": MARGIN_MS}
        self._build()

    def _build(self) -> None:
        frontier = MemoryFrontier(self.clock, **self._settings)
        self.working_set = self.marks = self.question = frontier

    def other_process(self) -> WorkingSet:
        return copy(self.working_set)

    async def pass_ms(self, milliseconds: int) -> None:
        await self.clock.sleep(milliseconds / 1000)

    async def lose(self) -> None:
        self._build()

    async def shut(self) -> None:
        """Nothing is open."""

    def owner(self, **settings: Any) -> WorkingSet:
        if settings:
            self._settings |= settings
            self._build()
        return self.working_set


class RedisWorld(FrontierWorld):
    """A real server, whose clock no test moves."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis
        self.working_set = RedisWorkingSet(redis, default_delay_ms=0)
        self.marks = RedisLeaseMarks(redis, mark_margin_ms=MARGIN_MS)
        self.question = RedisSeenLookup(redis)

    async def pass_ms(self, milliseconds: int) -> None:
        until = await self._now_us() + milliseconds * 1000
        while (left := until - await self._now_us()) > 0:
            await asyncio.sleep(left / 1_000_000)

    async def lose(self) -> None:
        await self.redis.command("FLUSHALL")

    def owner(self, **settings: Any) -> WorkingSet:
        return RedisWorkingSet(self.redis, **({"default_delay_ms": 0} | settings))

    async def shut(self) -> None:
        await self.redis.close()

    async def _now_us(self) -> int:
        seconds, microseconds = await self.redis.command("TIME")
        return int(seconds) * 1_000_000 + int(microseconds)


class ClusterWorld(RedisWorld):
    """Several servers, each with a part of the keys."""

    def __init__(self, redis: Redis, client: RedisCluster) -> None:
        super().__init__(redis)
        self._cluster = client

    async def lose(self) -> None:
        await self._cluster.flushall(target_nodes=RedisCluster.PRIMARIES)

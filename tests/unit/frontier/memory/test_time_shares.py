"""Pace of an owner's run beside raw senders whose requests hold the same host, in hours of virtual time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id, key_fingerprint
from strider.frontier.memory.frontier import MemoryFrontier
from strider.frontier.models import AcceptedEntry, EndedRequest, EntryConclusion, EntryDisposition, Lease
from strider.frontier.turns import FLOWS_PER_HALF, flow_of

pytestmark = pytest.mark.fault("A20", part="turns on a host are shares of its time")

OWNER = "nightly"
RAW = list({flow_of(name): name for name in (f"raw.{number}" for number in range(300))}.values())
"""A run in each flow of raw senders."""
DELAY_MS, PAGE_MS, DEADLINE_MS = 500, 300, 28_000
HOUR_MS = 3_600_000
PACE = 0.9


@dataclass
class Clock:
    """Time that the test moves."""

    ms: int = 0

    def now(self) -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(milliseconds=self.ms)

    def monotonic(self) -> float:
        return self.ms / 1000


@dataclass
class Host:
    """One host that is crawled by runs, each with pages that take as long as it says."""

    took_ms: dict[str, int]
    found_after_ms: int = 0
    """Time until the owner's next page is found in the one before; 0: all are known."""
    clock: Clock = field(default_factory=Clock)
    requests: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.frontier = MemoryFrontier(self.clock, default_delay_ms=DELAY_MS)
        self._numbers = count()
        self._found_at_ms: list[int] = []

    async def crawl(self, duration_ms: int) -> Counter[str]:
        """Make requests for so long; return their number by run."""
        await self.frontier.take_over(0, 1)
        await self.frontier.begin_rebuild(0, 1)
        await self.frontier.finish_rebuild(0, 1, groups=[], sequence=0)
        for run in self.took_ms:
            for _ in range(1 if run == OWNER and self.found_after_ms else 3):
                await self._accept(run)
        while self.clock.ms < duration_ms:
            await self._accept_found()
            result = await self.frontier.release(0, 1, limit=1, lease_ms=60_000)
            for lease in result.leases:
                await self._fetch(lease)
            if not result.leases:
                due_ms = result.next_due_ms and result.next_due_ms - result.now_ms
                found_ms = min(self._found_at_ms, default=self.clock.ms + HOUR_MS) - self.clock.ms
                self.clock.ms += max(1, min(found_ms, HOUR_MS if due_ms is None else due_ms))
        return self.requests

    async def _fetch(self, lease: Lease) -> None:
        entry = lease.entry
        run, number = entry.execution_id, key_fingerprint(entry.url_key)
        self.requests[run] += 1
        [mark] = await self.frontier.mark_started([(0, lease.lease_id)], nonce="f", deadline_ms=DEADLINE_MS)
        self.clock.ms += self.took_ms[run]
        await self._accept_found()
        ended = EndedRequest(
            lease.lease_id, mark.now_us // 1000, entry.group, entry_id(entry.job_id, entry.url_key)
        )
        await self.frontier.end_requests(0, 1, [ended])
        closed = EntryConclusion(entry, EntryDisposition.CLOSE, "j", number, lease.lease_id)
        await self.frontier.conclude(0, 1, [closed])
        if run == OWNER and self.found_after_ms:
            self._found_at_ms.append(self.clock.ms + self.found_after_ms)
        else:
            await self._accept(run)

    async def _accept_found(self) -> None:
        for _ in [at_ms for at_ms in self._found_at_ms if at_ms <= self.clock.ms]:
            await self._accept(OWNER)
        self._found_at_ms = [at_ms for at_ms in self._found_at_ms if at_ms > self.clock.ms]

    async def _accept(self, run: str) -> None:
        url = f"https://a.test/{next(self._numbers)}"
        key = sha256(url.encode()).hexdigest()
        entry = EntryRecorded("j", key, url, "a.test", "pending", run, "s", 0, 0)
        await self.frontier.accept(0, 1, [AcceptedEntry(entry, "j", key_fingerprint(key))])


async def pace_beside(raw: dict[str, int], *, page_ms: int = PAGE_MS, found_after_ms: int = 0) -> float:
    """Return the pace of the owner beside raw runs, as part of that alone; all raw runs get requests."""
    alone = await Host({OWNER: page_ms}, found_after_ms).crawl(HOUR_MS)
    beside = await Host({OWNER: page_ms} | raw, found_after_ms).crawl(HOUR_MS)
    assert all(beside[run] for run in raw)
    return beside[OWNER] / alone[OWNER]


@pytest.mark.parametrize("took_ms", [3_000, DEADLINE_MS])
async def test_an_owner_keeps_nine_tenths_of_the_pace_beside_a_slow_raw_run(took_ms: int) -> None:
    assert await pace_beside({RAW[0]: took_ms}) > PACE


async def test_an_owner_whose_pages_are_found_one_by_one_keeps_the_pace_too() -> None:
    assert await pace_beside({RAW[0]: DEADLINE_MS}, found_after_ms=800) > PACE


@pytest.mark.parametrize("took_ms", [PAGE_MS, 2_000, DEADLINE_MS])
async def test_an_owner_has_half_of_the_time_beside_any_number_of_raw_runs(took_ms: int) -> None:
    assert len(RAW) == FLOWS_PER_HALF
    assert await pace_beside(dict.fromkeys(RAW, took_ms)) == pytest.approx(0.5, abs=0.02)


async def test_runs_take_turns_on_a_host_that_is_slow_for_all() -> None:
    assert await pace_beside({RAW[0]: 5_000}, page_ms=5_000) == pytest.approx(0.5, abs=0.02)


async def test_a_slow_raw_run_keeps_its_pace_where_it_is_alone() -> None:
    assert (await Host({RAW[0]: 5_000}).crawl(HOUR_MS))[RAW[0]] == HOUR_MS // 5_000

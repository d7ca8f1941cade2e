"""What memory does beside keeping the contract."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id, key_fingerprint
from strider.frontier.memory.frontier import MemoryFrontier
from strider.frontier.models import (
    AcceptedEntry,
    EndedRequest,
    EntryConclusion,
    EntryDisposition,
    HostGroupState,
)


@dataclass
class TwoClocks:
    """A wall clock that steps, and one that does not."""

    wall: datetime = datetime(2026, 3, 1, tzinfo=UTC)
    seconds: float = 0.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def _accepted(number: int, group: str) -> AcceptedEntry:
    url = f"https://{group}/{number}"
    key = sha256(url.encode()).hexdigest()
    return AcceptedEntry(
        EntryRecorded("j", key, url, group, "pending", "x", "s", 0, 0), "j", key_fingerprint(key)
    )


async def _ready(frontier: MemoryFrontier, *groups: HostGroupState) -> None:
    await frontier.take_over(0, 1)
    await frontier.begin_rebuild(0, 1)
    await frontier.finish_rebuild(0, 1, groups=groups, sequence=0)


async def test_a_step_of_the_wall_clock_moves_nothing() -> None:
    """Neither a burst nor a halt when an operator sets the time."""
    clock = TwoClocks()
    frontier = MemoryFrontier(clock)
    await _ready(frontier, HostGroupState("a.test", delay_ms=1_000))
    await frontier.accept(0, 1, [_accepted(number, "a.test") for number in range(2)])
    [lease] = (await frontier.release(0, 1, limit=9, lease_ms=60_000)).leases
    await frontier.end_requests(0, 1, [EndedRequest(lease.lease_id, lease.issued_at_ms, "a.test", "")])

    counts = []
    for step, passed in ((timedelta(hours=1), 0.5), (timedelta(hours=-2), 0.49), (timedelta(), 0.01)):
        clock.wall += step
        clock.seconds += passed
        counts.append(len((await frontier.release(0, 1, limit=9, lease_ms=60_000)).leases))

    assert counts == [0, 0, 1]


async def test_deserted_places_do_not_pile_up() -> None:
    """Blocks that are set again and again leave old places in the order of groups behind."""
    clock = TwoClocks()
    frontier = MemoryFrontier(clock)
    await _ready(frontier)
    await frontier.accept(0, 1, [_accepted(1, "a.test")])
    now_ms = (await frontier.release(0, 1, limit=0, lease_ms=1)).now_ms

    for number in range(5_000):
        blocked = HostGroupState("a.test", 0, blocked_until_ms=now_ms + 3_600_000 + number)
        await frontier.set_host_groups(0, 1, [blocked])

    kept = frontier._shards[0].groups._due
    assert sum(len(due) for due in kept.values()) <= 100


async def test_a_host_with_very_many_pages_costs_no_more_than_others() -> None:
    """No call looks at all entries or groups: half a million steps would take minutes, not a moment."""
    clock = TwoClocks()
    frontier = MemoryFrontier(clock, default_delay_ms=0)
    await _ready(frontier)
    await frontier.accept(0, 1, [_accepted(number, "big.test") for number in range(5_000)])
    await frontier.accept(0, 1, [_accepted(0, f"h{number}.test") for number in range(2_000)])
    released = 0
    while leases := (await frontier.release(0, 1, limit=100, lease_ms=60_000)).leases:
        released += len(leases)
        done = [
            EntryConclusion(
                lease.entry, EntryDisposition.CLOSE, "j", key_fingerprint(lease.entry.url_key), lease.lease_id
            )
            for lease in leases
        ]
        await frontier.conclude(0, 1, done)

    assert released == 7_000
    assert entry_id("j", _accepted(0, "big.test").entry.url_key) not in frontier._shards[0].entries._slots

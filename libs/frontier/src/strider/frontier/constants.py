"""What both families of the working set must do alike: names of leases, and the fixed numbers.

Pure. Knows neither Redis nor how memory lays things out.
"""

from __future__ import annotations

import re
from typing import Final

from strider.contracts.generated.enums import EntryReason
from strider.contracts.generated.events import EntryRecorded

from .models import QueueLimits

PRIORITIES: Final = (3, 2, 1, 0)
"""High, medium, low, discovery: the order in which queues are looked at."""

START_TOLERANCE_MS: Final = 2_000
"""How long after its mark a request may still write its head; later the fetcher must not."""

MARK_MARGIN_MS: Final = 5_000
"""How long after its deadline a started lease still waits for its outcome."""

OUTCOME_DECISION_MS: Final = 60_000
"""How long an outcome may wait for what is decided about it, before its lease counts as one that ran out."""

DEFAULT_DELAY_MS: Final = 1_000
"""Delay of a group that was not set yet: polite until the owner knows better."""

VISITED_TTL_MS: Final = 7 * 24 * 3600 * 1000
"""Age of a generation of the seen-set; what was seen is known for one to two of them."""

STALE_MS: Final = 7 * 24 * 3600 * 1000
"""A page that was fetched so long before it is due again is stale."""

MAX_EXPIRED_PER_CALL: Final = 500
"""How many leases that ran out one release names; the rest comes with the next."""

ROBOTS_KIND: Final = "robots"
"""Kind of the requests whose leases live alone, without an entry."""

NO_QUEUE_LIMITS: Final = QueueLimits()
"""Everything is queued."""

_LEASE_ID: Final = re.compile(r"[0-9]+-([0-9a-f]+)-([0-9]+)")


def lease_id(shard: int, epoch: int, sequence: int) -> str:
    """Name a lease."""
    return f"{shard}-{epoch:x}-{sequence}"


def parse_lease_id(name: str) -> tuple[int, int]:
    """Take epoch and sequence out of a lease's name; zeros, which no lease has, where it is none."""
    match = _LEASE_ID.fullmatch(name)
    return (int(match[1], 16), int(match[2])) if match else (0, 0)


def first_sequence(recorded: int, now_ms: int) -> int:
    """Say above which number fetch sequences go on after a rebuild.

    Records do not know the leases whose outcome never came, and a number given twice could start a
    request in another one's name. The clock does better: no shard gives a lease every millisecond.
    """
    return max(recorded, now_ms)


def queue_priority(entry: EntryRecorded) -> int:
    """Give the queue that an entry belongs to."""
    return queue_priority_of(entry, due_at_ms=entry.due_at_ms, fetched_at_ms=entry.fetched_at_ms)


def queue_priority_of(sample: EntryRecorded, *, due_at_ms: int, fetched_at_ms: int) -> int:
    """Give the queue of an entry like this one, but with times of its own.

    Its priority says which. What comes again goes one higher where its last round ended in a failure, or was
    long ago: of pages that are worth the same, those come first that one has least of.
    """
    priority = sample.priority
    if not 0 <= priority <= PRIORITIES[0]:
        priority = min(max(priority, 0), PRIORITIES[0])
    if sample.reason == EntryReason.DUE_AGAIN and 0 < priority < PRIORITIES[0]:
        return priority + int(bool(sample.error_class) or due_at_ms - fetched_at_ms >= STALE_MS)
    return priority

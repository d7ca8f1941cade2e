"""What both families of the working set must do alike: names of leases, and the fixed numbers.

Pure. Knows neither Redis nor how memory lays things out.
"""

from __future__ import annotations

import re
from typing import Final

from strider.contracts.generated.events import EntryRecorded

from .values import Room

PRIORITIES: Final = (3, 2, 1, 0)
"""High, medium, low, discovery: the order in which queues are looked at."""

START_GRACE_MS: Final = 2_000
"""How long after its mark a request may still write its head; later the fetcher must not."""

MARK_MARGIN_MS: Final = 5_000
"""How long after its deadline a started lease still waits for its outcome."""

UNDECIDED_MS: Final = 60_000
"""How long an outcome may wait for what is decided about it, before its lease counts as one that ran out."""

DEFAULT_DELAY_MS: Final = 1_000
"""Delay of a group that was not set yet: polite until the owner knows better."""

VISITED_TTL_MS: Final = 7 * 24 * 3600 * 1000
"""Age of a generation of the seen-set; what was seen is known for one to two of them."""

EXPIRED_A_CALL: Final = 500
"""How many leases that ran out one release names; the rest comes with the next."""

ROBOTS: Final = "robots"
"""Kind of the requests whose leases live alone, without an entry."""

UNLIMITED: Final = Room()
"""Everything is queued."""

_LEASE_NAME: Final = re.compile(r"[0-9]+-([0-9a-f]+)-([0-9]+)")


def lease_id(shard: int, epoch: int, sequence: int) -> str:
    """Name a lease."""
    return f"{shard}-{epoch:x}-{sequence}"


def lease_numbers(name: str) -> tuple[int, int]:
    """Take epoch and sequence out of a lease's name; zeros, which no lease has, where it is none."""
    match = _LEASE_NAME.fullmatch(name)
    return (int(match[1], 16), int(match[2])) if match else (0, 0)


def first_sequence(recorded: int, now_ms: int) -> int:
    """Say above which number fetch sequences go on after a rebuild.

    Records do not know the leases whose outcome never came, and a number given twice could start a
    request in another one's name. The clock does better: no shard gives a lease every millisecond.
    """
    return max(recorded, now_ms)


def rank(entry: EntryRecorded) -> int:
    """Give the queue that an entry belongs to."""
    priority = entry.priority
    return priority if 0 <= priority <= PRIORITIES[0] else min(max(priority, 0), PRIORITIES[0])

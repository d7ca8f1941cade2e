"""Constants, lease ids and queue priorities that both working sets share.

Pure. Knows neither Redis nor how memory lays things out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from strider.contracts.generated.enums import EntryReason
from strider.contracts.generated.events import EntryRecorded

from .models import HostPace, QueueLimits

PRIORITIES: Final = (3, 2, 1, 0)
"""High, medium, low, discovery: the order in which queues are served."""

START_TOLERANCE_MS: Final = 2_000
"""Time after its start mark in which a request may still write its head; the fetcher must not do so later."""

MARK_MARGIN_MS: Final = 5_000
"""Time after its deadline for which a started lease still waits for its outcome."""

OUTCOME_DECISION_MS: Final = 60_000
"""Time an outcome may wait for its conclusion before its lease counts as expired."""

DEFAULT_DELAY_MS: Final = 1_000
"""Delay of a host group without a pace, where the owner of the working set names no other."""

VISITED_TTL_MS: Final = 7 * 24 * 3600 * 1000
"""Age of a generation of the seen set; a seen URL is known for one to two of them."""

STALE_MS: Final = 7 * 24 * 3600 * 1000
"""A page fetched this long before it is due again is stale."""

MAX_EXPIRED_PER_CALL: Final = 500
"""Most expired leases that one release reports; the rest follow with the next."""

ROBOTS_KIND: Final = "robots"
"""Kind of the requests whose leases are standalone, without an entry."""

MAX_PACES: Final = 64
"""Different paces of owners' runs in a host group that are counted apart; further ones share others."""

MAX_PACES_OF_FLOW: Final = 4
"""The same for each flow of raw senders."""

NO_PACES: Final[Mapping[str, HostPace]] = MappingProxyType({})
"""Entries without a pace: delay and limits of their groups are the default or an override."""

NO_QUEUE_LIMITS: Final = QueueLimits()
"""Everything is queued."""

_LEASE_ID: Final = re.compile(r"[0-9]+-([0-9a-f]+)-([0-9]+)")


def lease_id(shard: int, epoch: int, sequence: int) -> str:
    """Return the id of a lease."""
    return f"{shard}-{epoch:x}-{sequence}"


def parse_lease_id(name: str) -> tuple[int, int]:
    """Return epoch and sequence of a lease id; zeros, which no lease has, for an invalid one."""
    match = _LEASE_ID.fullmatch(name)
    return (int(match[1], 16), int(match[2])) if match else (0, 0)


def first_sequence(recorded: int, now_ms: int) -> int:
    """Return the number above which fetch sequences continue after a rebuild.

    Records do not include leases whose outcome never arrived, and a number issued twice could start a request
    under another lease. The clock is a safe bound: no shard issues a lease every millisecond.
    """
    return max(recorded, now_ms)


def queue_priority(entry: EntryRecorded) -> int:
    """Return the priority of the queue that an entry belongs to."""
    return queue_priority_of(entry, due_at_ms=entry.due_at_ms, fetched_at_ms=entry.fetched_at_ms)


def queue_priority_of(sample: EntryRecorded, *, due_at_ms: int, fetched_at_ms: int) -> int:
    """Return the queue priority of an entry like the sample, with times of its own.

    It follows from the entry's priority. A recrawl is raised by one where its last fetch failed or is long
    ago: among pages of the same value, those with the least usable content come first.
    """
    priority = sample.priority
    if not 0 <= priority <= PRIORITIES[0]:
        priority = min(max(priority, 0), PRIORITIES[0])
    if sample.reason == EntryReason.DUE_AGAIN and 0 < priority < PRIORITIES[0]:
        return priority + int(bool(sample.error_class) or due_at_ms - fetched_at_ms >= STALE_MS)
    return priority

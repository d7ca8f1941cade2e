"""The values in which a working set is asked and answers. They decide nothing.

All times are milliseconds of the one clock, but where a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.events import EntryRecorded


class LookupStatus(StrEnum):
    """What the working set knows of an entry."""

    UNKNOWN = "unknown"
    """Never seen, or so long ago that it counts as new."""
    SEEN = "seen"
    """Accepted or refused for good before, and not open now."""
    OPEN = "open"
    """Queued, parked, leased, or on its way round the ring."""


@fast_dataclass(frozen=True, slots=True)
class EntryLookup:
    """Is this entry known? Seeds ask too, for their token."""

    entry_id: str
    """`entry_id(job_id, url_key)`."""
    seen_scope: str
    """Whose seen-set: a job, or one crawl spec of the standing job."""
    fingerprint: int
    """64 bits of the URL key."""


@fast_dataclass(frozen=True, slots=True)
class EntryLookupResult:
    """What is known of an entry."""

    status: LookupStatus
    entry: EntryRecorded | None = None
    """Where it is open and not parked: as it was accepted, or concluded, last, with the fetch sequence of the
    lease that has it, if one has: a page may be settled before its outcome is read."""
    seed_token: str = ""
    """The seed that opened it last; empty for links and for what was forgotten."""


@fast_dataclass(frozen=True, slots=True)
class AcceptedEntry:
    """An entry to be queued, whose truth is committed."""

    entry: EntryRecorded
    seen_scope: str
    fingerprint: int


@fast_dataclass(frozen=True, slots=True)
class RefusedUrl:
    """A URL that was refused for good: it is not asked about again."""

    seen_scope: str
    fingerprint: int


class SeenEntry(NamedTuple):
    """What a working set knows of an entry that is not open. A tuple, because a rebuild makes millions."""

    entry_id: str
    seen_scope: str
    fingerprint: int
    seen_at_ms: int
    seed_token: str = ""


class SeenBatch(NamedTuple):
    """URLs of one scope that were seen at about the same time, as the log says."""

    seen_scope: str
    seen_at_ms: int
    fingerprints: Sequence[int]


class LeaseState(StrEnum):
    """How far a lease has come."""

    ISSUED = "issued"
    STARTED = "started"


@fast_dataclass(frozen=True, slots=True)
class Lease:
    """One request that may be made for an entry."""

    lease_id: str
    """`<shard>-<epoch in hex>-<sequence>`: never given twice."""
    entry: EntryRecorded
    """With the fetch sequence of this lease, which grows within the shard for ever."""
    issued_at_ms: int
    expires_at_ms: int
    state: LeaseState = LeaseState.ISSUED


@fast_dataclass(frozen=True, slots=True)
class ReleaseResult:
    """What one look at the queues of a shard gave."""

    leases: Sequence[Lease]
    """New leases, at most one for each free place of a group."""
    expired: Sequence[Lease]
    """Leases that ran out, named by each look until they are concluded (some hundred at a time); their groups
    are free again, their entries taken."""
    now_ms: int
    next_due_ms: int | None
    """When there is something to release, or a lease runs out, at the earliest (in the past where the limit
    left some); None where nothing waits for time alone."""


@fast_dataclass(frozen=True, slots=True)
class LeaseSwap:
    """Give a lease's place to another request of the group: robots.txt comes before pages."""

    lease_id: str
    request: EntryRecorded
    """What is asked instead; never queued, its lease lives alone."""


@fast_dataclass(frozen=True, slots=True)
class EndedRequest:
    """A request has ended: its group may have the next one, after the delay."""

    lease_id: str
    started_at_ms: int
    """When its head was written; 0 where it was not, and then no delay is used up."""
    group: str
    entry_id: str
    """For outcomes of leases that are gone; empty for robots requests, which have no entry."""


class OutcomeStatus(StrEnum):
    """What ended with a freed lease."""

    CURRENT = "current"
    """The lease has its entry, or nobody has: the outcome counts, and the entry is taken until concluded."""
    STALE = "stale"
    """Another lease has the entry, its page goes round, it is closed, or this outcome was concluded before:
    the outcome is to be dropped."""


class EntryDisposition(StrEnum):
    """What becomes of an entry."""

    QUEUE = "queue"
    """It waits (again) until its `due_at_ms`."""
    PIPELINE = "ring"
    """It was fetched; its page goes round until it is settled."""
    CLOSE = "close"
    """It is over."""
    CLOSE_AND_FORGET = "close_and_forget"
    """It is over untried: a link to it counts as new."""


@fast_dataclass(frozen=True, slots=True)
class EntryConclusion:
    """The fate of an entry, whose truth is committed; ends the lease that is named.

    One of a robots request (kind `robots`) ends its lease and touches no entry.
    """

    entry: EntryRecorded
    disposition: EntryDisposition
    seen_scope: str
    fingerprint: int
    lease_id: str = ""


@fast_dataclass(frozen=True, slots=True)
class HostGroupState:
    """What holds for a group: set whole by the owner, kept apart from its clock.

    A group that was never set has the working set's default delay (1 s) and one place.
    """

    group: str
    delay_ms: int
    max_in_flight: int = 1
    blocked_until_ms: int = 0
    """No request before; 0 for no block."""
    not_before_ms: int = 0
    """Moves the clock forwards, never back; 0 leaves it."""


@fast_dataclass(frozen=True, slots=True)
class RunEntryCounts:
    """Entries of one execution in one shard."""

    open: int
    accepted: int
    """What the log knew when the shard was rebuilt, and since then: grows only, until it is rebuilt again."""


@fast_dataclass(frozen=True, slots=True)
class QueueLimits:
    """How much of a shard may be queued; what is beyond is parked: only in the log, and known to be there.

    Zeros set no limit.
    """

    entries_per_group: int = 0
    """Entries of one group; those of high priority may be twice as many."""
    horizon_ms: int = 0
    """How far ahead a queued entry may be due."""
    memory_percent: int = 0
    """Part of the store's memory from which on nothing more is queued; memory itself has no such limit."""
    minimum_entries: int = 0
    """So many are queued however full the store is, or the crawl would stand where other things fill it."""


@fast_dataclass(frozen=True, slots=True)
class ShardStats:
    """How full a shard is."""

    queued: int
    leased: int
    in_pipeline: int
    host_groups: int
    seen: int
    now_ms: int
    overflow: int = 0
    """Entries that are only in the log until their group, or the store, has room."""
    deferred: int = 0
    """Entries that are only in the log until they are nearly due."""
    refillable_groups: int = 0
    """Groups that have entries parked, and few queued."""
    next_deferred_due_ms: int = 0
    """When the first of those asleep is due, at the earliest; 0 where none is."""
    memory_percent: int = 0
    """How full the store is; 0 where nothing limits it."""
    due_groups: int = 0
    """Groups of which a request could begin now."""


class EntryLocation(StrEnum):
    """Where an open entry is."""

    QUEUED = "queued"
    LEASED = "leased"
    PIPELINE = "ring"


@fast_dataclass(frozen=True, slots=True)
class EntryScan:
    """A part of the open entries of a shard."""

    entries: Sequence[tuple[EntryRecorded, EntryLocation]]
    cursor: int
    """Where to go on; 0: that was all. What is open all the time is shown at least once."""
    now_ms: int


@fast_dataclass(frozen=True, slots=True)
class TakeoverResult:
    """Answer to taking a shard."""

    is_ready: bool
    """False: the working set is absent, was replaced or came back older, and must be rebuilt."""
    now_ms: int


class LogPassPart(StrEnum):
    """Which part of a round through the log a refill is; a round says when the next sleeper wakes."""

    BEGIN = "begin"
    MIDDLE = ""
    END = "end"
    WHOLE = "whole"


class StartResult(StrEnum):
    """Whether a request may start."""

    STARTED = "started"
    GONE = "gone"
    """Expired, superseded, or started by somebody else: drop it, the lease's own end repairs it."""


@fast_dataclass(frozen=True, slots=True)
class StartMark:
    """Answer to marking a lease."""

    result: StartResult
    now_us: int
    """The one clock at the moment of the mark, in microseconds since 1970."""

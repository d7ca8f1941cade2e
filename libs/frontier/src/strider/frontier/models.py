"""Values and enums of a working set's calls: entries, leases, host groups, counters.

Pure data: decides nothing, imports no I/O. Times are milliseconds of the frontier's one clock, unless a name
says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.events import EntryRecorded


class LookupStatus(StrEnum):
    """Knowledge of the working set about an entry."""

    UNKNOWN = "unknown"
    """Never seen, or so long ago that it counts as new."""
    SEEN = "seen"
    """Accepted or refused for good before, and not open now."""
    OPEN = "open"
    """Queued, parked, leased, or in the pipeline."""


@fast_dataclass(frozen=True, slots=True)
class EntryLookup:
    """A request for what is known of an entry; for seeds also of their token."""

    entry_id: str
    """`entry_id(job_id, url_key)`."""
    seen_scope: str
    """Owner of the seen set: a job, or one crawl spec of the job `adhoc`."""
    fingerprint: int
    """64 bits of the URL key."""


@fast_dataclass(frozen=True, slots=True)
class EntryLookupResult:
    """Result of a lookup of an entry."""

    status: LookupStatus
    entry: EntryRecorded | None = None
    """Set where it is open and not parked: as accepted or concluded last, with the fetch sequence of the
    lease that holds it, if any: a page may be settled before its outcome is read.
    """
    seed_token: str = ""
    """Token of the seed that opened it last; empty for links and for forgotten entries."""


class HostPace(NamedTuple):
    """Settings of a crawl spec for the host groups in which it has open entries."""

    delay_ms: int | None
    """None: as the group has it. For runs of owners that is the working set's default delay."""
    max_in_flight: int = 1
    patience_seconds: int = 86_400
    """How long after the start of a block entries are still held back."""


@fast_dataclass(frozen=True, slots=True)
class AcceptedEntry:
    """An entry to queue, whose record is committed to the log."""

    entry: EntryRecorded
    seen_scope: str
    fingerprint: int


@fast_dataclass(frozen=True, slots=True)
class RefusedFingerprint:
    """A URL refused for good: recorded as seen."""

    seen_scope: str
    fingerprint: int


class SeenEntry(NamedTuple):
    """A known entry that is not open. A tuple, because a rebuild makes millions."""

    entry_id: str
    seen_scope: str
    fingerprint: int
    seen_at_ms: int
    seed_token: str = ""


class SeenBatch(NamedTuple):
    """URLs of one scope that were seen at about the same time, according to the log."""

    seen_scope: str
    seen_at_ms: int
    fingerprints: Sequence[int]


class LeaseState(StrEnum):
    """State of a lease's request."""

    ISSUED = "issued"
    STARTED = "started"


@fast_dataclass(frozen=True, slots=True)
class Lease:
    """Permission for one request for an entry."""

    lease_id: str
    """`<shard>-<epoch in hex>-<sequence>`: never issued twice."""
    entry: EntryRecorded
    """With the fetch sequence of this lease, which grows within the shard for ever."""
    issued_at_ms: int
    expires_at_ms: int
    state: LeaseState = LeaseState.ISSUED


@fast_dataclass(frozen=True, slots=True)
class ReleaseResult:
    """Result of one release."""

    leases: Sequence[Lease]
    """New leases, at most one for each free request slot of a host group."""
    expired: Sequence[Lease]
    """Expired leases, reported by each release until they are concluded (some hundred at a time); their
    request slots are free again, their entries held.
    """
    now_ms: int
    next_due_ms: int | None
    """Earliest time of the next release or expiry (in the past where the limit left some); None where nothing
    waits for time alone.
    """


@fast_dataclass(frozen=True, slots=True)
class LeaseSwap:
    """Replacement of a lease by one for another request of its group: robots.txt precedes pages."""

    lease_id: str
    request: EntryRecorded
    """Request to make instead; it is never queued, its lease is standalone."""


@fast_dataclass(frozen=True, slots=True)
class EndedRequest:
    """A request that has ended: its group may have the next one, after the delay."""

    lease_id: str
    started_at_ms: int
    """When its head was written; 0 where it was not, and then no delay applies."""
    group: str
    entry_id: str
    """For outcomes of leases that are gone; empty for robots requests, which have no entry."""


class OutcomeStatus(StrEnum):
    """Whether the outcome of an ended request counts."""

    CURRENT = "current"
    """The lease holds its entry, or no lease does: the outcome counts, and the entry stays held until
    concluded.
    """
    STALE = "stale"
    """Another lease holds the entry, its page is in the pipeline, it is closed, or this outcome was concluded
    before: drop the outcome.
    """


class EntryDisposition(StrEnum):
    """The place of an entry after a decision."""

    QUEUE = "queue"
    """It waits (again) until its `due_at_ms`."""
    PIPELINE = "ring"
    """It was fetched; its page is in the pipeline until settled."""
    CLOSE = "close"
    """It is closed."""
    CLOSE_AND_FORGET = "close_and_forget"
    """It is closed without an attempt: a link to it counts as new."""


@fast_dataclass(frozen=True, slots=True)
class EntryConclusion:
    """Disposition of an entry whose record is committed; ends the named lease.

    For a robots request (kind `robots`) it ends the lease and touches no entry.
    """

    entry: EntryRecorded
    disposition: EntryDisposition
    seen_scope: str
    fingerprint: int
    lease_id: str = ""


@fast_dataclass(frozen=True, slots=True)
class HostGroupState:
    """Politeness of a host group: set as a whole by the owner, separate from the group's clock.

    What is None follows from the paces of the group's open entries: the longest delay, the fewest requests in
    flight. Those of raw senders count where no run of an owner has open entries, and up to the default delay;
    what they ask beyond that holds for their own flow. Without any, a group has the working set's default
    delay and allows one request at a time.
    """

    group: str
    delay_ms: int | None
    max_in_flight: int | None = 1
    blocked_until_ms: int = 0
    """No request before this time; 0 for no block."""
    not_before_ms: int = 0
    """Moves the clock forwards, never back; 0 leaves it."""
    least_delay_ms: int | None = 0
    """The delay is never shorter. None, where the owner does not know it, leaves what was set before."""
    blocked_since_ms: int = 0
    """Start of the block, from which the shortest patience of a pace ends it; 0: no pace does."""
    started_at_ms: int = 0
    """A time at which a request may have started: the next one is due a delay later; 0 for none."""


@fast_dataclass(frozen=True, slots=True)
class RunEntryCounts:
    """Numbers of entries of one execution in one shard."""

    open: int
    accepted: int
    """Count of the log when the shard was rebuilt, plus what came since: only grows until the next rebuild.
    """


@fast_dataclass(frozen=True, slots=True)
class QueueLimits:
    """Bounds of a shard's queue; the rest is parked: only in the log, and known to be there.

    Zeros set no limit.
    """

    entries_per_group: int = 0
    """Queued entries of one host group; twice as many of high priority."""
    horizon_ms: int = 0
    """How far ahead a queued entry may be due."""
    memory_percent: int = 0
    """Fill of the store's memory from which nothing more is queued; the memory frontier has no such limit."""
    minimum_entries: int = 0
    """Entries queued however full the store is, so that the crawl continues where other data fills it."""


@fast_dataclass(frozen=True, slots=True)
class ShardStats:
    """Counters of a shard."""

    queued: int
    leased: int
    in_pipeline: int
    host_groups: int
    seen: int
    now_ms: int
    overflow: int = 0
    """Entries parked until their host group, or the store, has room."""
    deferred: int = 0
    """Entries parked until they are nearly due."""
    refillable_groups: int = 0
    """Host groups with overflow and few queued entries."""
    next_deferred_due_ms: int = 0
    """Earliest due time of the deferred entries; 0 where there are none."""
    memory_percent: int = 0
    """Fill of the store's memory; 0 where it has no limit."""
    due_groups: int = 0
    """Host groups of which a request could start now."""


class EntryLocation(StrEnum):
    """Location of an open entry."""

    QUEUED = "queued"
    LEASED = "leased"
    PIPELINE = "ring"


@fast_dataclass(frozen=True, slots=True)
class EntryScan:
    """A part of the open entries of a shard."""

    entries: Sequence[tuple[EntryRecorded, EntryLocation]]
    cursor: int
    """Cursor of the next part; 0 after the last. An entry that stays open is returned at least once."""
    now_ms: int


@fast_dataclass(frozen=True, slots=True)
class TakeoverResult:
    """Result of taking over a shard."""

    is_ready: bool
    """False: the working set is absent, was replaced or is older than before, and must be rebuilt."""
    now_ms: int
    other_cluster: str = ""
    """Kafka cluster of the owner before, where that was another one: what it left counts as absent."""


class LogPassPart(StrEnum):
    """Part of a pass through the log that a refill is; a whole pass yields the next deferred due time."""

    BEGIN = "begin"
    MIDDLE = ""
    END = "end"
    WHOLE = "whole"


class StartResult(StrEnum):
    """Whether a request may start."""

    STARTED = "started"
    GONE = "gone"
    """Expired, superseded, or started by another fetcher: drop the request, expiry of the lease repairs it.
    """


@fast_dataclass(frozen=True, slots=True)
class StartMark:
    """Result of marking a lease as started."""

    result: StartResult
    now_us: int
    """Time of the mark by the frontier's clock, in microseconds since 1970."""

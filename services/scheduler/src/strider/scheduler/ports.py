"""What the topology asks of the outside besides the working set: truth, archive, specs, voice, meters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from strider.contracts.generated.events import (
    CrawlSpecDeclared,
    EntryRecorded,
    HostRecorded,
    JobEvent,
    SourceSaved,
)
from strider.frontier.constants import NO_QUEUE_LIMITS
from strider.frontier.models import QueueLimits, ShardStats
from strider.frontier.rebuild_records import RecordedEntry
from strider.messaging.effects import PublishRequest
from strider.messaging.ports import RawRecord
from strider.politeness.circuit_breaker import DEFAULT_LIMITS, BreakerLimits
from strider.scheduler.core.budgets.limits import NO_LIMITS, BudgetLimits
from strider.scheduler.core.release.backpressure import LagGate, PipelineBacklog
from strider.scheduler.core.runs.lost_pages import PipelineOffsets


class FrontierLog(Protocol):
    """The log of one shard, of which this process is the one writer."""

    @property
    def epoch(self) -> int:
        """The epoch that taking the shard was given."""

    def encode_entry(self, entry: EntryRecorded) -> RawRecord:
        """Encode an entry's record; raises EncodeError for one that is too large."""

    def tombstone(self, job_id: str, url_key: str) -> RawRecord:
        """Make the record that forgets an entry."""

    async def write(
        self, entries: Sequence[RawRecord], hosts: Sequence[HostRecorded] = (), *, at_once: bool = False
    ) -> None:
        """Write; done when it is committed, with the group or at once. Raises Unavailable or Fenced."""

    async def close(self) -> None:
        """Commit what is open, and write no more."""


class FrontierLogs(Protocol):
    """Where shards are taken."""

    async def take_over(self, shard: int) -> FrontierLog:
        """Become the one writer; fences who was before."""


class ClosedEntry(NamedTuple):
    """What a rebuild has to know of a closed entry. A tuple, because there are millions of them."""

    template: EntryRecorded
    """An entry of the same run, which was closed for the same reason; the same for many."""
    url_key: bytes
    url: bytes
    fetch_sequence: int
    updated_at_ms: int
    body_bytes: int
    busy_ms: int
    seed_token: str = ""
    is_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What the log says of some entries of a shard."""

    open: Sequence[RecordedEntry]
    closed: Sequence[ClosedEntry]
    progress: float
    """Which part of the log is behind us with these, 0 to 1."""
    expected_entries: Mapping[str, int] = field(default_factory=dict)
    """How many entries of each job there are, at about; only told with the first."""


class FrontierLogReader(Protocol):
    """What the log says of a shard, read to the end that it has now."""

    def read_entries(self, shard: int) -> AsyncIterator[Told]:
        """Give what the last record of each entry says, part by part."""

    async def read_hosts(self, shard: int) -> Sequence[HostRecorded]:
        """Give the last record of each group and origin."""

    async def read_latest(self, shard: int, is_wanted: Callable[[bytes], bool]) -> Mapping[bytes, bytes]:
        """Give the last record of each entry whose key is wanted, as it was written."""

    def decode_entry(self, value: bytes) -> EntryRecorded | None:
        """Read a record; None, and a word about it, where it cannot be read."""


class Specs(Protocol):
    """Crawl specs by their ids."""

    async def known(self, spec_ids: Iterable[str]) -> Mapping[str, CrawlSpecDeclared]:
        """Give those of these that there are; raises Unavailable."""


class Voice(Protocol):
    """Speaks outside of a handler."""

    async def publish(self, requests: Sequence[PublishRequest]) -> None:
        """Send, and wait until every event is acknowledged; raises Unavailable."""


class Bulletin(Protocol):
    """What is said to all schedulers, in the order of the log."""

    async def news(self) -> Sequence[JobEvent]:
        """Wait a little for what comes next; raises Unavailable."""

    async def read_to_end(self) -> Sequence[JobEvent]:
        """Give all that had been said by now and was not given yet; raises Unavailable."""

    async def close(self) -> None:
        """Stop reading."""


class Register(Protocol):
    """The sources that people have saved, by their ids; None for one that was dropped."""

    async def news(self) -> Sequence[tuple[str, SourceSaved | None]]:
        """Wait a little for what comes next; raises Unavailable."""

    async def read_to_end(self) -> Sequence[tuple[str, SourceSaved | None]]:
        """Give all that had been saved by now and was not given yet; raises Unavailable."""

    async def close(self) -> None:
        """Stop reading."""


class PipelineOffsetSource(Protocol):
    """How far the services of the ring are."""

    async def sound(self) -> PipelineOffsets:
        """Give what they have committed, and after that where the logs end; raises Unavailable."""


class BacklogSource(Protocol):
    """What the services of the ring have still to read."""

    async def count_unread(self) -> Mapping[LagGate, Sequence[int]]:
        """Count messages by group, topic and partition; raises Unavailable."""


class Meter(Protocol):
    """What the scheduler counts beyond messages."""

    def count_decision(self, decision: str, count: int = 1) -> None:
        """Count a decision about a URL."""

    def note_run_event(self, event: str, job_id: str, execution_id: str, kind: str, count: int) -> None:
        """Note what happened to a run, for its log."""

    def set_fullness(self, shard: int, figures: ShardStats | None) -> None:
        """Set how full a shard is; None: it has gone."""

    def set_backlog(self, backlog: PipelineBacklog) -> None:
        """Set what the services of the ring have still to read."""

    def count_refill(self, shard: int, entries: int) -> None:
        """Count a look through the log, and what it brought back into the queues."""

    def set_rebuild_progress(self, shard: int, share: float) -> None:
        """Note how far a rebuild is, 0 to 1: something moves."""


class NoSchedulerMeter:
    """Counts nothing."""

    def count_decision(self, decision: str, count: int = 1) -> None:
        """Take anything."""

    def note_run_event(self, event: str, job_id: str, execution_id: str, kind: str, count: int) -> None:
        """Take anything."""

    def set_fullness(self, shard: int, figures: ShardStats | None) -> None:
        """Take anything."""

    def set_backlog(self, backlog: PipelineBacklog) -> None:
        """Take anything."""

    def count_refill(self, shard: int, entries: int) -> None:
        """Take anything."""

    def set_rebuild_progress(self, shard: int, share: float) -> None:
        """Take anything."""


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """How this scheduler behaves."""

    shards: int
    user_agent: str = "Strider"
    """The User-Agent that the fetcher sends where a crawl spec names none."""
    heeds_robots: bool = True
    """Whether robots.txt is asked for and kept to; false takes it away from every crawl."""
    delay_seconds: float = 1.0
    breaker: BreakerLimits = DEFAULT_LIMITS
    """When a group that fails, or turns us away, is left alone altogether."""
    allow_private: bool = False
    by_domain: bool = False
    """Whether a group is a registrable domain, instead of a host."""
    default_limits: BudgetLimits = NO_LIMITS
    """What a run may spend where its crawl spec does not say."""
    lease_seconds: float = 30.0
    """How long a request may wait for a fetcher before its place is given to another."""
    release_batch: int = 200
    """Leases of one look at a shard's queues."""
    in_flight: int = 500
    """Entries of a shard under way (leased, or in the ring); beyond it nothing is released."""
    release_lag: int = 10_000
    """Messages that may wait in all of the ring before nothing more is released; 0 sets no limit."""
    rebuild_hold_seconds: float | None = None
    """How long no group is asked after a rebuild; None: the longest deadline and a margin."""
    robots_cache_characters: int = 16 * 1024 * 1024
    """Of robots.txt texts kept in memory, for each shard."""
    max_cached_groups: int = 50_000
    """Groups kept in memory for each shard; those that matter longer are kept all the same."""

    lost_pages_interval_seconds: float = 10.0
    """How often it is looked whether pages on their way round can still come back."""
    queue_limits: QueueLimits = NO_QUEUE_LIMITS
    """How much of a shard the working set queues; the rest is parked."""
    refill_seconds: float = 10.0
    """How often it is looked whether a shard wants a look through its log."""
    retention_interval_seconds: float = 86_400.0
    """How often a shard lets go of what is over; 0 is never."""
    keep_closed_seconds: float = 30 * 86_400.0
    """How long the log keeps an entry that is closed."""
    refill_keys_per_part: int = 100_000
    """Entries whose records one look through the log keeps in memory; a larger shard takes several."""

    @property
    def lease_ms(self) -> int:
        """The lease in milliseconds."""
        return round(self.lease_seconds * 1000)

"""Ports of the scheduler: frontier log, reader, feeds, offsets, backlogs, metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from strider.contracts.generated.events import (
    AdaptiveRecorded,
    EntryRecorded,
    HostRecorded,
    JobEvent,
    SourceSaved,
)
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.topic_follower import EventFeed
from strider.frontier.models import ShardStats
from strider.frontier.ports import WorkingSet
from strider.frontier.rebuild_records import RecordedEntry
from strider.jobs.models import Distribution, ScheduleMetrics
from strider.jobs.ports import JobStore
from strider.jobs.states import ExecutionState
from strider.messaging.ports import Clock, RawRecord
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.log_events import LogEvent
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.adapters.jobs.run_publisher import RunPublisher
from strider.scheduler.core.release.backpressure import LagGate, PipelineBacklog
from strider.scheduler.core.runs.lost_pages import PipelineOffsets
from strider.scheduler.core.runs.run_proof import CompletionOffsets

OnHost = Callable[[str, HostRecorded | None], None]
"""Takes the name of a host group or an origin, and its record; None where that was deleted."""


class FrontierLog(Protocol):
    """Frontier log of one shard, whose only writer is this process."""

    @property
    def epoch(self) -> int:
        """Epoch given at the takeover of the shard."""

    @property
    def cluster(self) -> str:
        """Identity of the Kafka cluster that the epoch is of."""

    def encode_entry(self, entry: EntryRecorded) -> RawRecord:
        """Encode the record of an entry; raises EncodeError where it is too large."""

    def tombstone(self, job_id: str, url_key: str) -> RawRecord:
        """Return the record that deletes an entry."""

    def encode_host(self, host: HostRecorded) -> RawRecord:
        """Encode the record of a host group or an origin; raises EncodeError where it is too large."""

    def host_tombstone(self, name: str) -> RawRecord:
        """Return the record that deletes a host group or an origin."""

    async def write(
        self, entries: Sequence[RawRecord], hosts: Sequence[RawRecord] = (), *, at_once: bool = False
    ) -> None:
        """Write in one transaction, and return once it is committed. Raises Unavailable or Fenced."""

    async def publish_facts(self, facts: Sequence[JobEvent]) -> None:
        """Publish on job-events, in the shard's transactions: a fenced owner publishes nothing.

        Raises Unavailable where it is not known whether they were published.
        """

    async def write_adaptive(self, state: AdaptiveRecorded) -> None:
        """Write the state of a source in the shard's transactions, and return once it is committed.

        Raises Unavailable where it is not known whether it was, and ShardFenced.
        """

    async def delete_adaptive(self, source_ids: Sequence[str]) -> None:
        """Delete the states of sources, and return once that is committed; may raise as above."""

    async def close(self) -> None:
        """Commit what is open, and write no more."""


class FrontierLogs(Protocol):
    """Frontier logs of all shards."""

    async def take_over(self, shard: int) -> FrontierLog:
        """Become the only writer of a shard, and fence the previous one."""


class ClosedEntry(NamedTuple):
    """Fields of a closed entry that a rebuild needs. A tuple, because there are millions of them."""

    template: EntryRecorded
    """An entry of the same run, closed for the same reason; shared by many."""
    url_key: bytes
    url: bytes
    fetch_sequence: int
    updated_at_ms: int
    body_bytes: int
    busy_ms: int
    seed_token: str = ""
    is_forgotten: bool = False
    discovered_at_ms: int = 0
    """When it was accepted; only of seeds."""
    raw_hash: str = ""
    text_hash: str = ""
    """Hashes of its last page; only of seeds, and of entries whose reason is one of `FORGOTTEN_REASONS`."""


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Some entries of a shard, as read from its log."""

    open: Sequence[RecordedEntry]
    closed: Sequence[ClosedEntry]
    progress: float
    """Share of the log that is read with these, 0 to 1."""
    expected_entries: Mapping[str, int] = field(default_factory=dict)
    """Estimated entries by job; only in the first batch."""


class FrontierLogReader(Protocol):
    """Reads the log of a shard to its current end."""

    def read_entries(self, shard: int) -> AsyncIterator[LogBatch]:
        """Yield the last record of each entry, batch by batch."""

    async def read_hosts(self, shard: int, on_host: OnHost) -> None:
        """Pass the records of host groups and origins on, in the order of the log; keep none."""

    async def read_latest(self, shard: int, is_wanted: Callable[[bytes], bool]) -> Mapping[bytes, bytes]:
        """Return the encoded last record of each entry whose key is wanted."""

    def decode_entry(self, value: bytes) -> EntryRecorded | None:
        """Decode a record; None, and a log event, where it cannot be decoded."""


class PipelineOffsetSource(Protocol):
    """Source of the pipeline's offsets."""

    async def read_offsets(self) -> PipelineOffsets:
        """Return committed offsets, and the log ends read after them; raises Unavailable."""


class CompletionOffsetSource(Protocol):
    """Source of the offsets by which a run is proven complete."""

    async def read_completion_offsets(self) -> CompletionOffsets:
        """Return committed offsets and log ends of seeds and links-discovered; raises Unavailable."""


class BacklogSource(Protocol):
    """Source of the backlogs of the gating groups."""

    async def count_unread(self) -> Mapping[LagGate, Sequence[int]]:
        """Return unread messages by group, topic and partition; raises Unavailable."""


class SchedulerMeter(Protocol):
    """Metrics of the scheduler, beyond those of messages."""

    def count_decision(self, decision: str, count: int = 1) -> None:
        """Count decisions about URLs."""

    def note_run_event(self, event: LogEvent, job_id: str, execution_id: str, kind: str, count: int) -> None:
        """Count an event of a run, for the run's log."""

    def set_fullness(self, shard: int, figures: ShardStats | None) -> None:
        """Set the fullness of a shard; None where it is no longer owned."""

    def set_backlog(self, backlog: PipelineBacklog) -> None:
        """Set the backlog of the pipeline."""

    def count_refill(self, shard: int, entries: int) -> None:
        """Count a pass through the log, and the entries that it queued."""

    def set_rebuild_progress(self, shard: int, share: float) -> None:
        """Set the progress of a rebuild, 0 to 1, and report that the process is alive."""

    def count_completed_run(self) -> None:
        """Count a run that has ended."""

    def set_ending_runs(self, count: int) -> None:
        """Set the number of runs that are to end, and are proven here."""


class NoSchedulerMeter:
    """Counts nothing."""

    def _ignore(self, *_: object, **__: object) -> None:
        """Ignore all arguments."""

    count_decision = note_run_event = set_fullness = set_backlog = count_refill = set_rebuild_progress = (
        _ignore
    )
    count_completed_run = set_ending_runs = _ignore


class OpenRunsSource(Protocol):
    """Source of the runs that have open entries anywhere."""

    async def read_open_runs(self) -> AbstractSet[str] | None:
        """Return the runs with open entries; None where a shard is not ready. Raises Unavailable."""


@dataclass(frozen=True, slots=True)
class JobFeeds:
    """Feeds of both topics."""

    events: EventFeed[JobEvent]
    commands: EventFeed[tuple[str, JobEvent | None]]


class AdaptiveStateReader(Protocol):
    """Reads and encodes the states of sources."""

    async def read_states(self, shard: int) -> Mapping[str, bytes]:
        """Return the encoded states of all sources of a shard; raises Unavailable."""

    def decode_state(self, value: bytes) -> AdaptiveRecorded | None:
        """Decode a state; None where it cannot be decoded."""

    def encode_state(self, state: AdaptiveRecorded) -> bytes:
        """Encode a state."""


class AdaptiveCopies(Protocol):
    """Copies of states, for people."""

    async def write(self, state: AdaptiveRecorded) -> None:
        """Write the copy of a source; raises Unavailable."""

    async def delete(self, source_id: str) -> None:
        """Delete the copy of a source; raises Unavailable."""

    async def missing(self, source_ids: Sequence[str]) -> Sequence[str]:
        """Return the sources without a copy; raises Unavailable."""

    async def are_complete(self, shard: int, epoch: int) -> bool:
        """Whether all states of a shard are there; raises Unavailable."""

    async def write_all(self, shard: int, epoch: int, states: Iterable[AdaptiveRecorded]) -> None:
        """Write all states of a shard; raises Unavailable."""


class JobMeter(Protocol):
    """Metrics of jobs."""

    def count_launched(self) -> None:
        """Count a launched run."""

    def count_relaunched(self) -> None:
        """Count a run that was launched again."""

    def count_finished(self, outcome: ExecutionState) -> None:
        """Count a result."""

    def count_stale_locks(self, count: int) -> None:
        """Count locks that were taken over."""

    def set_totals(self, totals: ScheduleMetrics, distribution: Distribution) -> None:
        """Set what PostgreSQL has of all jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPorts:
    """Adapters of jobs."""

    store: JobStore
    runs: RunPublisher
    adaptive_states: AdaptiveStateReader
    adaptive_copies: AdaptiveCopies
    meter: JobMeter


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerPorts:
    """Adapters by which a scheduler reads, writes and measures."""

    working_set: WorkingSet
    frontier_logs: FrontierLogs
    log_reader: FrontierLogReader
    crawl_specs: CrawlSpecCache
    publisher: EventPublisher
    clock: Clock
    chance: RandomSource
    job_feeds: JobFeeds
    pipeline_offsets: PipelineOffsetSource
    completion_offsets: CompletionOffsetSource | None = None
    """None: no run is proven complete here."""
    backlog_source: BacklogSource | None = None
    """None: releases do not depend on the backlog of the pipeline."""
    source_feed: EventFeed[tuple[str, SourceSaved | None]] | None = None
    """None: there are no saved sources."""
    open_runs: OpenRunsSource | None = None
    """None: commands that have ended are not deleted."""
    jobs: JobPorts | None = None
    """None: no jobs are launched here."""
    meter: SchedulerMeter = field(default_factory=NoSchedulerMeter)

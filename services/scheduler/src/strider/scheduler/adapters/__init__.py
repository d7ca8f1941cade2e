"""The frontier's truth on its topics, written in the shard's transactions; and what is counted of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from strider.contracts.avro.codec import Codec
from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import DecisionReason
from strider.contracts.generated.events import EntryRecorded, HostRecorded
from strider.contracts.generated.topics import FRONTIER, HOSTS
from strider.crawl.run_log import RunLog
from strider.frontier.models import ShardStats
from strider.messaging.ports import Bus, RawRecord, ShardWriter
from strider.runtime.observability.metrics import Metric, Metrics
from strider.scheduler.core.release.backpressure import PipelineBacklog

from .backlogs import TopicBacklogSource
from .feeds import JobEventFeed, SourceFeed
from .frontier_log.reader import TopicFrontierLogReader
from .offsets import TopicPipelineOffsets

__all__ = [
    "METRICS",
    "ProcessMeter",
    "TopicArchive",
    "TopicBacklogs",
    "TopicBulletin",
    "TopicRegister",
    "TopicSoundings",
    "TopicTruth",
    "TopicTruths",
]

_EMPTY_ENTRY: Final = EntryRecorded("", "", "", "", "", "", "", 0, 0)
"""What a key is read from has no other field that matters."""

NAMESPACE: Final = "scheduler"
"""First part of the transactional id: shards of other services have their own owners."""


class TopicFrontierLog:
    """The log of one shard in hand."""

    def __init__(self, writer: ShardWriter, codec: Codec) -> None:
        self._writer = writer
        self._codec = codec

    @property
    def epoch(self) -> int:
        """The epoch that taking the shard was given."""
        return self._writer.epoch

    def encode_entry(self, entry: EntryRecorded) -> RawRecord:
        """Encode an entry's record."""
        return RawRecord(FRONTIER.key_of(entry), self._codec.encode(FRONTIER, entry).value)

    def tombstone(self, job_id: str, url_key: str) -> RawRecord:
        """Make the record that forgets an entry."""
        return RawRecord(FRONTIER.key_of(replace_fields(_EMPTY_ENTRY, job_id=job_id, url_key=url_key)), None)

    async def write(
        self, entries: Sequence[RawRecord], hosts: Sequence[HostRecorded] = (), *, at_once: bool = False
    ) -> None:
        """Write within one group commit."""
        told = [RawRecord(HOSTS.key_of(host), self._codec.encode(HOSTS, host).value) for host in hosts]
        shard, append = self._writer.shard, self._writer.append
        waiting = [append(FRONTIER.name, shard, record) for record in entries]
        waiting += [append(HOSTS.name, shard, record) for record in told]
        if at_once and waiting:
            await self._writer.flush()
        for commit in dict.fromkeys(waiting):
            await commit

    async def close(self) -> None:
        """Commit what is open, and write no more."""
        await self._writer.close()


class TopicFrontierLogs:
    """Takes shards at the broker."""

    def __init__(self, bus: Bus, codec: Codec, *, commit_interval_seconds: float) -> None:
        self._bus = bus
        self._codec = codec
        self._commit_interval_seconds = commit_interval_seconds

    async def take_over(self, shard: int) -> TopicFrontierLog:
        """Become the one writer."""
        writer = await self._bus.take_shard(
            NAMESPACE, shard, commit_interval_seconds=self._commit_interval_seconds
        )
        return TopicFrontierLog(writer, self._codec)


DECIDED: Final = Metric(
    "strider_scheduler_decisions_total",
    "counter",
    "Decisions about URLs, by what was decided.",
    ("decision",),
)
REBUILT: Final = Metric(
    "strider_frontier_rebuilt_ratio", "gauge", "How far the last rebuild is; 1: done.", ("shard",), 4096
)
QUEUED: Final = Metric(
    "strider_frontier_queued", "gauge", "Entries that wait for their turn.", ("shard",), max_series=4096
)
LEASED: Final = Metric(
    "strider_frontier_leased", "gauge", "Requests that are released and have not ended.", ("shard",), 4096
)
IN_RING: Final = Metric(
    "strider_frontier_in_ring", "gauge", "Pages that were fetched and are not settled.", ("shard",), 4096
)
GROUPS: Final = Metric("strider_frontier_groups", "gauge", "Groups with state.", ("shard",), 4096)
PARKED: Final = Metric(
    "strider_frontier_parked",
    "gauge",
    "Entries only in the log until there is room.",
    ("shard",),
    4096,
)
ASLEEP: Final = Metric(
    "strider_frontier_asleep", "gauge", "Entries only in the log until nearly due.", ("shard",), 4096
)
MEMORY: Final = Metric(
    "strider_frontier_memory_percent", "gauge", "How full the store of a shard is.", ("shard",), 4096
)
DUE: Final = Metric(
    "strider_frontier_due",
    "gauge",
    "Hosts (or domains) of which a request could begin now: what more fetchers could do.",
    ("shard",),
    4096,
)
REFILLS: Final = Metric(
    "strider_frontier_refills_total", "counter", "Looks through the log for parked entries.", ("shard",), 4096
)
REFILLED: Final = Metric(
    "strider_frontier_refilled_total", "counter", "Parked entries that were queued again.", ("shard",), 4096
)
ROBOTS_DENIALS: Final = Metric("crawler_robots_denials", "counter", "URLs that a robots.txt forbids.")
FRONTIER_SIZE: Final = Metric(
    "crawler_frontier_size",
    "gauge",
    "Entries still to be fetched, parked ones too.",
    ("shard",),
    4096,
)
WAITING: Final = Metric(
    "strider_release_backlog",
    "gauge",
    "Messages that a group of the ring has still to read, and that count against releasing.",
    ("group", "topic"),
)
FULLNESS: Final = (QUEUED, LEASED, IN_RING, GROUPS, PARKED, ASLEEP, MEMORY, DUE)
METRICS: Final = (DECIDED, REBUILT, *FULLNESS, REFILLS, REFILLED, WAITING, ROBOTS_DENIALS, FRONTIER_SIZE)


class ProcessMeter:
    """Counts in the process's metrics."""

    def __init__(
        self, metrics: Metrics, *, beat: Callable[[], None] = lambda: None, journal: RunLog | None = None
    ) -> None:
        """Make a meter; `beat` tells the watchdog that something moves."""
        self._metrics = metrics
        self._journal = journal
        self._beat = beat
        for metric in METRICS:
            metrics.declare(metric)

    def count_decision(self, decision: str, count: int = 1) -> None:
        """Count decisions."""
        self._metrics.count(DECIDED, decision, amount=count)
        if decision == DecisionReason.ROBOTS_DENIED:
            self._metrics.count(ROBOTS_DENIALS, amount=count)

    def note_run_event(self, event: str, job_id: str, execution_id: str, kind: str, count: int) -> None:
        """Note it in the journal."""
        if self._journal is not None:
            self._journal.record(event, job_id, execution_id, kind, count)

    def set_fullness(self, shard: int, figures: ShardStats | None) -> None:
        """Set a shard's figures; one that has gone is empty here."""
        name = str(shard)
        told = [0] * len(FULLNESS)
        if figures is not None:
            told = [figures.queued, figures.leased, figures.in_pipeline, figures.host_groups]
            told += [figures.overflow, figures.deferred, figures.memory_percent, figures.due_groups]
        for metric, value in zip(FULLNESS, told, strict=True):
            self._metrics.set(metric, name, value=value)
        size = 0 if figures is None else figures.queued + figures.overflow + figures.deferred
        self._metrics.set(FRONTIER_SIZE, name, value=size)

    def set_backlog(self, backlog: PipelineBacklog) -> None:
        """Set what groups have still to read."""
        for gate, waiting in backlog.unread.items():
            self._metrics.set(WAITING, gate.group, gate.topic, value=sum(waiting))

    def count_refill(self, shard: int, entries: int) -> None:
        """Count a look through the log."""
        self._metrics.count(REFILLS, str(shard))
        self._metrics.count(REFILLED, str(shard), amount=entries)

    def set_rebuild_progress(self, shard: int, share: float) -> None:
        """Set how far a rebuild is."""
        self._beat()
        self._metrics.set(REBUILT, str(shard), value=share)

"""Retry or close entries whose page was lost in the pipeline.

One loop for all owned shards. While a shard has pages in the pipeline, it follows them by offsets
(`core/runs/lost_pages.py`); once they must all have been settled, those that are not were lost: by a message
sent to a dead-letter topic, or deleted by retention before it was read. Without this loop their entries, and
their run, would stay open forever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import URLS_DECIDED
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.models import EntryLocation
from strider.messaging.effects import Publish
from strider.messaging.errors import ShardFenced
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler import log_events
from strider.scheduler.core.entries.feed_polling import NO_POLLING, FeedPolling
from strider.scheduler.core.entries.fetch_outcomes import schedule_recrawl
from strider.scheduler.core.entries.url_decisions import UrlDecision, decision_messages
from strider.scheduler.core.runs.lost_pages import PipelineWatermark, retry_lost_page
from strider.scheduler.handlers.fetch_outcomes import DEFAULT_SPEC
from strider.scheduler.loops.duty_cycle import repeat_at_intervals
from strider.scheduler.ports import PipelineOffsetSource, SchedulerMeter
from strider.scheduler.shard.in_progress import PendingDecision
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.store_mapping import entry_lookup

from .run_log import note_decisions

SCAN_LIMIT: Final = 2_000
"""Open entries in one scan."""

_log = logger("scheduler")


class LostPagesLoop:
    """Follows the pages in the pipeline of each owned shard."""

    def __init__(
        self,
        offsets: PipelineOffsetSource,
        *,
        owned_shards: Callable[[], Iterable[OwnedShard]],
        crawl_specs: CrawlSpecCache,
        publisher: EventPublisher,
        meter: SchedulerMeter,
        clock: Clock,
        interval_seconds: float,
        polling: FeedPolling = NO_POLLING,
    ) -> None:
        self._polling = polling
        self._offsets = offsets
        self._owned_shards = owned_shards
        self._crawl_specs = crawl_specs
        self._publisher = publisher
        self._meter = meter
        self._clock = clock
        self._interval_seconds = interval_seconds
        self._watermarks: dict[int, tuple[OwnedShard, PipelineWatermark]] = {}

    async def run(self) -> None:
        """Check at intervals until cancelled."""
        await repeat_at_intervals(
            self.run_once,
            clock=self._clock,
            interval_seconds=self._interval_seconds,
            paused_event=log_events.LOST_PAGE_CHECK_PAUSED,
        )

    async def run_once(self) -> None:
        """Advance the watermark of each shard with pages in the pipeline, and retry what it proves lost."""
        waiting = [shard for shard in self._owned_shards() if _has_pages_under_way(shard)]
        before = {shard.number: self._watermark_of(shard) for shard in waiting}
        self._watermarks = {}
        if not waiting:
            return
        offsets = await self._offsets.read_offsets()
        for shard in waiting:
            watermark = before[shard.number].after(offsets)
            if not watermark.has_passed:
                self._watermarks[shard.number] = shard, watermark
                continue
            try:
                await self._retry_lost_pages(shard, watermark)
            except ShardFenced:
                _log.emit(
                    log_events.LOST_PAGE_CHECK_STOPPED, shard=shard.number, why="the shard has a newer owner"
                )

    def _watermark_of(self, shard: OwnedShard) -> PipelineWatermark:
        """Return the watermark in progress; one of an earlier owner proves nothing to this one."""
        owner, watermark = self._watermarks.get(shard.number, (None, None))
        if watermark is None or owner is not shard:
            return PipelineWatermark(shard.number, shard.clock.now_ms())
        return watermark

    async def _retry_lost_pages(self, shard: OwnedShard, watermark: PipelineWatermark) -> None:
        cursor, is_first = 0, True
        while cursor or is_first:
            scan = await shard.scan(cursor=cursor, limit=SCAN_LIMIT, place=EntryLocation.PIPELINE)
            suspects = {
                (entry.job_id, entry.url_key): entry for entry, _ in scan.entries if watermark.is_lost(entry)
            }
            await self._retry(shard, list(suspects.values()))
            cursor, is_first = scan.cursor, False

    async def _retry(self, shard: OwnedShard, suspects: Sequence[EntryRecorded]) -> None:
        if not suspects:
            return
        specs = await self._crawl_specs.known({entry.crawl_spec_id for entry in suspects})
        loaded = await shard.load_entries(
            [entry_lookup(entry.job_id, entry.url_key, "") for entry in suspects]
        )
        now_ms = shard.clock.now_ms()
        decisions: list[UrlDecision] = []
        pending: list[PendingDecision] = []
        for suspect, found in zip(suspects, loaded, strict=True):
            cause = f"lost {suspect.fetch_sequence}"
            entry = shard.decisions.latest_entry(found, cause)
            if (
                entry is None
                or not _is_same(entry, suspect)
                or shard.decisions.has_other(entry, other_than=cause)
            ):
                continue
            spec = specs.get(entry.crawl_spec_id, DEFAULT_SPEC)
            retried = retry_lost_page(entry, now_ms=now_ms)
            transition = schedule_recrawl(entry, retried, spec, now_ms=now_ms, polling=self._polling)
            decisions += transition.decisions
            self._meter.count_decision(transition.label)
            if transition.entry is not None:
                pending.append(shard.begin_decision(transition.entry, before=entry, cause=cause))
        _log.emit(log_events.PAGES_LOST, shard=shard.number, pages=len(pending))
        if decisions:
            events = [Publish(URLS_DECIDED, event) for event in decision_messages(decisions, now_ms=now_ms)]
            await self._publisher.publish(events)
            note_decisions(self._meter, decisions)
        await shard.commit_decisions(pending, at_once=True)


def _has_pages_under_way(shard: OwnedShard) -> bool:
    return shard.is_ready and shard.last_figures is not None and shard.last_figures.in_pipeline > 0


def _is_same(entry: EntryRecorded, suspect: EntryRecorded) -> bool:
    return (entry.state, entry.fetch_sequence) == (suspect.state, suspect.fetch_sequence)

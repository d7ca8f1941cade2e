"""Pages that cannot come back -> asked for once more, closed -> frontier, urls-decided.

One loop for all shards in hand. While pages are on their way it follows them round (`core.watermarks`);
where that has come to its end, what is still waited for was swallowed: a message that was given up, or
was thrown away by retention before anybody read it. Its place, and its run, would wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import URLS_DECIDED
from strider.frontier.models import EntryLocation
from strider.messaging.effects import Publish
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler.core import UrlDecision, decision_messages
from strider.scheduler.core.entries.fetch_outcomes import schedule_recrawl
from strider.scheduler.core.runs.lost_pages import PipelineWatermark, retry_lost_page
from strider.scheduler.handlers.fetch_outcomes import DEFAULT_SPEC
from strider.scheduler.ports import Meter, PipelineOffsetSource, Specs, Voice
from strider.scheduler.shard.shard import Decided, OwnedShard
from strider.scheduler.shard.store_mapping import entry_lookup

from .run_log import note_decisions

LOOKED_AT: Final = 2_000
"""Open entries of one call."""

DUTY_CYCLE_DIVISOR: Final = 10
"""Of the time, at most one part in so many is spent on looking."""

_log = logger("scheduler")


class LostPagesLoop:
    """Follows what is on the ring of each shard in hand."""

    def __init__(
        self,
        soundings: PipelineOffsetSource,
        *,
        owned_shards: Callable[[], Iterable[OwnedShard]],
        specs: Specs,
        voice: Voice,
        meter: Meter,
        clock: Clock,
        look_seconds: float,
    ) -> None:
        self._offsets = soundings
        self._in_hand = owned_shards
        self._specs = specs
        self._publisher = voice
        self._meter = meter
        self._clock = clock
        self._interval_seconds = look_seconds
        self._watermarks: dict[int, tuple[OwnedShard, PipelineWatermark]] = {}

    async def run(self) -> None:
        """Look again and again. Runs for ever."""
        wait_seconds = self._interval_seconds
        while True:
            await self._clock.sleep(wait_seconds)
            began = self._clock.monotonic()
            try:
                await self.run_once()
            except Unavailable as failure:
                _log.warning("Chase Waits", why=str(failure))
            took_seconds = self._clock.monotonic() - began
            wait_seconds = max(self._interval_seconds, took_seconds * (DUTY_CYCLE_DIVISOR - 1))

    async def run_once(self) -> None:
        """Go on with the passage of each shard that has pages on their way; end those that are over."""
        waiting = [shard for shard in self._in_hand() if _has_pages_under_way(shard)]
        before = {shard.number: self._watermark_of(shard) for shard in waiting}
        self._watermarks = {}
        if not waiting:
            return
        sounding = await self._offsets.sound()
        for shard in waiting:
            watermark = before[shard.number].after(sounding)
            if not watermark.is_over:
                self._watermarks[shard.number] = shard, watermark
                continue
            try:
                await self._end(shard, watermark)
            except ShardFenced:
                _log.warning("Chase Ends", shard=shard.number, why="the shard has a newer owner")

    def _watermark_of(self, shard: OwnedShard) -> PipelineWatermark:
        """Give the passage under way; one of an owner before proves nothing to this one."""
        owner, watermark = self._watermarks.get(shard.number, (None, None))
        if watermark is None or owner is not shard:
            return PipelineWatermark(shard.number, shard.clock.now_ms())
        return watermark

    async def _end(self, shard: OwnedShard, watermark: PipelineWatermark) -> None:
        cursor, is_first = 0, True
        while cursor or is_first:
            scan = await shard.scan(cursor=cursor, limit=LOOKED_AT, place=EntryLocation.PIPELINE)
            suspects = {
                (entry.job_id, entry.url_key): entry for entry, _ in scan.entries if watermark.is_lost(entry)
            }
            await self._give_back(shard, list(suspects.values()))
            cursor, is_first = scan.cursor, False

    async def _give_back(self, shard: OwnedShard, suspects: Sequence[EntryRecorded]) -> None:
        if not suspects:
            return
        specs = await self._specs.known({entry.crawl_spec_id for entry in suspects})
        known = await shard.load_entries(
            [entry_lookup(entry.job_id, entry.url_key, "") for entry in suspects]
        )
        now_ms = shard.clock.now_ms()
        lines: list[UrlDecision] = []
        decided: list[Decided] = []
        for suspect, past in zip(suspects, known, strict=True):
            cause = f"lost {suspect.fetch_sequence}"
            entry = shard.latest_entry(past, cause)
            if (
                entry is None
                or not _is_same(entry, suspect)
                or shard.has_other_decision(entry, other_than=cause)
            ):
                continue
            spec = specs.get(entry.crawl_spec_id, DEFAULT_SPEC)
            ended = schedule_recrawl(entry, retry_lost_page(entry, now_ms=now_ms), spec, now_ms=now_ms)
            lines += ended.decisions
            self._meter.count_decision(ended.label)
            if ended.entry is not None:
                decided.append(shard.decide(ended.entry, before=entry, cause=cause))
        _log.warning("Pages Lost", shard=shard.number, pages=len(decided))
        if lines:
            said = [Publish(URLS_DECIDED, event) for event in decision_messages(lines, now_ms=now_ms)]
            await self._publisher.publish(said)
            note_decisions(self._meter, lines)
        await shard.commit_decisions(decided, at_once=True)


def _has_pages_under_way(shard: OwnedShard) -> bool:
    return shard.is_ready and shard.last_figures is not None and shard.last_figures.in_pipeline > 0


def _is_same(entry: EntryRecorded, suspect: EntryRecorded) -> bool:
    return (entry.state, entry.fetch_sequence) == (suspect.state, suspect.fetch_sequence)

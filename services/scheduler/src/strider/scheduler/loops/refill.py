"""Refill a shard's queues with parked entries from its frontier log.

One loop for each shard, a part of the log at a time: the last record of each entry of a key range. Records
written while the log is read may be newer than what was read, so their keys are skipped until the next round.
The same holds for the rest of a part when the server is full again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from zlib import crc32

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.runs.control import CLOSE_REASONS, RunControl, RunState
from strider.frontier.models import EntryDisposition, LogPassPart, QueueLimits, ShardStats
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.entries.state import disposition_of
from strider.scheduler.core.release.decision import NEVER_DUE_MS
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import FrontierLogReader, SchedulerMeter
from strider.scheduler.shard.shard import OwnedShard

HEADROOM_PERCENT: Final = 10
"""How far below its limit memory must be before parked entries return, or they would move in and out."""

WAKE_AHEAD_DIVISOR: Final = 12
"""Parked entries are looked for this fraction of the horizon ahead; one pass finds all within the horizon."""

MAX_PAUSE_SECONDS: Final = 300.0
"""Longest pause after rounds that found nothing."""

DUTY_CYCLE_DIVISOR: Final = 4
"""At most one part in this many of the time is spent on reading the log."""


def should_refill(figures: ShardStats, limits: QueueLimits) -> bool:
    """Whether a parked entry may be queued now."""
    if is_entry_nearly_due(figures, limits):
        return True
    has_memory = (
        limits.memory_percent == 0 or figures.memory_percent < limits.memory_percent - HEADROOM_PERCENT
    )
    return figures.refillable_groups > 0 and (has_memory or figures.queued < limits.minimum_entries)


def is_entry_nearly_due(figures: ShardStats, limits: QueueLimits) -> bool:
    """Whether an entry parked for its due time is nearly due."""
    return (
        figures.deferred > 0
        and figures.next_deferred_due_ms <= figures.now_ms + limits.horizon_ms // WAKE_AHEAD_DIVISOR
    )


def should_stop(figures: ShardStats, limits: QueueLimits) -> bool:
    """Whether a pass may stop; a little early, since entries in flight to the server add to its memory."""
    enough_percent = limits.memory_percent - HEADROOM_PERCENT // 2
    return 0 < enough_percent <= figures.memory_percent and figures.queued >= limits.minimum_entries


def round_parts(figures: ShardStats, *, keys_a_part: int) -> int:
    """Return the number of parts in a round, so that each fits into memory."""
    entries = max(figures.seen, figures.queued + figures.in_pipeline + figures.overflow + figures.deferred)
    return max(1, -(-entries // keys_a_part))


def pause_seconds(
    took_seconds: float, figures: ShardStats, *, empty_rounds: int, least_seconds: float
) -> float:
    """Return the pause before the next part; none where nothing else is queued."""
    if empty_rounds:
        return float(min(least_seconds * 2 ** min(empty_rounds, 16), MAX_PAUSE_SECONDS))
    return 0.0 if figures.queued == 0 else max(least_seconds, took_seconds * (DUTY_CYCLE_DIVISOR - 1))


CHUNK_ENTRIES: Final = 500
"""Entries in one call."""

_log = logger("scheduler")


class RefillLoop:
    """Refills one shard while it is owned."""

    def __init__(
        self,
        shard: OwnedShard,
        *,
        log_reader: FrontierLogReader,
        crawl_specs: CrawlSpecCache,
        run_control: RunControl,
        log_lock: asyncio.Lock,
        meter: SchedulerMeter,
        clock: Clock,
    ) -> None:
        """Create the loop; all shards of a process share `log_lock`, as each pass takes memory."""
        self._shard = shard
        self._options: SchedulerOptions = shard.options
        self._log_reader = log_reader
        self._crawl_specs = crawl_specs
        self._run_control = run_control
        self._log_lock = log_lock
        self._meter = meter
        self._clock = clock
        self._part = 0
        self._parts = 0
        """Parts of the round in progress; 0 between two rounds."""
        self._opened = 0
        self._empty_rounds = 0
        self._is_incomplete = False
        """The round in progress has skipped entries: it does not know the earliest due time."""
        self._is_requested = False
        """The round in progress was requested because the state of a run changed."""

    async def run(self) -> None:
        """Refill until the shard is lost."""
        wait_seconds = 0.0
        while not self._shard.is_stopping:
            await self._pause(max(wait_seconds, min(1.0, self._options.refill_interval_seconds)))
            try:
                wait_seconds = await self.run_once()
            except Unavailable as failure:
                wait_seconds = self._options.refill_interval_seconds
                await self._clock.sleep(
                    min(1.0, wait_seconds)
                )  # also where a request for a round would end the pause at once
                _log.emit(log_events.REFILL_PAUSED, shard=self._shard.number, why=str(failure))
            except ShardFenced:
                return

    async def _pause(self, seconds: float) -> None:
        """Pause until the next part, or until a round is requested."""
        try:
            async with asyncio.timeout(seconds):
                await self._shard.sweep_requests.for_parked.wait()
        except TimeoutError:
            return

    async def run_once(self) -> float:
        """Read one part of the log if that is needed; return the seconds until the next pass."""
        if self._shard.sweep_requests.for_parked.is_set():
            return await self._begin_requested_round()
        figures = self._shard.last_figures
        if self._is_requested and figures is not None:
            return await self._run_part(figures)
        if (
            figures is None
            or not self._shard.is_ready
            or not should_refill(figures, self._options.queue_limits)
        ):
            self._empty_rounds = 0
            return 0.0
        return await self._run_part(figures)

    async def _begin_requested_round(self) -> float:
        """Begin a requested round, if anything is parked."""
        figures = await self._shard.figures()
        self._shard.sweep_requests.for_parked.clear()
        self._is_requested = figures.overflow + figures.deferred > 0
        if not self._is_requested:
            return 0.0
        self._parts = 0
        return await self._run_part(figures)

    async def _run_part(self, figures: ShardStats) -> float:
        async with self._log_lock:
            began = self._clock.monotonic()
            opened = await self._read_part(figures)
            took_seconds = self._clock.monotonic() - began
        self._meter.count_refill(self._shard.number, opened)
        least = self._options.refill_interval_seconds
        return pause_seconds(took_seconds, figures, empty_rounds=self._empty_rounds, least_seconds=least)

    async def _read_part(self, figures: ShardStats) -> int:
        if not self._parts:
            self._part, self._opened, self._is_incomplete = 0, 0, False
            self._parts = round_parts(figures, keys_a_part=self._options.refill_keys_per_part)
            await self._queue((), part=LogPassPart.BEGIN)
        part, of = self._part, self._parts
        may_stop = not self._is_requested and not is_entry_nearly_due(figures, self._options.queue_limits)
        opened = 0
        with self._shard.keys_in_progress.watch() as written:
            records = await self._log_reader.read_latest(
                self._shard.number, lambda key: crc32(key) % of == part
            )
            for chunk in _chunks(records):
                wanted = await self._parked_entries(chunk, written)
                opened += (came := await self._queue(wanted, part=LogPassPart.MIDDLE) if wanted else 0)
                if (
                    may_stop
                    and wanted
                    and not came
                    and should_stop(await self._shard.figures(), self._options.queue_limits)
                ):
                    self._is_incomplete = True
                    break
                await asyncio.sleep(0)
        self._opened += opened
        self._part += 1
        if self._part == self._parts:
            await self._end_round()
        return opened

    async def _parked_entries(
        self, records: Mapping[bytes, bytes], written_since: set[bytes]
    ) -> Sequence[EntryRecorded]:
        shard, keys = self._shard, list(records)
        with shard.require_ready():
            entry_ids = [_entry_id_of_key(key) for key in keys]
            parked = await shard.working_set.find_parked(shard.number, shard.epoch, entry_ids)
        wanted = [key for key, is_in in zip(keys, parked, strict=True) if is_in and key not in written_since]
        return self._decode([records[key] for key in wanted])

    async def _queue(self, entries: Sequence[EntryRecorded], *, part: LogPassPart) -> int:
        specs = await self._crawl_specs.known({entry.crawl_spec_id for entry in entries})
        return await self._shard.refill(entries, specs, part=part)

    def _decode(self, values: Sequence[bytes]) -> list[EntryRecorded]:
        entries = (self._log_reader.decode_entry(value) for value in values)
        return list(self._prepare(entry for entry in entries if entry is not None))

    def _prepare(self, entries: Iterable[EntryRecorded]) -> Iterator[EntryRecorded]:
        """Yield queued entries. Those of ended runs are due at once, to be closed; those of paused runs
        never.
        """
        now_ms = self._shard.clock.now_ms()
        for entry in entries:
            if disposition_of(entry) is not EntryDisposition.QUEUE:
                continue
            standing = self._run_control.directive_of(entry).state
            if standing in CLOSE_REASONS:
                yield replace_fields(entry, due_at_ms=min(entry.due_at_ms, now_ms))
            elif standing is RunState.PAUSED:
                yield replace_fields(entry, due_at_ms=NEVER_DUE_MS)
            else:
                yield entry

    async def _end_round(self) -> None:
        if not self._is_incomplete:
            await self._queue((), part=LogPassPart.END)
        self._parts = 0
        self._is_requested = False
        self._empty_rounds = 0 if self._opened else self._empty_rounds + 1


def _chunks(records: Mapping[bytes, bytes]) -> Iterator[Mapping[bytes, bytes]]:
    keys = list(records)
    for first in range(0, len(keys), CHUNK_ENTRIES):
        yield {key: records[key] for key in keys[first : first + CHUNK_ENTRIES]}


def _entry_id_of_key(key: bytes) -> str:
    job_id, _, url_key = key.decode().rpartition("/")
    return entry_id(job_id, url_key)

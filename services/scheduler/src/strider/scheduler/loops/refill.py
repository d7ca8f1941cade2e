"""frontier (the log) -> what is parked and has room again -> working set.

One loop for each shard, a part of the log at a time: the last record of each entry of a key range.
What is written while the log is read may be newer than what was read, so its keys are left out; they
come with the next round. So does the rest of a part where the server is full again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from zlib import crc32

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.events import EntryRecorded
from strider.contracts.ids import entry_id
from strider.frontier.models import LogPassPart, ShardStats
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler.core import Fate, RunControl, Standing, disposition_of
from strider.scheduler.core.release.decision import NEVER_DUE_MS
from strider.scheduler.core.runs.control import REASONS
from strider.scheduler.ports import FrontierLogReader, Meter, SchedulerOptions
from strider.scheduler.shard.shard import OwnedShard

from .refill_policy import is_entry_nearly_due, is_full, is_wanted, pause_seconds, round_parts

ASKED: Final = 500
"""Entries of one call."""

_log = logger("scheduler")


class RefillLoop:
    """Refills one shard for as long as it is in hand."""

    def __init__(
        self,
        shard: OwnedShard,
        *,
        log_reader: FrontierLogReader,
        orders: RunControl,
        log_lock: asyncio.Lock,
        meter: Meter,
        clock: Clock,
    ) -> None:
        """Make one; `turns` is shared by all shards of a process, whose memory one look at a time takes."""
        self._shard = shard
        self._options: SchedulerOptions = shard.options
        self._log_reader = log_reader
        self._orders = orders
        self._turns = log_lock
        self._meter = meter
        self._clock = clock
        self._part = 0
        self._parts = 0
        """Of the round under way; 0 between two rounds."""
        self._opened = 0
        self._empty_rounds = 0
        self._is_incomplete = False
        """Something of the round under way was left out: it cannot say who wakes first."""
        self._is_requested = False
        """A wish about a run is why the round under way was begun."""

    async def run(self) -> None:
        """Refill until the shard is given back, or somebody newer has it."""
        wait_seconds = 0.0
        while not self._shard.is_leaving:
            await self._pause(max(wait_seconds, min(1.0, self._options.refill_seconds)))
            try:
                wait_seconds = await self.run_once()
            except Unavailable as failure:
                wait_seconds = self._options.refill_seconds
                await self._clock.sleep(min(1.0, wait_seconds))  # also where a wish would not wait
                _log.warning("Refill Waits", shard=self._shard.number, why=str(failure))
            except ShardFenced:
                return

    async def _pause(self, seconds: float) -> None:
        """Wait, but not where a wish is to be heeded."""
        try:
            async with asyncio.timeout(seconds):
                await self._shard.refill_requested.wait()
        except TimeoutError:
            return

    async def run_once(self) -> float:
        """Go through one part of the log if that is wanted; gives the seconds until the next look."""
        if self._shard.refill_requested.is_set():
            return await self._begin_requested_round()
        figures = self._shard.last_figures
        if self._is_requested and figures is not None:
            return await self._look(figures)
        if figures is None or not self._shard.is_ready or not is_wanted(figures, self._options.queue_limits):
            self._empty_rounds = 0
            return 0.0
        return await self._look(figures)

    async def _begin_requested_round(self) -> float:
        """Begin a round because of a wish, if there is anything to go through."""
        figures = await self._shard.figures()
        self._shard.refill_requested.clear()
        self._is_requested = figures.overflow + figures.deferred > 0
        if not self._is_requested:
            return 0.0
        self._parts = 0
        return await self._look(figures)

    async def _look(self, figures: ShardStats) -> float:
        async with self._turns:
            began = self._clock.monotonic()
            opened = await self._read_part(figures)
            took_seconds = self._clock.monotonic() - began
        self._meter.count_refill(self._shard.number, opened)
        least = self._options.refill_seconds
        return pause_seconds(took_seconds, figures, empty_rounds=self._empty_rounds, least_seconds=least)

    async def _read_part(self, figures: ShardStats) -> int:
        if not self._parts:
            self._part, self._opened, self._is_incomplete = 0, 0, False
            self._parts = round_parts(figures, keys_a_part=self._options.refill_keys_per_part)
            await self._queue((), part=LogPassPart.BEGIN)
        part, of = self._part, self._parts
        may_stop = not self._is_requested and not is_entry_nearly_due(figures, self._options.queue_limits)
        opened = 0
        with self._shard.watched() as written:
            found = await self._log_reader.read_latest(
                self._shard.number, lambda key: crc32(key) % of == part
            )
            for some in _chunks(found):
                wanted = await self._parked(some, written)
                opened += (came := await self._queue(wanted, part=LogPassPart.MIDDLE) if wanted else 0)
                if (
                    may_stop
                    and wanted
                    and not came
                    and is_full(await self._shard.figures(), self._options.queue_limits)
                ):
                    self._is_incomplete = True
                    break
                await asyncio.sleep(0)
        self._opened += opened
        self._part += 1
        if self._part == self._parts:
            await self._end_round()
        return opened

    async def _parked(
        self, found: Mapping[bytes, bytes], written_since: set[bytes]
    ) -> Sequence[EntryRecorded]:
        shard, keys = self._shard, list(found)
        with shard.require_ready():
            asked = [_entry_id_of_key(key) for key in keys]
            parked = await shard.working_set.find_parked(shard.number, shard.epoch, asked)
        wanted = [key for key, is_in in zip(keys, parked, strict=True) if is_in and key not in written_since]
        return self._read([found[key] for key in wanted])

    async def _queue(self, entries: Sequence[EntryRecorded], *, part: LogPassPart) -> int:
        return await self._shard.refill(entries, part=part)

    def _read(self, values: Sequence[bytes]) -> list[EntryRecorded]:
        entries = (self._log_reader.decode_entry(value) for value in values)
        return list(self._wanted(entry for entry in entries if entry is not None))

    def _wanted(self, entries: Iterable[EntryRecorded]) -> Iterator[EntryRecorded]:
        """Give what waits. What is over comes at once, to be dropped; what is paused sleeps for ever."""
        now_ms = self._shard.clock.now_ms()
        for entry in entries:
            if disposition_of(entry) is not Fate.QUEUE:
                continue
            standing = self._orders.directive_for(entry.job_id, entry.execution_id).state
            if standing in REASONS:
                yield replace_fields(entry, due_at_ms=min(entry.due_at_ms, now_ms))
            elif standing is Standing.PAUSED:
                yield replace_fields(entry, due_at_ms=NEVER_DUE_MS)
            else:
                yield entry

    async def _end_round(self) -> None:
        if not self._is_incomplete:
            await self._queue((), part=LogPassPart.END)
        self._parts = 0
        self._is_requested = False
        self._empty_rounds = 0 if self._opened else self._empty_rounds + 1


def _chunks(found: Mapping[bytes, bytes]) -> Iterator[Mapping[bytes, bytes]]:
    keys = list(found)
    for first in range(0, len(keys), ASKED):
        yield {key: found[key] for key in keys[first : first + ASKED]}


def _entry_id_of_key(key: bytes) -> str:
    job_id, _, url_key = key.decode().rpartition("/")
    return entry_id(job_id, url_key)

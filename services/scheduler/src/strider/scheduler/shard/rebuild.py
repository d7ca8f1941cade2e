"""Rebuild a shard's working set from its frontier log, while the shard is idle.

Also decides how long after a rebuild a host group is not fetched from: requests in flight are unknown by
then. Only the requests of pending entries can be in flight, as any other ended before its record was written;
groups without pending entries wait no longer than their delay.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Container, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final

from strider.contracts.fast_dataclass import replace_fields
from strider.contracts.generated.enums import HostRecordKind, RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, HostRecorded
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.frontier.models import EntryLocation, HostGroupState, HostPace
from strider.frontier.ports import ShardNotReady, WorkingSet
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.budgets.reservations import ReservationRequest, RunBudgets
from strider.scheduler.core.hosts.host_state import (
    HostGroup,
    apply_robots_delay,
    host_group_from_record,
    new_host_group,
)
from strider.scheduler.core.hosts.robots import NO_ROBOTS, restore_robots
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import FrontierLogReader, LogBatch, SchedulerMeter
from strider.urls import host_group_of

from .budget import reservation_request
from .host_cache import group_state_of
from .rebuild_batch import (
    RebuildBatch,
    RebuildTotals,
    budgeted_fetch_of,
    entry_record_of,
    partition_records,
    seen_scopes_of,
)
from .shard import READINESS_NAME, OwnedShard

SCAN_LIMIT: Final = 1_000
"""Open entries in one scan for leases."""

MAX_CONCURRENT_LOADS: Final = 3
"""Batches of the log being loaded while the next one is read."""

HOLD_MARGIN_MS: Final = 5_000
"""Added to the longest deadline: how long a fetcher may take to notice that its request has ended."""

_log = logger("scheduler")


class ShardRebuilder:
    """Rebuilds shards."""

    def __init__(
        self,
        *,
        working_set: WorkingSet,
        log_reader: FrontierLogReader,
        crawl_specs: CrawlSpecCache,
        budgets: RunBudgets,
        options: SchedulerOptions,
        meter: SchedulerMeter,
        clock: Clock,
    ) -> None:
        self._working_set = working_set
        self._log_reader = log_reader
        self._crawl_specs = crawl_specs
        self._budgets = budgets
        self._options = options
        self._meter = meter
        self._clock = clock

    async def rebuild(self, shard: OwnedShard) -> None:
        """Make a shard ready: keep its working set where that is intact, else rebuild it from the log."""
        shard.is_ready = False
        try:
            taken = await self._working_set.take_over(shard.number, shard.epoch)
            if taken.is_ready:  # only our own epoch had advanced
                _log.emit(log_events.SHARD_RETAKEN, shard=shard.number, epoch=shard.epoch)
            else:
                await self._rebuild_from_log(shard)
        except ShardNotReady as failure:
            raise Unavailable(READINESS_NAME, str(failure)) from failure
        shard.is_ready = True

    async def _rebuild_from_log(self, shard: OwnedShard) -> None:
        began = self._clock.monotonic()
        shard.host_groups.mark_unsynced()
        self._budgets.begin_recount(shard.number)
        await self._working_set.begin_rebuild(shard.number, shard.epoch)
        totals = await self._load_entries(shard)
        await self._working_set.set_accepted_counts(shard.number, shard.epoch, list(totals.runs.values()))
        await self._restore_hosts(shard, totals)
        self._end_budget_recount(shard)
        self._meter.set_rebuild_progress(shard.number, 1.0)
        seconds = round(self._clock.monotonic() - began, 3)
        _log.emit(log_events.SHARD_REBUILT, shard=shard.number, entries=totals.entries, seconds=seconds)

    async def _load_entries(self, shard: OwnedShard) -> RebuildTotals:
        """Load entries, some batches at a time while the next one is read: the server is never idle."""
        totals = RebuildTotals()
        loading: deque[asyncio.Task[None]] = deque()
        try:
            async for records in self._log_reader.read_entries(shard.number):
                await self._working_set.reserve_seen(
                    shard.number, shard.epoch, seen_scopes_of(records.expected_entries)
                )
                batch = partition_records(records, totals)
                shard.note_fetch_sequence(batch.sequence)
                await self._restore_budgets(shard, records)
                if len(loading) == MAX_CONCURRENT_LOADS:
                    await loading.popleft()
                samples = {each.shared for each in records.open}
                specs = await self._crawl_specs.known({each.sample.crawl_spec_id for each in samples})
                paces = shard.paces_of((each.sample for each in samples), specs)
                loading.append(asyncio.create_task(self._load_batch(shard, batch, paces, records.progress)))
                await asyncio.sleep(0)
            while loading:
                await loading.popleft()
            hosts = totals.hosts.seen_batches(now_ms=shard.clock.now_ms())
            if hosts:
                await self._working_set.load(shard.number, shard.epoch, seen_batches=hosts)
        finally:
            for task in loading:
                task.cancel()
            await asyncio.gather(*loading, return_exceptions=True)
        return totals

    async def _load_batch(
        self, shard: OwnedShard, batch: RebuildBatch, paces: Mapping[str, HostPace], progress: float
    ) -> None:
        await self._working_set.load(
            shard.number,
            shard.epoch,
            queued=batch.queued,
            in_pipeline=batch.in_pipeline,
            seen_entries=batch.closed,
            seen_batches=batch.seen,
            paces=paces,
        )
        self._meter.set_rebuild_progress(shard.number, progress)
        await self._working_set.report_progress(shard.number, shard.epoch, progress)

    async def _restore_budgets(
        self, shard: OwnedShard, batch: LogBatch, *, runs: Container[str] | None = None
    ) -> None:
        """Restore the cost of these entries in the budgets of their runs, or of some runs."""
        opened, closed = batch.open, batch.closed
        names = {each.shared.sample.crawl_spec_id for each in opened} | {
            each.template.crawl_spec_id for each in closed
        }
        specs = await self._crawl_specs.known(names)
        limits = {name: self._budgets.limits_of(spec) for name, spec in specs.items()}
        limited = {name: each for name, each in limits.items() if each.has_any}
        if not limited:
            return
        entries = chain((each.to_event() for each in opened), map(entry_record_of, closed))
        for entry in entries:
            limits_of_run = limited.get(entry.crawl_spec_id)
            if limits_of_run is not None and (runs is None or entry.execution_id in runs):
                self._budgets.restore_fetch(shard.number, budgeted_fetch_of(entry, limits_of_run))

    def begin_budget_recount(self, shard: OwnedShard) -> None:
        """Hold back runs with a budget until `recount_budgets` is done, after a takeover."""
        self._budgets.begin_recount(shard.number)

    def _end_budget_recount(self, shard: OwnedShard) -> None:
        """Hold back runs with claims here for a time: their requests in flight are unknown."""
        held = any(self._budgets.ledger.budgets_of_shard(shard.number))
        hold_seconds = self._options.rebuild_hold_seconds
        seconds = (HOLD_MARGIN_MS / 1000 + 30.0) if hold_seconds is None else hold_seconds
        self._budgets.end_recount(shard.number, at=self._clock.monotonic() + (seconds if held else 0.0))

    async def recount_budgets(self, shard: OwnedShard) -> None:
        """Recount what a shard with an intact working set has spent of budgets; raises Unavailable."""
        runs = {key.execution_id for key in self._budgets.ledger.budgets_of_shard(shard.number)}
        if runs:
            async for batch in self._log_reader.read_entries(shard.number):
                await self._restore_budgets(shard, batch, runs=runs)
        leased = await self._leased_requests(shard, runs) if runs else []
        self._budgets.end_recount(shard.number, at=0.0, leased=leased)
        shard.wake.set()

    async def _leased_requests(self, shard: OwnedShard, runs: set[str]) -> list[ReservationRequest]:
        """Return the requests in flight of these runs."""
        entries: list[EntryRecorded] = []
        cursor = -1
        while cursor != 0:
            scan = await shard.scan(cursor=max(cursor, 0), limit=SCAN_LIMIT, place=EntryLocation.LEASED)
            cursor = scan.cursor
            entries += [entry for entry, _ in scan.entries if entry.execution_id in runs]
        specs = await self._crawl_specs.known({entry.crawl_spec_id for entry in entries})
        return [
            reservation_request(entry, str(entry.fetch_sequence), self._budgets.limits_of(spec))
            for entry in entries
            if entry.kind != RequestKind.ROBOTS and (spec := specs.get(entry.crawl_spec_id)) is not None
        ]

    async def _restore_hosts(self, shard: OwnedShard, totals: RebuildTotals) -> None:
        shard.host_groups.kept = totals.groups
        await restore_hosts(shard, self._log_reader)
        specs = await self._crawl_specs.known(totals.spec_ids)
        now_ms = (await self._working_set.take_over(shard.number, shard.epoch)).now_ms
        shard.clock.synchronize(now_ms)
        shard.rebuilt_at_ms = now_ms
        may_be_in_flight, hold_until_ms = totals.may_be_in_flight, now_ms + self._initial_hold_ms(specs)
        # Each may have had a request just before: its delay counts from now on.
        names = dict.fromkeys([*shard.host_groups, *sorted(totals.groups)])
        states = [
            _held_group_state(shard, name, until_ms=hold_until_ms if name in may_be_in_flight else 0)
            for name in names
        ]
        await self._working_set.finish_rebuild(
            shard.number, shard.epoch, groups=states, sequence=shard.max_fetch_sequence
        )
        shard.host_groups.mark_synced(states)
        shard.host_groups.kept = ()

    def _initial_hold_ms(self, specs: Mapping[str, CrawlSpecDeclared]) -> int:
        if self._options.rebuild_hold_seconds is not None:
            return round(self._options.rebuild_hold_seconds * 1000)
        longest = max((spec.request_timeout_seconds for spec in specs.values()), default=30.0)
        return round(min(longest, self._options.max_deadline_seconds) * 1000) + HOLD_MARGIN_MS


async def restore_hosts(shard: OwnedShard, log_reader: FrontierLogReader) -> None:
    """Restore host groups and robots.txt files from the log."""
    restoration = HostRestoration(shard)
    await log_reader.read_hosts(shard.number, restoration.apply)


class HostRestoration:
    """Applies records to the caches of one shard, whose bounds hold meanwhile: it keeps none itself.

    The log may have millions of hosts and several records of each. Records of a group and of its origins come
    in any order: each changes its own part of the group.
    """

    def __init__(self, shard: OwnedShard) -> None:
        self._shard = shard
        self._options = shard.options

    def apply(self, name: str, record: HostRecorded | None) -> None:
        """Apply the next record of a group or an origin; None deletes it."""
        if record is None:
            self._drop(name)
        elif record.kind == HostRecordKind.ROBOTS:
            self._restore_robots(record)
        else:
            self._put(host_group_from_record(record, delay_seconds=self._options.delay_seconds))
            self._shard.host_groups.mark_recorded([record.group])

    def _restore_robots(self, record: HostRecorded) -> None:
        shard, now_ms = self._shard, self._shard.clock.now_ms()
        robots = restore_robots(record, user_agent=self._options.user_agent, now_ms=now_ms)
        if robots is NO_ROBOTS:
            shard.robots.discard([record.origin])
        else:
            shard.robots.put(record.origin, robots)
        # Recorded with the text: parsing it would be nearly the whole cost of a takeover.
        self._apply_delay(record.group, record.origin, record.robots_delay_seconds)

    def _drop(self, name: str) -> None:
        shard = self._shard
        if "://" in name:
            shard.robots.discard([name])
            group = host_group_of(f"{name}/", by_domain=self._options.by_domain)
            self._apply_delay(group, name, 0.0)
        elif name in shard.host_groups:
            self._put(new_host_group(name, delay_seconds=self._options.delay_seconds))
            shard.host_groups.mark_unrecorded([name])

    def _put(self, group: HostGroup) -> None:
        """Store a group, with the crawl delays of its origins so far."""
        before = self._shard.host_groups.get(group.name)
        delays = before.robots_delays_ms
        self._shard.host_groups.put(
            replace_fields(group, robots_delays_ms=delays, knows_robots=before.knows_robots)
        )

    def _apply_delay(self, name: str, origin: str, delay_seconds: float) -> None:
        """Apply the crawl delay of an origin to its group, where that changes it."""
        group = self._shard.host_groups.get(name)
        if delay_seconds > 0 or origin in group.robots_delays_ms:
            self._shard.host_groups.put(apply_robots_delay(group, origin, delay_seconds))


def _held_group_state(shard: OwnedShard, name: str, *, until_ms: int) -> HostGroupState:
    now_ms = shard.rebuilt_at_ms
    state = group_state_of(shard.host_groups.get(name), now_ms=now_ms, rebuilt_at_ms=now_ms)
    return replace(state, not_before_ms=max(state.not_before_ms, until_ms))

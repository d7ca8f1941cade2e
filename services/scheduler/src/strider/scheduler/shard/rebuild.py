"""Putting a shard's working set back from the log, while nothing else happens to the shard.

Decides how long after a rebuild a group is not asked: what was in flight then is known to nobody. But
only what is pending can have been: a request that led to a page or to a closing had ended before that
was written. So other groups wait no longer than their delay.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final

from strider.contracts.generated.enums import HostRecordKind, RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, HostRecorded
from strider.frontier.models import EntryLocation, HostGroupState
from strider.frontier.ports import ShardNotReady, WorkingSet
from strider.messaging.errors import Unavailable
from strider.messaging.ports import Clock
from strider.politeness.robots.robots_txt import product_token
from strider.runtime.observability.logging import logger
from strider.scheduler.core import (
    ReservationRequest,
    RunBudgets,
    apply_robots_delay,
    host_group_from_record,
    robots_from_record,
    rules_of,
)
from strider.scheduler.ports import FrontierLogReader, Meter, SchedulerOptions, Specs, Told

from .budget import reservation_request
from .host_cache import group_state_of
from .rebuild_batch import RebuildBatch, RebuildTotals, budgeted_fetch_of, entry_of, seen_scopes_of, sort
from .shard import READINESS_NAME, OwnedShard

SCAN_LIMIT: Final = 1_000
"""Open entries of one look for leases."""

MAX_CONCURRENT_LOADS: Final = 3
"""Of the log, on their way to the working set while the next one is read."""

ROBOTS_PER_YIELD: Final = 50
"""Of robots.txt, that are read again without a pause."""

HOLD_MARGIN_MS: Final = 5_000
"""Beyond the longest deadline: how long a fetcher may take to notice that its request is over."""

_log = logger("scheduler")


class ShardRebuilder:
    """Rebuilds shards."""

    def __init__(
        self,
        *,
        working_set: WorkingSet,
        log_reader: FrontierLogReader,
        crawl_specs: Specs,
        budgets: RunBudgets,
        options: SchedulerOptions,
        meter: Meter,
        clock: Clock,
    ) -> None:
        self._working_set = working_set
        self._log_reader = log_reader
        self._specs = crawl_specs
        self._budgets = budgets
        self._options = options
        self._meter = meter
        self._clock = clock

    async def rebuild(self, shard: OwnedShard) -> None:
        """Make a shard ready: by its working set where that is whole after all, else from the log."""
        shard.is_ready = False
        try:
            taken = await self._working_set.take_over(shard.number, shard.epoch)
            if taken.is_ready:  # only our own epoch had moved on
                _log.info("Shard Taken Again", shard=shard.number, epoch=shard.epoch)
            else:
                await self._rebuild_from_log(shard)
        except ShardNotReady as failure:
            raise Unavailable(READINESS_NAME, str(failure)) from failure
        shard.is_ready = True

    async def _rebuild_from_log(self, shard: OwnedShard) -> None:
        began = self._clock.monotonic()
        shard.host_groups.untold()
        self._budgets.begin_count(shard.number)
        await self._working_set.begin_rebuild(shard.number, shard.epoch)
        hosts = await self._log_reader.read_hosts(shard.number)
        waiting = await self._load(shard)
        await self._working_set.set_accepted_counts(shard.number, shard.epoch, list(waiting.runs.values()))
        await self._open(shard, hosts, waiting)
        self._end_budget_recount(shard)
        self._meter.set_rebuild_progress(shard.number, 1.0)
        seconds = round(self._clock.monotonic() - began, 3)
        _log.info("Shard Rebuilt", shard=shard.number, entries=waiting.entries, seconds=seconds)

    async def _load(self, shard: OwnedShard) -> RebuildTotals:
        """Put entries back, a few parts while the next one is read: the working set is never without work."""
        waiting = RebuildTotals()
        loading: deque[asyncio.Task[None]] = deque()
        try:
            async for told in self._log_reader.read_entries(shard.number):
                await self._working_set.reserve_seen(
                    shard.number, shard.epoch, seen_scopes_of(told.expected_entries)
                )
                part = sort(told, waiting)
                shard.note_fetch_sequence(part.sequence)
                await self._restore_budgets(shard, told)
                if len(loading) == MAX_CONCURRENT_LOADS:
                    await loading.popleft()
                loading.append(asyncio.create_task(self._put(shard, part, told.progress)))
                await asyncio.sleep(0)
            while loading:
                await loading.popleft()
        finally:
            for task in loading:
                task.cancel()
            await asyncio.gather(*loading, return_exceptions=True)
        return waiting

    async def _put(self, shard: OwnedShard, batch: RebuildBatch, progress: float) -> None:
        await self._working_set.load(
            shard.number,
            shard.epoch,
            queued=batch.queued,
            in_pipeline=batch.in_ring,
            seen_entries=batch.closed,
            seen_batches=batch.seen,
        )
        self._meter.set_rebuild_progress(shard.number, progress)
        await self._working_set.report_progress(shard.number, shard.epoch, progress)

    async def _restore_budgets(
        self, shard: OwnedShard, batch: Told, *, runs: Container[str] | None = None
    ) -> None:
        """Count what these entries cost the budgets of their runs, or of some of them."""
        opened, closed = batch.open, batch.closed
        names = {each.shared.sample.crawl_spec_id for each in opened} | {
            each.template.crawl_spec_id for each in closed
        }
        specs = await self._specs.known(names)
        limits = {name: self._budgets.allowance_of(spec) for name, spec in specs.items()}
        limited = {name: each for name, each in limits.items() if each.has_any}
        if not limited:
            return
        entries = chain((each.to_event() for each in opened), map(entry_of, closed))
        for entry in entries:
            known = limited.get(entry.crawl_spec_id)
            if known is not None and (runs is None or entry.execution_id in runs):
                self._budgets.restore_fetch(shard.number, budgeted_fetch_of(entry, known))

    def begin_count(self, shard: OwnedShard) -> None:
        """Have runs with a budget wait until `count` has counted: the shard was taken as it stood."""
        self._budgets.begin_count(shard.number)

    def _end_budget_recount(self, shard: OwnedShard) -> None:
        """Have runs with a budget wait, if they had asked here: what was in flight is known to nobody."""
        held = any(self._budgets.ledger.runs_of_shard(shard.number))
        hold_seconds = self._options.rebuild_hold_seconds
        seconds = (HOLD_MARGIN_MS / 1000 + 30.0) if hold_seconds is None else hold_seconds
        self._budgets.end_recount(shard.number, at=self._clock.monotonic() + (seconds if held else 0.0))

    async def recount_budgets(self, shard: OwnedShard) -> None:
        """Count anew what a shard that was taken as it stood has spent of budgets; raises Unavailable."""
        runs = set(self._budgets.ledger.runs_of_shard(shard.number))
        if runs:
            async for told in self._log_reader.read_entries(shard.number):
                await self._restore_budgets(shard, told, runs=runs)
        leased = await self._leased_requests(shard, runs) if runs else []
        self._budgets.end_recount(shard.number, at=0.0, leased=leased)
        shard.wake.set()

    async def _leased_requests(self, shard: OwnedShard, runs: set[str]) -> list[ReservationRequest]:
        """Give what is asked for of these runs."""
        found: list[EntryRecorded] = []
        cursor = -1
        while cursor != 0:
            scan = await shard.scan(cursor=max(cursor, 0), limit=SCAN_LIMIT, place=EntryLocation.LEASED)
            cursor = scan.cursor
            found += [entry for entry, _ in scan.entries if entry.execution_id in runs]
        specs = await self._specs.known({entry.crawl_spec_id for entry in found})
        return [
            reservation_request(entry, str(entry.fetch_sequence), self._budgets.allowance_of(spec))
            for entry in found
            if entry.kind != RequestKind.ROBOTS and (spec := specs.get(entry.crawl_spec_id)) is not None
        ]

    async def _open(self, shard: OwnedShard, hosts: Iterable[HostRecorded], totals: RebuildTotals) -> None:
        await restore_hosts(shard, hosts, keeps_specs=False)
        specs = await self._specs.known({spec_id for _, spec_id in totals.specs})
        for group, spec_id in sorted(totals.specs):
            if (spec := specs.get(spec_id)) is not None:
                shard.host_groups.heed(group, spec)
        now_ms = (await self._working_set.take_over(shard.number, shard.epoch)).now_ms
        shard.clock.synchronize(now_ms)
        shard.rebuilt_at_ms = now_ms
        asked, hold_until_ms = totals.may_be_in_flight, now_ms + self._initial_hold_ms(specs)
        # Memory may have no room for all that wait; each of them is held all the same.
        names = dict.fromkeys([*shard.host_groups, *sorted(asked)])
        states = [_held(shard, name, until_ms=hold_until_ms if name in asked else 0) for name in names]
        await self._working_set.finish_rebuild(
            shard.number, shard.epoch, groups=states, sequence=shard.max_fetch_sequence
        )
        shard.host_groups.mark_synced(states)

    def _initial_hold_ms(self, specs: Mapping[str, CrawlSpecDeclared]) -> int:
        if self._options.rebuild_hold_seconds is not None:
            return round(self._options.rebuild_hold_seconds * 1000)
        deadlines = [spec.request_timeout_seconds for spec in specs.values()]
        return round(max(deadlines, default=30.0) * 1000) + HOLD_MARGIN_MS


async def restore_hosts(shard: OwnedShard, hosts: Iterable[HostRecorded], *, keeps_specs: bool) -> None:
    """Put groups and robots rules into memory, groups first: a delay of an origin is its group's."""
    robots = []
    for record in hosts:
        if record.kind == HostRecordKind.ROBOTS:
            robots.append(record)
        else:
            shard.host_groups.put(
                host_group_from_record(
                    record, delay_seconds=shard.options.delay_seconds, keeps_specs=keeps_specs
                )
            )
            shard.host_groups.mark_recorded([record.group])
    token = product_token(shard.options.user_agent)
    for number, record in enumerate(sorted(robots, key=lambda record: record.robots_asked_at_ms)):
        if number % ROBOTS_PER_YIELD == 0:
            await asyncio.sleep(0)  # texts that ask for a delay are parsed: others want their turn
        rules = rules_of(robots_from_record(record))
        shard.robots.put(record.origin, rules)
        if (delay_seconds := rules.rules.delay_seconds(token)) > 0:
            group = shard.host_groups.get(record.group)
            shard.host_groups.put(apply_robots_delay(group, record.origin, delay_seconds))


def _held(shard: OwnedShard, name: str, *, until_ms: int) -> HostGroupState:
    now_ms = shard.rebuilt_at_ms
    state = group_state_of(shard.host_groups.get(name), now_ms=now_ms, rebuilt_at_ms=now_ms)
    return replace(state, not_before_ms=max(state.not_before_ms, until_ms))

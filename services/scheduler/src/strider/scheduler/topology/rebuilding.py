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
    Bid,
    Budgets,
    group_of_record,
    known_of_record,
    rules_of,
    with_robots,
)

from .budgeting import bid_of
from .ports import Archive, Meter, Options, Specs, Told
from .shard import PART, Shard
from .shelves import state_of
from .sorting import Part, Waiting, entry_of, fetch_of, scopes_of, sort

SCANNED: Final = 1_000
"""Open entries of one look for leases."""

PARTS_UNDER_WAY: Final = 3
"""Of the log, on their way to the working set while the next one is read."""

TEXTS_A_TURN: Final = 50
"""Of robots.txt, that are read again without a pause."""

HOLD_MARGIN_MS: Final = 5_000
"""Beyond the longest deadline: how long a fetcher may take to notice that its request is over."""

_log = logger("scheduler")


class Rebuilding:
    """Rebuilds shards."""

    def __init__(
        self,
        *,
        working_set: WorkingSet,
        archive: Archive,
        specs: Specs,
        budgets: Budgets,
        options: Options,
        meter: Meter,
        clock: Clock,
    ) -> None:
        self._working_set = working_set
        self._archive = archive
        self._specs = specs
        self._budgets = budgets
        self._options = options
        self._meter = meter
        self._clock = clock

    async def rebuild(self, shard: Shard) -> None:
        """Make a shard ready: by its working set where that is whole after all, else from the log."""
        shard.is_ready = False
        try:
            taken = await self._working_set.take_over(shard.number, shard.epoch)
            if taken.is_ready:  # only our own epoch had moved on
                _log.info("Shard Taken Again", shard=shard.number, epoch=shard.epoch)
            else:
                await self._from_log(shard)
        except ShardNotReady as failure:
            raise Unavailable(PART, str(failure)) from failure
        shard.is_ready = True

    async def _from_log(self, shard: Shard) -> None:
        began = self._clock.monotonic()
        shard.groups.untold()
        self._budgets.begin_count(shard.number)
        await self._working_set.begin_rebuild(shard.number, shard.epoch)
        hosts = await self._archive.hosts(shard.number)
        waiting = await self._load(shard)
        await self._working_set.set_accepted_counts(shard.number, shard.epoch, list(waiting.runs.values()))
        await self._open(shard, hosts, waiting)
        self._end_count(shard)
        self._meter.rebuilding(shard.number, 1.0)
        seconds = round(self._clock.monotonic() - began, 3)
        _log.info("Shard Rebuilt", shard=shard.number, entries=waiting.entries, seconds=seconds)

    async def _load(self, shard: Shard) -> Waiting:
        """Put entries back, a few parts while the next one is read: the working set is never without work."""
        waiting = Waiting()
        loading: deque[asyncio.Task[None]] = deque()
        try:
            async for told in self._archive.entries(shard.number):
                await self._working_set.reserve_seen(shard.number, shard.epoch, scopes_of(told.expected))
                part = sort(told, waiting)
                shard.met(part.sequence)
                await self._recall(shard, told)
                if len(loading) == PARTS_UNDER_WAY:
                    await loading.popleft()
                loading.append(asyncio.create_task(self._put(shard, part, told.behind)))
                await asyncio.sleep(0)
            while loading:
                await loading.popleft()
        finally:
            for task in loading:
                task.cancel()
            await asyncio.gather(*loading, return_exceptions=True)
        return waiting

    async def _put(self, shard: Shard, part: Part, behind: float) -> None:
        await self._working_set.load(
            shard.number,
            shard.epoch,
            queued=part.queued,
            in_pipeline=part.in_ring,
            seen_entries=part.closed,
            seen_batches=part.seen,
        )
        self._meter.rebuilding(shard.number, behind)
        await self._working_set.report_progress(shard.number, shard.epoch, behind)

    async def _recall(self, shard: Shard, told: Told, *, runs: Container[str] | None = None) -> None:
        """Count what these entries cost the budgets of their runs, or of some of them."""
        opened, closed = told.open, told.closed
        names = {each.shared.sample.crawl_spec_id for each in opened} | {
            each.like.crawl_spec_id for each in closed
        }
        specs = await self._specs.known(names)
        limits = {name: self._budgets.allowance_of(spec) for name, spec in specs.items()}
        limited = {name: each for name, each in limits.items() if each.are_any}
        if not limited:
            return
        entries = chain((each.to_event() for each in opened), map(entry_of, closed))
        for entry in entries:
            known = limited.get(entry.crawl_spec_id)
            if known is not None and (runs is None or entry.execution_id in runs):
                self._budgets.recall(shard.number, fetch_of(entry, known))

    def begin_count(self, shard: Shard) -> None:
        """Have runs with a budget wait until `count` has counted: the shard was taken as it stood."""
        self._budgets.begin_count(shard.number)

    def _end_count(self, shard: Shard) -> None:
        """Have runs with a budget wait, if they had asked here: what was in flight is known to nobody."""
        held = any(self._budgets.ledger.held_by(shard.number))
        hold_seconds = self._options.rebuild_hold_seconds
        seconds = (HOLD_MARGIN_MS / 1000 + 30.0) if hold_seconds is None else hold_seconds
        self._budgets.end_count(shard.number, at=self._clock.monotonic() + (seconds if held else 0.0))

    async def count(self, shard: Shard) -> None:
        """Count anew what a shard that was taken as it stood has spent of budgets; raises Unavailable."""
        runs = set(self._budgets.ledger.held_by(shard.number))
        if runs:
            async for told in self._archive.entries(shard.number):
                await self._recall(shard, told, runs=runs)
        leased = await self._leased(shard, runs) if runs else []
        self._budgets.end_count(shard.number, at=0.0, leased=leased)
        shard.wake.set()

    async def _leased(self, shard: Shard, runs: set[str]) -> list[Bid]:
        """Give what is asked for of these runs."""
        found: list[EntryRecorded] = []
        cursor = -1
        while cursor != 0:
            scan = await shard.scan(cursor=max(cursor, 0), limit=SCANNED, place=EntryLocation.LEASED)
            cursor = scan.cursor
            found += [entry for entry, _ in scan.entries if entry.execution_id in runs]
        specs = await self._specs.known({entry.crawl_spec_id for entry in found})
        return [
            bid_of(entry, str(entry.fetch_sequence), self._budgets.allowance_of(spec))
            for entry in found
            if entry.kind != RequestKind.ROBOTS and (spec := specs.get(entry.crawl_spec_id)) is not None
        ]

    async def _open(self, shard: Shard, hosts: Iterable[HostRecorded], waiting: Waiting) -> None:
        await remember_hosts(shard, hosts, keeps_specs=False)
        specs = await self._specs.known({spec_id for _, spec_id in waiting.specs})
        for group, spec_id in sorted(waiting.specs):
            if (spec := specs.get(spec_id)) is not None:
                shard.groups.heed(group, spec)
        now_ms = (await self._working_set.take_over(shard.number, shard.epoch)).now_ms
        shard.time.set(now_ms)
        shard.rebuilt_at_ms = now_ms
        asked, hold_until_ms = waiting.asked, now_ms + self._hold_ms(specs)
        # Memory may have no room for all that wait; each of them is held all the same.
        names = dict.fromkeys([*shard.groups, *sorted(asked)])
        states = [_held(shard, name, until_ms=hold_until_ms if name in asked else 0) for name in names]
        await self._working_set.finish_rebuild(
            shard.number, shard.epoch, groups=states, sequence=shard.sequence
        )
        shard.groups.told(states)

    def _hold_ms(self, specs: Mapping[str, CrawlSpecDeclared]) -> int:
        if self._options.rebuild_hold_seconds is not None:
            return round(self._options.rebuild_hold_seconds * 1000)
        deadlines = [spec.request_timeout_seconds for spec in specs.values()]
        return round(max(deadlines, default=30.0) * 1000) + HOLD_MARGIN_MS


async def remember_hosts(shard: Shard, hosts: Iterable[HostRecorded], *, keeps_specs: bool) -> None:
    """Put groups and robots rules into memory, groups first: a delay of an origin is its group's."""
    robots = []
    for record in hosts:
        if record.kind == HostRecordKind.ROBOTS:
            robots.append(record)
        else:
            shard.groups.put(
                group_of_record(record, delay_seconds=shard.options.delay_seconds, keeps_specs=keeps_specs)
            )
            shard.groups.recorded([record.group])
    token = product_token(shard.options.agent)
    for number, record in enumerate(sorted(robots, key=lambda record: record.robots_asked_at_ms)):
        if number % TEXTS_A_TURN == 0:
            await asyncio.sleep(0)  # texts that ask for a delay are parsed: others want their turn
        rules = rules_of(known_of_record(record))
        shard.robots.put(record.origin, rules)
        if (delay_seconds := rules.robots.delay_seconds(token)) > 0:
            group = shard.groups.get(record.group)
            shard.groups.put(with_robots(group, record.origin, delay_seconds))


def _held(shard: Shard, name: str, *, until_ms: int) -> HostGroupState:
    now_ms = shard.rebuilt_at_ms
    state = state_of(shard.groups.get(name), now_ms=now_ms, rebuilt_at_ms=now_ms)
    return replace(state, not_before_ms=max(state.not_before_ms, until_ms))

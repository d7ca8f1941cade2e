"""Taking a shard: fence who was before, then go on with its working set, or rebuild it from the log.

Decides which of the two it is, and how long after a rebuild a group is not asked: what was in flight
then is known to nobody. But only what is pending can have been: a request that led to a page or to a
closing had ended before that was written. So other groups wait no longer than their delay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, HostRecorded
from strider.contracts.generated.words import EntryReason, HostRecordKind
from strider.contracts.identity import entry_id
from strider.politeness.robots import product_token
from strider.runtime.errors import Unavailable
from strider.runtime.logs import logger
from strider.runtime.ports import Clock
from strider.scheduler.core import (
    Fate,
    PageBudgets,
    fate_of,
    group_of_record,
    known_of_record,
    rules_of,
    with_robots,
)
from strider.stores.frontier.ports import Accepted, GroupState, NotReady, WorkingSet

from .ports import Archive, Options, Specs, Truths
from .shard import PART, Shard, accepted_of
from .shardtime import ShardTime
from .shelves import state_of

LOAD: Final = 500
"""Entries put back by one call: small enough that others get their turn."""

TEXTS_A_TURN: Final = 50
"""Of robots.txt, that are read again without a pause."""

HOLD_MARGIN_MS: Final = 5_000
"""Beyond the longest deadline: how long a fetcher may take to notice that its request is over."""

_PAGE_CAME: Final = frozenset(
    {EntryReason.FETCHED, EntryReason.SETTLED, EntryReason.NOT_MODIFIED, EntryReason.REJECTED}
)

_log = logger("scheduler")


class Taking:
    """Takes and rebuilds shards."""

    def __init__(
        self,
        *,
        working_set: WorkingSet,
        truths: Truths,
        archive: Archive,
        specs: Specs,
        budgets: PageBudgets,
        options: Options,
        clock: Clock,
    ) -> None:
        self._working_set = working_set
        self._truths = truths
        self._archive = archive
        self._specs = specs
        self._budgets = budgets
        self._options = options
        self._clock = clock

    async def take(self, number: int) -> Shard:
        """Become the owner of a shard; it is ready when this returns."""
        truth = await self._truths.take(number)
        try:
            taken = await self._working_set.take(number, truth.epoch)
            time = ShardTime(self._clock, taken.now_ms)
            shard = Shard(number, truth, self._working_set, options=self._options, time=time)
            if taken.is_ready:
                await self._remember_hosts(shard, await self._archive.hosts(number), keeps_specs=True)
                shard.is_ready = True
                _log.info("Shard Taken", shard=number, epoch=shard.epoch)
            else:
                await self.rebuild(shard)
        except BaseException:
            await truth.close()
            raise
        return shard

    async def rebuild(self, shard: Shard) -> None:
        """Read the log to its end, and put back what is open; nothing else happens to the shard meanwhile."""
        began = self._clock.monotonic()
        shard.is_ready = False
        shard.groups.untold()
        self._budgets.give_back_shard(shard.number)
        try:
            await self._working_set.take(shard.number, shard.epoch)
            await self._working_set.begin(shard.number, shard.epoch)
            hosts = await self._archive.hosts(shard.number)
            entries = await self._archive.entries(shard.number)
            await self._load(shard, entries)
            await self._open(shard, hosts, entries)
        except NotReady as failure:
            raise Unavailable(PART, str(failure)) from failure
        shard.is_ready = True
        seconds = round(self._clock.monotonic() - began, 3)
        _log.info("Shard Rebuilt", shard=shard.number, entries=len(entries), seconds=seconds)

    async def _load(self, shard: Shard, entries: Sequence[EntryRecorded]) -> None:
        pages = {entry.crawl_spec_id for entry in entries if entry.reason in _PAGE_CAME}
        specs = await self._specs.known(pages)
        for start in range(0, len(entries), LOAD):
            queued: list[Accepted] = []
            in_ring: list[Accepted] = []
            closed: list[Accepted] = []
            places = {Fate.QUEUE: queued, Fate.RING: in_ring, Fate.CLOSE: closed}
            for entry in entries[start : start + LOAD]:
                shard.met(entry.fetch_sequence)
                self._count_page(entry, specs.get(entry.crawl_spec_id))
                if (place := places.get(fate_of(entry))) is not None:
                    place.append(accepted_of(entry))
            await self._working_set.load(
                shard.number, shard.epoch, queued=queued, in_ring=in_ring, closed=closed
            )
            await asyncio.sleep(0)

    async def _open(
        self, shard: Shard, hosts: Sequence[HostRecorded], entries: Sequence[EntryRecorded]
    ) -> None:
        await self._remember_hosts(shard, hosts, keeps_specs=False)
        waiting = [entry for entry in entries if fate_of(entry) in {Fate.QUEUE, Fate.RING}]
        specs = await self._specs.known({entry.crawl_spec_id for entry in waiting})
        for entry in waiting:
            if (spec := specs.get(entry.crawl_spec_id)) is not None:
                shard.groups.heed(entry.group, spec)
        now_ms = (await self._working_set.take(shard.number, shard.epoch)).now_ms
        shard.time.set(now_ms)
        shard.rebuilt_at_ms = now_ms
        asked = {entry.group for entry in waiting if fate_of(entry) is Fate.QUEUE}
        hold_until_ms = now_ms + self._hold_ms(specs)
        # Memory may have no room for all that wait; each of them is held all the same.
        names = dict.fromkeys([*shard.groups, *sorted(asked)])
        states = [_held(shard, name, until_ms=hold_until_ms if name in asked else 0) for name in names]
        await self._working_set.ready(shard.number, shard.epoch, groups=states, sequence=shard.sequence)
        shard.groups.told(states)

    def _hold_ms(self, specs: Mapping[str, CrawlSpecDeclared]) -> int:
        if self._options.rebuild_hold_seconds is not None:
            return round(self._options.rebuild_hold_seconds * 1000)
        deadlines = [spec.request_timeout_seconds for spec in specs.values()]
        return round(max(deadlines, default=30.0) * 1000) + HOLD_MARGIN_MS

    async def _remember_hosts(
        self, shard: Shard, hosts: Iterable[HostRecorded], *, keeps_specs: bool
    ) -> None:
        """Put groups and robots rules into memory, groups first: a delay of an origin is its group's."""
        robots = []
        for record in hosts:
            if record.kind == HostRecordKind.ROBOTS:
                robots.append(record)
            else:
                shard.groups.put(
                    group_of_record(
                        record, delay_seconds=self._options.delay_seconds, keeps_specs=keeps_specs
                    )
                )
                shard.groups.recorded([record.group])
        token = product_token(self._options.agent)
        for number, record in enumerate(sorted(robots, key=lambda record: record.robots_asked_at_ms)):
            if number % TEXTS_A_TURN == 0:
                await asyncio.sleep(0)  # texts that ask for a delay are parsed: others want their turn
            rules = rules_of(known_of_record(record))
            shard.robots.put(record.origin, rules)
            if (delay_seconds := rules.robots.delay_seconds(token)) > 0:
                group = shard.groups.get(record.group)
                shard.groups.put(with_robots(group, record.origin, delay_seconds))

    def _count_page(self, entry: EntryRecorded, spec: CrawlSpecDeclared | None) -> None:
        if spec is not None and entry.reason in _PAGE_CAME:
            name, most = entry_id(entry.job_id, entry.url_key), self._options.pages_of(spec)
            self._budgets.use(entry.execution_id, name, most=most)


def _held(shard: Shard, name: str, *, until_ms: int) -> GroupState:
    now_ms = shard.rebuilt_at_ms
    state = state_of(shard.groups.get(name), now_ms=now_ms, rebuilt_at_ms=now_ms)
    return replace(state, not_before_ms=max(state.not_before_ms, until_ms))

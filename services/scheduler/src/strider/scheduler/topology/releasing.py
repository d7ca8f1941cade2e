"""What is due -> lease -> asked for, robots.txt first, put back, closed -> fetch-requests, urls-decided.

One loop for each shard. Lease first, then speak: what a crash leaves unspoken comes again when its
lease ends. Looks when something has changed, when something is due, and now and then.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.contracts.generated.topics import FETCH_REQUESTS, URLS_DECIDED
from strider.frontier.models import (
    EntryConclusion,
    EntryDisposition,
    Lease,
    LeaseState,
    LeaseSwap,
    ReleaseResult,
)
from strider.messaging.effects import Publish
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import INFRASTRUCTURE_RETRY, RandomSource
from strider.politeness.robots.freshness import RobotsFetchResult, RobotsResponse, apply_response
from strider.runtime.observability.logging import logger
from strider.scheduler.core import (
    Amount,
    Budgets,
    Ended,
    Licence,
    Line,
    Orders,
    Rules,
    Step,
    Surroundings,
    fetch_request,
    messages,
    obey,
    robots_entry,
    tried,
    turn,
)
from strider.scheduler.core.allowance import NOTHING
from strider.scheduler.core.gates import Spent
from strider.scheduler.core.outcomes import lasting
from strider.urls import origin_of

from .budgeting import Budgeting, Count
from .concluding import DEFAULT_SPEC
from .gating import Gating
from .noting import note_lines
from .ports import Meter, Options, Specs, Voice
from .pruning import prune
from .shard import Decided, Shard
from .sweeping import Sweeping
from .tellings import conclusion_of

IDLE_SECONDS: Final = 5.0
"""Longest time without a look: in case the one clock and ours do not agree on when something is due."""

FIGURES_SECONDS: Final = 1.0
"""How old the count of what is under way may be."""

_log = logger("scheduler")

Rebuild = Callable[[Shard], Awaitable[None]]


@dataclass(slots=True)
class Harvest:
    """What one look has led to."""

    asked: list[tuple[Lease, CrawlSpecDeclared, Amount]] = field(default_factory=list)
    robots: dict[str, tuple[Lease, CrawlSpecDeclared]] = field(default_factory=dict)
    """By origin: each is asked once."""
    back: list[EntryConclusion] = field(default_factory=list)
    """Put back as they are; nothing that the log would have to know."""
    decided: list[Decided] = field(default_factory=list)
    """To be written down."""
    lines: list[Line] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)

    @property
    def has_ended(self) -> bool:
        """Whether something is free again that was not."""
        return bool(self.back or self.decided)


class Releasing:
    """Releases one shard for as long as it is in hand."""

    def __init__(
        self,
        shard: Shard,
        *,
        rebuild: Rebuild,
        count: Count,
        specs: Specs,
        voice: Voice,
        budgets: Budgets,
        orders: Orders,
        gating: Gating,
        meter: Meter,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        self._shard = shard
        self._options: Options = shard.options
        self._rebuild = rebuild
        self._specs = specs
        self._voice = voice
        self._budgeting = Budgeting(
            shard, budgets, orders, count=count, voice=voice, clock=clock, chance=chance
        )
        self._orders = orders
        self._sweeping = Sweeping(shard, orders, voice=voice, meter=meter)
        self._gating = gating
        self._spent = Spent()
        self._meter = meter
        self._clock = clock
        self._chance = chance
        self._room = 0
        self._counted_at: float | None = None
        self._unsent: list[tuple[Publish, int]] = []
        """Requests that the broker did not take, with the ends of their leases."""

    async def run(self) -> None:
        """Release until the shard is given back, or somebody newer has it."""
        counting = asyncio.create_task(self._budgeting.count(), name=f"count {self._shard.number}")
        try:
            await self._release()
        finally:
            counting.cancel()

    async def _release(self) -> None:
        failures = 0
        while not self._shard.is_leaving:
            self._shard.wake.clear()
            try:
                wait_seconds = await self.look()
            except Unavailable as failure:
                failures += 1
                self._shard.waits_for = str(failure)
                wait_seconds = INFRASTRUCTURE_RETRY.wait_seconds(failures, self._chance) or 0.0
                _log.warning("Release Waits", shard=self._shard.number, why=str(failure))
                await self._clock.sleep(wait_seconds)
                continue
            except ShardFenced:
                _log.warning("Release Ends", shard=self._shard.number, why="the shard has a newer owner")
                return
            failures, self._shard.waits_for = 0, ""
            await self._pause(wait_seconds)

    async def look(self) -> float:
        """Look once, and do all that follows; gives the seconds until it is worth looking again."""
        shard = self._shard
        if not shard.is_ready:
            await self._rebuild(shard)
        await self._send_again()
        is_sweeping = await self._sweeping.step()
        room = self._credits(await self._count_room())
        shard.wants_room = room <= 0
        # Also where there is no room: what ran out is under way until somebody has looked at it.
        release = await shard.release(limit=min(max(room, 0), self._options.release_batch))
        self._room -= len(release.leases)
        harvest = await self._decide(release)
        await self._request(harvest)
        self._spent.spend(len(release.leases), now=self._clock.monotonic())
        await shard.conclude(harvest.back)
        await self._write(harvest)
        await self._budgeting.tell()
        for word, count in harvest.words.items():
            self._meter.decided(word, count)
        has_used_up = 0 < room <= len(release.leases)  # by a count that may be a second old
        if harvest.has_ended or is_sweeping or has_used_up:
            return 0.0
        return _until(release) if room > 0 else FIGURES_SECONDS

    async def _decide(self, release: ReleaseResult) -> Harvest:
        expired = self._shard.hindsight.judge(release.expired, now=self._clock.monotonic())
        leases = (*release.leases, *expired)
        specs = await self._specs.known({lease.entry.crawl_spec_id for lease in leases})
        harvest = Harvest()
        for lease in expired:
            self._expire(lease, specs, harvest)
        for lease in release.leases:
            self._take_turn(lease, specs.get(lease.entry.crawl_spec_id), harvest)
        await self._shard.tell_groups(lease.entry.group for lease in release.leases)
        return harvest

    def _take_turn(self, lease: Lease, spec: CrawlSpecDeclared | None, harvest: Harvest) -> None:
        shard, entry = self._shard, lease.entry
        now_ms = shard.time.now_ms()
        group = shard.groups.get(entry.group) if spec is None else shard.groups.heed(entry.group, spec)
        name = origin_of(entry.url)
        rules: Rules = shard.robots.get(name)
        order = self._orders.of(entry.job_id, entry.execution_id)
        has_caught_up = shard.hindsight.has_caught_up
        around = Surroundings(
            spec, group, rules, self._options.agent, now_ms, has_caught_up, self._options.heeds_robots
        )
        result = obey(entry, order, now_ms) or turn(entry, around)
        if spec is not None and result.step is Step.ASK:
            result = self._budgeting.within(result, lease, spec, now_ms)
        if spec is not None and result.step is Step.ROBOTS and name not in harvest.robots:
            harvest.robots[name] = lease, spec
        elif spec is not None and result.step is Step.ASK:
            harvest.asked.append((lease, spec, result.amount))
        elif result.step is Step.CLOSE and result.ended is not None:
            self._end(result.ended, lease, harvest)
        else:
            harvest.words[f"waits_{result.entry.reason}"] += 1
            harvest.back.append(conclusion_of(result.entry, lease.lease_id))

    def _expire(self, lease: Lease, specs: Mapping[str, CrawlSpecDeclared], harvest: Harvest) -> None:
        """Decide about a lease that ran out: unless its request was started, nothing has happened."""
        entry, is_started = lease.entry, lease.state is LeaseState.STARTED
        if self._shard.is_deciding(entry, besides=_cause(lease)):
            return  # its outcome came, and is on its way into the log
        harvest.words["expired_started" if is_started else "expired_issued"] += 1
        self._budgeting.give_back(lease)
        if entry.kind == RequestKind.ROBOTS:
            if is_started:
                self._miss_robots(entry)
            harvest.back.append(
                EntryConclusion(entry, EntryDisposition.CLOSE_AND_FORGET, "", 0, lease.lease_id)
            )
        elif is_started:
            spec = specs.get(entry.crawl_spec_id, DEFAULT_SPEC)
            now_ms = self._shard.time.now_ms()
            ended = tried(entry, spec, now_ms=now_ms, chance=self._chance, detail="no outcome came")
            self._end(lasting(entry, ended, spec, now_ms=now_ms), lease, harvest)
        else:
            harvest.back.append(conclusion_of(entry, lease.lease_id))

    def _end(self, ended: Ended, lease: Lease, harvest: Harvest) -> None:
        harvest.words[ended.word] += 1
        harvest.lines += ended.lines
        if ended.entry is not None:
            harvest.decided.append(
                self._shard.decide(
                    ended.entry,
                    before=lease.entry,
                    cause=_cause(lease),
                    lease_id=lease.lease_id,
                )
            )

    def _miss_robots(self, entry: EntryRecorded) -> None:
        """Count a robots.txt whose outcome never came as one that failed."""
        shard, name = self._shard, origin_of(entry.url)
        rules = shard.robots.get(name)
        asked = RobotsResponse(RobotsFetchResult.FAILED, entry.fetch_sequence)
        known = apply_response(rules.known, asked, now_ms=shard.time.now_ms(), random=self._chance)
        shard.robots.put(name, Rules(known, rules.robots))

    async def _request(self, harvest: Harvest) -> None:
        """Ask for what may be asked for, and for the robots.txt of what may not be yet."""
        says = [self._request_of(lease, spec, amount) for lease, spec, amount in harvest.asked]
        waiting = list(harvest.robots.values())
        if waiting:
            swaps = [LeaseSwap(lease.lease_id, robots_entry(lease.entry)) for lease, _ in waiting]
            for lease, (_, spec) in zip(await self._shard.swap(swaps), waiting, strict=True):
                if lease is not None:
                    self._shard.met(lease.entry.fetch_sequence)
                    says.append(self._request_of(lease, spec))
        harvest.words["requested"] += len(harvest.asked)
        harvest.words["requested_robots"] += len(waiting)
        await self._send(says)

    def _request_of(
        self, lease: Lease, spec: CrawlSpecDeclared, amount: Amount = NOTHING
    ) -> tuple[Publish, int]:
        name, shard = lease.lease_id, self._shard
        licence = Licence(name, lease.issued_at_ms, lease.expires_at_ms, shard.number, shard.epoch, amount)
        request = fetch_request(lease.entry, spec, licence)
        return Publish(FETCH_REQUESTS, request, cause=f"leased {lease.lease_id}"), lease.expires_at_ms

    async def _send(self, requests: Sequence[tuple[Publish, int]]) -> None:
        if not requests:
            return
        try:
            await self._voice.publish([say for say, _ in requests])
        except Unavailable:
            self._unsent += requests
            raise

    async def _send_again(self) -> None:
        """Say what was not acknowledged, as long as it means anything."""
        now_ms = self._shard.time.now_ms()
        unsent, self._unsent = self._unsent, []
        await self._send([(say, ends_at_ms) for say, ends_at_ms in unsent if ends_at_ms > now_ms])

    async def _write(self, harvest: Harvest) -> None:
        """Say what is closed, write it down, and only then let go of it."""
        if not harvest.decided:
            return
        shard = self._shard
        if harvest.lines:
            told = messages(harvest.lines, now_ms=shard.time.now_ms())
            await self._voice.publish([Publish(URLS_DECIDED, event) for event in told])
            note_lines(self._meter, harvest.lines)
        # Each of them holds its group until it is written: that must not take a commit's interval.
        await shard.settle(harvest.decided, at_once=True)

    async def _count_room(self) -> int:
        """Say how many more entries may be under way; counted now and then, and when it seems to be none."""
        now = self._clock.monotonic()
        is_old = self._counted_at is None or now - self._counted_at >= FIGURES_SECONDS
        if self._room <= 0 or is_old:
            await prune(self._shard)
            figures = await self._shard.figures()
            self._meter.full(self._shard.number, figures)
            self._room = self._options.in_flight - figures.leased - figures.in_pipeline
            self._counted_at = now
        return self._room

    def _credits(self, room: int) -> int:
        """Say how many of them the ring can take."""
        credits_left = self._gating.left(self._shard.number, self._spent)
        return room if credits_left is None else min(room, credits_left)

    async def _pause(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(min(seconds, IDLE_SECONDS)):
                await self._shard.wake.wait()
        except TimeoutError:
            return


def _cause(lease: Lease) -> str:
    return f"released {lease.lease_id}"


def _until(release: ReleaseResult) -> float:
    if release.next_due_ms is None:
        return IDLE_SECONDS
    return max((release.next_due_ms - release.now_ms) / 1000, 0.001)

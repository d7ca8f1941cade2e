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
    BudgetAmount,
    CachedRobots,
    EntryTransition,
    ReleaseContext,
    RequestLease,
    RunBudgets,
    RunControl,
    Step,
    UrlDecision,
    apply_run_state,
    decide_release,
    decision_messages,
    fetch_request,
    retry_or_close,
    robots_request_entry,
)
from strider.scheduler.core.budgets.limits import NOTHING
from strider.scheduler.core.entries.fetch_outcomes import schedule_recrawl
from strider.scheduler.core.release.backpressure import SpentCredits
from strider.scheduler.handlers.fetch_outcomes import DEFAULT_SPEC
from strider.scheduler.ports import Meter, SchedulerOptions, Specs, Voice
from strider.scheduler.shard.budget import Recount, ShardBudget
from strider.scheduler.shard.shard import Decided, OwnedShard
from strider.scheduler.shard.store_mapping import entry_conclusion
from strider.urls import origin_of

from .backpressure import BackpressureMonitor
from .pruning import prune
from .run_log import note_decisions
from .sweep import QueueSweep

IDLE_SECONDS: Final = 5.0
"""Longest time without a look: in case the one clock and ours do not agree on when something is due."""

FIGURES_SECONDS: Final = 1.0
"""How old the count of what is under way may be."""

_log = logger("scheduler")

Rebuild = Callable[[OwnedShard], Awaitable[None]]


@dataclass(slots=True)
class ReleaseBatch:
    """What one look has led to."""

    requests: list[tuple[Lease, CrawlSpecDeclared, BudgetAmount]] = field(default_factory=list)
    robots_requests: dict[str, tuple[Lease, CrawlSpecDeclared]] = field(default_factory=dict)
    """By origin: each is asked once."""
    requeued: list[EntryConclusion] = field(default_factory=list)
    """Put back as they are; nothing that the log would have to know."""
    pending: list[Decided] = field(default_factory=list)
    """To be written down."""
    decisions: list[UrlDecision] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def has_ended(self) -> bool:
        """Whether something is free again that was not."""
        return bool(self.requeued or self.pending)


class ReleaseLoop:
    """Releases one shard for as long as it is in hand."""

    def __init__(
        self,
        shard: OwnedShard,
        *,
        rebuild: Rebuild,
        recount: Recount,
        specs: Specs,
        voice: Voice,
        budgets: RunBudgets,
        orders: RunControl,
        gating: BackpressureMonitor,
        meter: Meter,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        self._shard = shard
        self._options: SchedulerOptions = shard.options
        self._rebuild = rebuild
        self._specs = specs
        self._publisher = voice
        self._budget = ShardBudget(
            shard, budgets, orders, recount=recount, voice=voice, clock=clock, chance=chance
        )
        self._orders = orders
        self._sweep = QueueSweep(shard, orders, voice=voice, meter=meter)
        self._backpressure = gating
        self._spent = SpentCredits()
        self._meter = meter
        self._clock = clock
        self._chance = chance
        self._room = 0
        self._counted_at: float | None = None
        self._unsent: list[tuple[Publish, int]] = []
        """Requests that the broker did not take, with the ends of their leases."""

    async def run(self) -> None:
        """Release until the shard is given back, or somebody newer has it."""
        counting = asyncio.create_task(self._budget.recount(), name=f"count {self._shard.number}")
        try:
            await self._release()
        finally:
            counting.cancel()

    async def _release(self) -> None:
        failures = 0
        while not self._shard.is_leaving:
            self._shard.wake.clear()
            try:
                wait_seconds = await self.run_once()
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

    async def run_once(self) -> float:
        """Look once, and do all that follows; gives the seconds until it is worth looking again."""
        shard = self._shard
        if not shard.is_ready:
            await self._rebuild(shard)
        await self._resend()
        is_sweeping = await self._sweep.step()
        room = self._limit_to_credits(await self._count_capacity())
        shard.wants_room = room <= 0
        # Also where there is no room: what ran out is under way until somebody has looked at it.
        release = await shard.lease_due_entries(limit=min(max(room, 0), self._options.release_batch))
        self._room -= len(release.leases)
        batch = await self._decide(release)
        await self._request(batch)
        self._spent.spend(len(release.leases), now=self._clock.monotonic())
        await shard.conclude(batch.back)
        await self._write(batch)
        await self._budget.publish_claims()
        for word, count in batch.words.items():
            self._meter.count_decision(word, count)
        has_used_up = 0 < room <= len(release.leases)  # by a count that may be a second old
        if batch.has_ended or is_sweeping or has_used_up:
            return 0.0
        return _until(release) if room > 0 else FIGURES_SECONDS

    async def _decide(self, release: ReleaseResult) -> ReleaseBatch:
        expired = self._shard.hindsight.judge(release.expired, now=self._clock.monotonic())
        leases = (*release.leases, *expired)
        specs = await self._specs.known({lease.entry.crawl_spec_id for lease in leases})
        batch = ReleaseBatch()
        for lease in expired:
            self._expire(lease, specs, batch)
        for lease in release.leases:
            self._decide(lease, specs.get(lease.entry.crawl_spec_id), batch)
        await self._shard.sync_host_groups(lease.entry.group for lease in release.leases)
        return batch

    def _decide(self, lease: Lease, spec: CrawlSpecDeclared | None, batch: ReleaseBatch) -> None:
        shard, entry = self._shard, lease.entry
        now_ms = shard.clock.now_ms()
        group = (
            shard.host_groups.get(entry.group) if spec is None else shard.host_groups.heed(entry.group, spec)
        )
        name = origin_of(entry.url)
        rules: CachedRobots = shard.robots.get(name)
        order = self._orders.directive_for(entry.job_id, entry.execution_id)
        has_caught_up = shard.hindsight.has_caught_up
        around = ReleaseContext(
            spec, group, rules, self._options.user_agent, now_ms, has_caught_up, self._options.heeds_robots
        )
        result = apply_run_state(entry, order, now_ms) or decide_release(entry, around)
        if spec is not None and result.action is Step.ASK:
            result = self._budget.apply(result, lease, spec, now_ms)
        if spec is not None and result.action is Step.FETCH_ROBOTS and name not in batch.robots_requests:
            batch.robots_requests[name] = lease, spec
        elif spec is not None and result.action is Step.ASK:
            batch.requests.append((lease, spec, result.amount))
        elif result.action is Step.CLOSE and result.transition is not None:
            self._end(result.transition, lease, batch)
        else:
            batch.counts[f"waits_{result.entry.reason}"] += 1
            batch.requeued.append(entry_conclusion(result.entry, lease.lease_id))

    def _expire(self, lease: Lease, specs: Mapping[str, CrawlSpecDeclared], batch: ReleaseBatch) -> None:
        """Decide about a lease that ran out: unless its request was started, nothing has happened."""
        entry, is_started = lease.entry, lease.state is LeaseState.STARTED
        if self._shard.has_other_decision(entry, other_than=_cause(lease)):
            return  # its outcome came, and is on its way into the log
        batch.counts["expired_started" if is_started else "expired_issued"] += 1
        self._budget.give_back(lease)
        if entry.kind == RequestKind.ROBOTS:
            if is_started:
                self._count_failed_robots(entry)
            batch.requeued.append(
                EntryConclusion(entry, EntryDisposition.CLOSE_AND_FORGET, "", 0, lease.lease_id)
            )
        elif is_started:
            spec = specs.get(entry.crawl_spec_id, DEFAULT_SPEC)
            now_ms = self._shard.clock.now_ms()
            ended = retry_or_close(entry, spec, now_ms=now_ms, chance=self._chance, detail="no outcome came")
            self._end(schedule_recrawl(entry, ended, spec, now_ms=now_ms), lease, batch)
        else:
            batch.requeued.append(entry_conclusion(entry, lease.lease_id))

    def _end(self, transition: EntryTransition, lease: Lease, batch: ReleaseBatch) -> None:
        batch.counts[transition.label] += 1
        batch.decisions += transition.decisions
        if transition.entry is not None:
            batch.pending.append(
                self._shard.decide(
                    transition.entry,
                    before=lease.entry,
                    cause=_cause(lease),
                    lease_id=lease.lease_id,
                )
            )

    def _count_failed_robots(self, entry: EntryRecorded) -> None:
        """Count a robots.txt whose outcome never came as one that failed."""
        shard, name = self._shard, origin_of(entry.url)
        rules = shard.robots.get(name)
        asked = RobotsResponse(RobotsFetchResult.FAILED, entry.fetch_sequence)
        known = apply_response(rules.origin_state, asked, now_ms=shard.clock.now_ms(), random=self._chance)
        shard.robots.put(name, CachedRobots(known, rules.rules))

    async def _request(self, batch: ReleaseBatch) -> None:
        """Ask for what may be asked for, and for the robots.txt of what may not be yet."""
        says = [self._request_of(lease, spec, amount) for lease, spec, amount in batch.requests]
        waiting = list(batch.robots_requests.values())
        if waiting:
            swaps = [LeaseSwap(lease.lease_id, robots_request_entry(lease.entry)) for lease, _ in waiting]
            for lease, (_, spec) in zip(await self._shard.swap_leases(swaps), waiting, strict=True):
                if lease is not None:
                    self._shard.note_fetch_sequence(lease.entry.fetch_sequence)
                    says.append(self._request_of(lease, spec))
        batch.counts["requested"] += len(batch.requests)
        batch.counts["requested_robots"] += len(waiting)
        await self._send(says)

    def _request_of(
        self, lease: Lease, spec: CrawlSpecDeclared, amount: BudgetAmount = NOTHING
    ) -> tuple[Publish, int]:
        name, shard = lease.lease_id, self._shard
        lease = RequestLease(name, lease.issued_at_ms, lease.expires_at_ms, shard.number, shard.epoch, amount)
        request = fetch_request(lease.entry, spec, lease)
        return Publish(FETCH_REQUESTS, request, cause=f"leased {lease.lease_id}"), lease.expires_at_ms

    async def _send(self, requests: Sequence[tuple[Publish, int]]) -> None:
        if not requests:
            return
        try:
            await self._publisher.publish([say for say, _ in requests])
        except Unavailable:
            self._unsent += requests
            raise

    async def _resend(self) -> None:
        """Say what was not acknowledged, as long as it means anything."""
        now_ms = self._shard.clock.now_ms()
        unsent, self._unsent = self._unsent, []
        await self._send([(say, ends_at_ms) for say, ends_at_ms in unsent if ends_at_ms > now_ms])

    async def _write(self, batch: ReleaseBatch) -> None:
        """Say what is closed, write it down, and only then let go of it."""
        if not batch.pending:
            return
        shard = self._shard
        if batch.decisions:
            told = decision_messages(batch.decisions, now_ms=shard.clock.now_ms())
            await self._publisher.publish([Publish(URLS_DECIDED, event) for event in told])
            note_decisions(self._meter, batch.decisions)
        # Each of them holds its group until it is written: that must not take a commit's interval.
        await shard.commit_decisions(batch.pending, at_once=True)

    async def _count_capacity(self) -> int:
        """Say how many more entries may be under way; counted now and then, and when it seems to be none."""
        now = self._clock.monotonic()
        is_old = self._counted_at is None or now - self._counted_at >= FIGURES_SECONDS
        if self._room <= 0 or is_old:
            await prune(self._shard)
            figures = await self._shard.figures()
            self._meter.set_fullness(self._shard.number, figures)
            self._room = self._options.in_flight - figures.leased - figures.in_pipeline
            self._counted_at = now
        return self._room

    def _limit_to_credits(self, capacity: int) -> int:
        """Say how many of them the ring can take."""
        credits_left = self._backpressure.credits_left(self._shard.number, self._spent)
        return capacity if credits_left is None else min(capacity, credits_left)

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

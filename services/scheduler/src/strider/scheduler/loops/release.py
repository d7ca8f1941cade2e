"""Release due entries: due -> lease -> fetch-requests, urls-decided, frontier.

One loop for each shard. What happens to a due entry is decided by `core/release/decision.py`; robots.txt is
fetched first, in exchange for the entry's lease, where it is unknown. The per-host delay is not enforced
here: the working set writes a lease only when the clock of the host group allows it
(`frontier_part_host_groups.lua` of `strider.frontier`).

The lease is written first: a request that a crash kept from being published is released again when its lease
expires. A pass follows each wake-up, each due time, and an idle interval.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded, HostRecorded
from strider.contracts.generated.topics import FETCH_REQUESTS, URLS_DECIDED
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.runs.control import RunControl
from strider.frontier.models import EntryConclusion, Lease, LeaseState, LeaseSwap, ReleaseResult
from strider.messaging.effects import Publish
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import RandomSource
from strider.politeness.robots.freshness import RobotsFetchResult, RobotsResponse, apply_response
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.retry import Backoff
from strider.scheduler import log_events
from strider.scheduler.core.budgets.limits import NO_AMOUNT, BudgetAmount
from strider.scheduler.core.budgets.reservations import RunBudgets
from strider.scheduler.core.entries.fetch_outcomes import EntryTransition, retry_or_close, schedule_recrawl
from strider.scheduler.core.entries.url_decisions import UrlDecision, decision_messages
from strider.scheduler.core.hosts.redirect_queries import ROBOTS_QUERY_JOB
from strider.scheduler.core.hosts.robots import CachedRobots, robots_request_entry, robots_to_record
from strider.scheduler.core.release.backpressure import SpentCredits
from strider.scheduler.core.release.decision import (
    ReleaseAction,
    ReleaseContext,
    apply_run_state,
    decide_release,
)
from strider.scheduler.core.release.fetch_request import RequestLease, build_fetch_request
from strider.scheduler.handlers.fetch_outcomes import DEFAULT_SPEC
from strider.scheduler.handlers.robots_files import is_query_waiting
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import SchedulerMeter
from strider.scheduler.shard.budget import Recount, ShardBudget
from strider.scheduler.shard.in_progress import PendingDecision
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.store_mapping import entry_conclusion, query_conclusion, robots_conclusion
from strider.urls import origin_of

from .backpressure import BackpressureMonitor
from .decision_turns import DecisionTurns
from .retention import prune_idle_groups
from .run_log import note_decisions
from .sweep import QueueSweep

IDLE_SECONDS: Final = 5.0
"""Longest time without a pass, in case the server's clock and ours differ about a due time."""

RESERVE_DIVISOR: Final = 4
"""This fraction of what may be in flight is allowed beyond it for runs of owners: their requests would else
wait for those of a flood of raw seeds that takes up all of it.
"""

FIGURES_SECONDS: Final = 1.0
"""Oldest count of entries in flight that is used."""

_log = logger("scheduler")

Rebuild = Callable[[OwnedShard], Awaitable[None]]


@dataclass(slots=True)
class ReleaseBatch:
    """Results of one pass."""

    requests: list[tuple[Lease, CrawlSpecDeclared, BudgetAmount]] = field(default_factory=list)
    robots_requests: dict[str, tuple[Lease, CrawlSpecDeclared]] = field(default_factory=dict)
    """By origin: each robots.txt is requested once."""
    requeued: list[EntryConclusion] = field(default_factory=list)
    """Entries requeued as they are, without a record in the log."""
    pending: list[PendingDecision] = field(default_factory=list)
    """Decisions to be written to the log."""
    decisions: list[UrlDecision] = field(default_factory=list)
    hosts: list[HostRecorded] = field(default_factory=list)
    """Origins whose robots.txt request had no outcome."""
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def has_freed_leases(self) -> bool:
        """Whether leases were freed that the next pass may use."""
        return bool(self.requeued or self.pending)


class ReleaseLoop:
    """Releases one shard while it is owned."""

    def __init__(
        self,
        shard: OwnedShard,
        *,
        rebuild: Rebuild,
        recount: Recount,
        crawl_specs: CrawlSpecCache,
        publisher: EventPublisher,
        budgets: RunBudgets,
        run_control: RunControl,
        backpressure: BackpressureMonitor,
        meter: SchedulerMeter,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        self._shard = shard
        self._options: SchedulerOptions = shard.options
        self._rebuild = rebuild
        self._crawl_specs = crawl_specs
        self._publisher = publisher
        self._budget = ShardBudget(
            shard,
            budgets,
            run_control,
            recount=recount,
            publisher=publisher,
            clock=clock,
            chance=chance,
        )
        self._run_control = run_control
        self._sweep = QueueSweep(shard, run_control, publisher=publisher, meter=meter)
        self._backpressure = backpressure
        self._spent_credits = SpentCredits()
        self._turns = DecisionTurns(most=self._options.release_batch, clock=clock)
        self._meter = meter
        self._clock, self._chance = clock, chance
        self._capacity = 0
        self._counted_at: float | None = None
        self._unsent: list[tuple[Publish, int]] = []
        """Requests that were not acknowledged, with the ends of their leases."""

    async def recount_budgets(self) -> None:
        """Recount what was spent before the takeover; runs with a budget wait for it."""
        await self._budget.recount()

    async def run(self) -> None:
        """Release until the shard is given up, or has a newer owner."""
        backoff = Backoff(clock=self._clock, chance=self._chance)
        while not self._shard.is_stopping:
            self._shard.wake.clear()
            try:
                wait_seconds = await self.run_once()
            except Unavailable as failure:
                self._shard.unavailable_reason = str(failure)
                _log.emit(log_events.RELEASE_PAUSED, shard=self._shard.number, why=str(failure))
                await backoff.wait()
                continue
            except ShardFenced:
                _log.emit(
                    log_events.RELEASE_STOPPED, shard=self._shard.number, why="the shard has a newer owner"
                )
                return
            backoff.reset()
            self._shard.unavailable_reason = ""
            await (self._wait_for_wake(wait_seconds) if wait_seconds > 0 else asyncio.sleep(0))

    async def run_once(self) -> float:
        """Run one pass; return the seconds until the next one is useful."""
        shard = self._shard
        if not shard.is_ready:
            await self._rebuild(shard)
        await self._resend()
        is_sweeping_on = await self._sweep.step()
        counted = await self._count_capacity()
        capacity = self._limit_to_credits(counted)
        shard.is_at_capacity = capacity <= 0
        limit = min(max(capacity, 0), self._turns.limit)
        with_reserve = self._limit_to_credits(counted + self._options.in_flight // RESERVE_DIVISOR)
        reserved = max(min(with_reserve, self._turns.limit) - limit, 0)
        # Also without capacity: an expired lease is in flight until it is decided about.
        release = await shard.lease_due_entries(limit=limit, reserved=reserved)
        self._capacity -= len(release.leases)
        batch = await self._decide_all(release)
        await self._publish_requests(batch)
        self._spent_credits.add(len(release.leases), now=self._clock.monotonic())
        await shard.write_log((), batch.hosts, at_once=True)
        await shard.conclude(batch.requeued)
        await self._write_decisions(batch)
        await self._budget.publish_claims()
        for decision, count in batch.counts.items():
            self._meter.count_decision(decision, count)
        has_used_up = 0 < capacity <= len(release.leases)  # by a count that may be a second old
        if batch.has_freed_leases or is_sweeping_on or has_used_up:
            return 0.0
        wait_seconds = _seconds_until_due(release) if limit or reserved else FIGURES_SECONDS
        return wait_seconds if capacity > 0 else min(wait_seconds, FIGURES_SECONDS)

    async def _decide_all(self, release: ReleaseResult) -> ReleaseBatch:
        expired = self._shard.expiry_guard.select_decidable(release.expired, now=self._clock.monotonic())
        leases = (*release.leases, *expired)
        specs = await self._crawl_specs.known({lease.entry.crawl_spec_id for lease in leases} - {""})
        batch = ReleaseBatch()
        for lease in expired:
            self._decide_expired(lease, specs, batch)
        async for lease in self._turns.of(release.leases):
            if lease.entry.job_id == ROBOTS_QUERY_JOB:
                self._decide_query(lease, batch)
            else:
                self._decide(lease, specs.get(lease.entry.crawl_spec_id), batch)
        await self._shard.sync_host_groups(lease.entry.group for lease in release.leases)
        return batch

    def _decide(self, lease: Lease, spec: CrawlSpecDeclared | None, batch: ReleaseBatch) -> None:
        shard, entry = self._shard, lease.entry
        now_ms = shard.clock.now_ms()
        group = (
            shard.host_groups.get(entry.group)
            if spec is None
            else shard.host_groups.apply_patience(entry.group, spec)
        )
        name = origin_of(entry.url)
        robots: CachedRobots = shard.robots.get(name)
        directive = self._run_control.directive_of(entry)
        has_caught_up = shard.expiry_guard.has_caught_up
        context = ReleaseContext(
            spec,
            group,
            robots,
            self._options.user_agent,
            now_ms,
            has_caught_up,
            self._options.respects_robots,
            self._options.polling,
        )
        decision = apply_run_state(entry, directive, now_ms) or decide_release(entry, context)
        if spec is not None and decision.action is ReleaseAction.FETCH:
            decision = self._budget.apply(decision, lease, spec, now_ms)
        if decision.action is not ReleaseAction.FETCH:
            self._budget.release(lease)  # a recount may have found this lease, and reserved for it
        if (
            spec is not None
            and decision.action is ReleaseAction.FETCH_ROBOTS
            and name not in batch.robots_requests
        ):
            batch.robots_requests[name] = lease, spec
        elif spec is not None and decision.action is ReleaseAction.FETCH:
            batch.requests.append((lease, spec, decision.cost_limit))
        elif decision.action is ReleaseAction.CLOSE and decision.transition is not None:
            self._begin_decision(decision.transition, lease, batch)
        else:
            batch.counts[f"waits_{decision.entry.reason}"] += 1
            batch.requeued.append(entry_conclusion(decision.entry, lease.lease_id))

    def _decide_query(self, lease: Lease, batch: ReleaseBatch) -> None:
        """Fetch the robots.txt that other origins wait for, or drop their query where it is known by now."""
        name = origin_of(lease.entry.url)
        if is_query_waiting(self._shard, lease.entry) and name not in batch.robots_requests:
            batch.robots_requests[name] = lease, DEFAULT_SPEC
        else:
            batch.requeued.append(query_conclusion(lease.entry, lease.lease_id))

    def _decide_expired(
        self, lease: Lease, specs: Mapping[str, CrawlSpecDeclared], batch: ReleaseBatch
    ) -> None:
        """Decide about an expired lease: unless its request was started, nothing has happened."""
        entry, is_started = lease.entry, lease.state is LeaseState.STARTED
        if self._shard.decisions.has_other(entry, other_than=_cause(lease)):
            return  # its outcome was read, and is being written to the log
        batch.counts["expired_started" if is_started else "expired_issued"] += 1
        self._budget.release(lease)
        if entry.kind == RequestKind.ROBOTS:
            if is_started:
                batch.hosts.append(self._count_failed_robots(entry))
            batch.requeued.append(robots_conclusion(entry, lease.lease_id))
        elif is_started:
            spec = specs.get(entry.crawl_spec_id, DEFAULT_SPEC)
            now_ms = self._shard.clock.now_ms()
            retried = retry_or_close(
                entry, spec, now_ms=now_ms, chance=self._chance, detail="no outcome before the lease expired"
            )
            transition = schedule_recrawl(entry, retried, spec, now_ms=now_ms, polling=self._options.polling)
            self._begin_decision(transition, lease, batch)
        else:
            batch.requeued.append(entry_conclusion(entry, lease.lease_id))

    def _begin_decision(self, transition: EntryTransition, lease: Lease, batch: ReleaseBatch) -> None:
        batch.counts[transition.label] += 1
        batch.decisions += transition.decisions
        if transition.entry is not None:
            batch.pending.append(
                self._shard.begin_decision(
                    transition.entry,
                    before=lease.entry,
                    cause=_cause(lease),
                    lease_id=lease.lease_id,
                )
            )

    def _count_failed_robots(self, entry: EntryRecorded) -> HostRecorded:
        """Count a robots.txt request without an outcome as failed; return the record of its origin."""
        shard, name = self._shard, origin_of(entry.url)
        before, now_ms = shard.robots.get(name), shard.clock.now_ms()
        result = RobotsResponse(RobotsFetchResult.FAILED, entry.fetch_sequence)
        origin_state = apply_response(before.origin_state, result, now_ms=now_ms, random=self._chance)
        robots = CachedRobots(origin_state, before.rules)
        shard.robots.put(name, robots)
        return robots_to_record(
            name, entry.group, robots, user_agent=self._options.user_agent, now_ms=now_ms, epoch=shard.epoch
        )

    async def _publish_requests(self, batch: ReleaseBatch) -> None:
        """Publish the fetch requests of entries, and of robots.txt files that come before entries."""
        requests = [self._request_of(lease, spec, amount) for lease, spec, amount in batch.requests]
        waiting = list(batch.robots_requests.values())
        if waiting:
            swaps = [LeaseSwap(lease.lease_id, robots_request_entry(lease.entry)) for lease, _ in waiting]
            for lease, (_, spec) in zip(await self._shard.swap_leases(swaps), waiting, strict=True):
                if lease is not None:
                    self._shard.note_fetch_sequence(lease.entry.fetch_sequence)
                    requests.append(self._request_of(lease, spec))
        batch.counts["requested"] += len(batch.requests)
        batch.counts["requested_robots"] += len(waiting)
        await self._send(requests)

    def _request_of(
        self, lease: Lease, spec: CrawlSpecDeclared, amount: BudgetAmount = NO_AMOUNT
    ) -> tuple[Publish, int]:
        name, shard = lease.lease_id, self._shard
        request_lease = RequestLease(
            name, lease.issued_at_ms, lease.expires_at_ms, shard.number, shard.epoch, amount
        )
        request = build_fetch_request(lease.entry, spec, request_lease)
        return Publish(FETCH_REQUESTS, request, cause=f"leased {lease.lease_id}"), lease.expires_at_ms

    async def _send(self, requests: Sequence[tuple[Publish, int]]) -> None:
        if not requests:
            return
        try:
            await self._publisher.publish([event for event, _ in requests])
        except Unavailable:
            self._unsent += requests
            raise

    async def _resend(self) -> None:
        """Publish again what was not acknowledged, while its lease lasts."""
        now_ms = self._shard.clock.now_ms()
        unsent, self._unsent = self._unsent, []
        await self._send([(event, ends_at_ms) for event, ends_at_ms in unsent if ends_at_ms > now_ms])

    async def _write_decisions(self, batch: ReleaseBatch) -> None:
        """Publish the closings, write them to the log, and end their leases after that."""
        if not batch.pending:
            return
        shard = self._shard
        if batch.decisions:
            events = decision_messages(batch.decisions, now_ms=shard.clock.now_ms())
            await self._publisher.publish([Publish(URLS_DECIDED, event) for event in events])
            note_decisions(self._meter, batch.decisions)
        # Each of them occupies its group until it is written, which must not take a commit interval.
        await shard.commit_decisions(batch.pending, at_once=True)

    async def _count_capacity(self) -> int:
        """Return how many more entries may be in flight, by a count that is renewed at intervals."""
        now = self._clock.monotonic()
        is_old = self._counted_at is None or now - self._counted_at >= FIGURES_SECONDS
        if self._capacity <= 0 or is_old:
            await prune_idle_groups(self._shard)
            figures = await self._shard.figures()
            self._meter.set_fullness(self._shard.number, figures)
            self._capacity = self._options.in_flight - figures.leased - figures.in_pipeline
            self._counted_at = now
        return self._capacity

    def _limit_to_credits(self, capacity: int) -> int:
        """Return the capacity that backpressure allows."""
        credits_left = self._backpressure.credits_left(self._shard.number, self._spent_credits)
        return capacity if credits_left is None else min(capacity, credits_left)

    async def _wait_for_wake(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(min(seconds, IDLE_SECONDS)):
                await self._shard.wake.wait()
        except TimeoutError:
            return


def _cause(lease: Lease) -> str:
    return f"released {lease.lease_id}"


def _seconds_until_due(release: ReleaseResult) -> float:
    if release.next_due_ms is None:
        return IDLE_SECONDS
    return max((release.next_due_ms - release.now_ms) / 1000, 0.001)

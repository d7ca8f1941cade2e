"""Budgets of one shard: reserve, publish claims, recount -> job-events, job-commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.contracts.generated.topics import JOB_COMMANDS, JOB_EVENTS
from strider.contracts.ids import entry_id
from strider.crawl.runs.control import RunControl
from strider.frontier.models import Lease
from strider.messaging.effects import Publish
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.logging import logger
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.retry import Backoff
from strider.scheduler import log_events
from strider.scheduler.core.budgets.claims import ShardOwner
from strider.scheduler.core.budgets.ledger import BudgetKey
from strider.scheduler.core.budgets.limits import BudgetLimits
from strider.scheduler.core.budgets.reservations import ReservationRequest, RunBudgets
from strider.scheduler.core.release.decision import ReleaseDecision, apply_budget
from strider.scheduler.core.runs.commands import exhausted_budget_event
from strider.urls import host_of

from .shard import OwnedShard

Recount = Callable[[OwnedShard], Awaitable[None]]

_log = logger("scheduler")


class ShardBudget:
    """Budgets of one shard."""

    def __init__(
        self,
        shard: OwnedShard,
        budgets: RunBudgets,
        run_control: RunControl,
        *,
        recount: Recount,
        publisher: EventPublisher,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        self._shard = shard
        self._run_control = run_control
        self._swept: set[BudgetKey] = set()
        """Budgets out of time whose entries were swept already."""
        self._budgets = budgets
        self._owner = ShardOwner(shard.number, shard.epoch, shard.options.shards)
        self._recount = recount
        self._publisher = publisher
        self._clock = clock
        self._chance = chance

    def apply(
        self, decision: ReleaseDecision, lease: Lease, spec: CrawlSpecDeclared, now_ms: int
    ) -> ReleaseDecision:
        """Apply its run's budget to an entry that may be fetched."""
        request = reservation_request(lease.entry, lease.lease_id, self._budgets.limits_of(spec))
        reservation = self._budgets.reserve(
            request, owner=self._owner, now=self._clock.monotonic(), now_ms=now_ms
        )
        return apply_budget(decision, reservation, now_ms)

    def release(self, lease: Lease) -> None:
        """Release the reservation of a lease that ended without a page."""
        self._budgets.release_reservation(self._shard.number, budget_key(lease.entry), lease.lease_id)

    async def publish_claims(self) -> None:
        """Publish the claims of the shard, and sweep entries whose time is over; raises Unavailable."""
        now_ms = self._shard.clock.now_ms()
        claims = self._budgets.pending_claims(self._owner, now=self._clock.monotonic(), now_ms=now_ms)
        await self._publisher.publish([Publish(JOB_EVENTS, claim) for claim in claims])
        out_of_time = set(self._budgets.budgets_out_of_time(self._shard.number, now_ms=now_ms))
        for key in out_of_time:
            if not self._run_control.is_budget_exhausted(*key):
                fact = exhausted_budget_event(*key, "seconds", now_ms=now_ms)
                await self._publisher.publish([Publish(JOB_COMMANDS, fact)])
            if self._run_control.mark_budget_exhausted(*key, "seconds"):
                run, crawl_spec = key
                _log.emit(log_events.BUDGET_EXHAUSTED, run=run, crawl_spec=crawl_spec, of="seconds")
        if out_of_time - self._swept:
            self._shard.sweep_requests.for_queues = True
        self._swept = out_of_time

    async def recount(self) -> None:
        """Recount what was spent before the takeover; runs without a budget continue meanwhile."""
        backoff = Backoff(clock=self._clock, chance=self._chance)
        while self._budgets.needs_recount(self._shard.number) and not self._shard.is_stopping:
            try:
                await self._recount(self._shard)
            except Unavailable as failure:
                _log.emit(log_events.BUDGET_RECOUNT_PAUSED, shard=self._shard.number, why=str(failure))
                await backoff.wait()
            except ShardFenced:
                return


def budget_key(entry: EntryRecorded) -> BudgetKey:
    """Return the key of the budget that an entry spends."""
    return BudgetKey(entry.execution_id, entry.crawl_spec_id)


def reservation_request(entry: EntryRecorded, lease_id: str, limits: BudgetLimits) -> ReservationRequest:
    """Return the reservation request of an entry."""
    name = entry_id(entry.job_id, entry.url_key)
    return ReservationRequest(budget_key(entry), lease_id, name, host_of(entry.url), limits)

"""A shard's part of every budget: asked for, held to, counted anew when the shard is taken -> job-events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from strider.contracts.generated.events import CrawlSpecDeclared, EntryRecorded
from strider.contracts.generated.topics import JOB_EVENTS
from strider.contracts.ids import entry_id
from strider.frontier.models import Lease
from strider.messaging.effects import Publish
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import INFRASTRUCTURE_RETRY, RandomSource
from strider.runtime.observability.logging import logger
from strider.scheduler.core import (
    BudgetLimits,
    ReservationRequest,
    RunBudgets,
    RunControl,
    ShardOwner,
    Turn,
    apply_budget,
)
from strider.scheduler.ports import Voice
from strider.urls import host_of

from .shard import OwnedShard

Recount = Callable[[OwnedShard], Awaitable[None]]

_log = logger("scheduler")


class ShardBudget:
    """The budgets of one shard."""

    def __init__(
        self,
        shard: OwnedShard,
        budgets: RunBudgets,
        orders: RunControl,
        *,
        recount: Recount,
        voice: Voice,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        self._shard = shard
        self._orders = orders
        self._swept_runs: set[str] = set()
        """Runs whose time is over, of which what waits is swept already."""
        self._budgets = budgets
        self._owner = ShardOwner(shard.number, shard.epoch, shard.options.shards)
        self._count = recount
        self._publisher = voice
        self._clock = clock
        self._chance = chance

    def apply(self, decision: Turn, lease: Lease, spec: CrawlSpecDeclared, now_ms: int) -> Turn:
        """Hold an entry that may be asked for to the budgets of its run."""
        bid = reservation_request(lease.entry, lease.lease_id, self._budgets.allowance_of(spec))
        answer = self._budgets.reserve(bid, owner=self._owner, now=self._clock.monotonic(), now_ms=now_ms)
        return apply_budget(decision, answer, now_ms)

    def give_back(self, lease: Lease) -> None:
        """Note that a lease ended without a page."""
        self._budgets.give_back(self._shard.number, lease.entry.execution_id, lease.lease_id)

    async def publish_claims(self) -> None:
        """Say which parts of budgets the shard needs, and which it does not; raises Unavailable."""
        now_ms = self._shard.clock.now_ms()
        words = self._budgets.pending_claims(self._owner, now=self._clock.monotonic(), now_ms=now_ms)
        await self._publisher.publish([Publish(JOB_EVENTS, word) for word in words])
        for run in list(self._budgets.overdue(self._shard.number, now_ms=now_ms)):
            if self._orders.spend(run, "seconds"):
                _log.info("Budget Used Up", run=run, of="seconds")
            if run not in self._swept_runs:
                self._swept_runs.add(run)
                self._shard.needs_sweep = True

    async def recount(self) -> None:
        """Count what was fetched of budgets before the shard was taken; meanwhile other runs go on."""
        failures = 0
        while self._budgets.needs_recount(self._shard.number) and not self._shard.is_leaving:
            try:
                await self._count(self._shard)
            except Unavailable as failure:
                failures += 1
                _log.warning("Count Waits", shard=self._shard.number, why=str(failure))
                await self._clock.sleep(INFRASTRUCTURE_RETRY.wait_seconds(failures, self._chance) or 1.0)
            except ShardFenced:
                return


def reservation_request(entry: EntryRecorded, lease_id: str, limits: BudgetLimits) -> ReservationRequest:
    """Ask for a request for an entry."""
    name = entry_id(entry.job_id, entry.url_key)
    return ReservationRequest(entry.execution_id, lease_id, name, host_of(entry.url), limits)

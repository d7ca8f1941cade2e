"""A shard's part of every budget: asked for, held to, counted anew when the shard is taken -> job-events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.generated.topics import JOB_EVENTS
from strider.contracts.identity import entry_id
from strider.politeness.ladder import INFRASTRUCTURE, Chance
from strider.runtime.effects import Say
from strider.runtime.errors import Fenced, Unavailable
from strider.runtime.logs import logger
from strider.runtime.ports import Clock
from strider.scheduler.core import Owner, PageBudgets, Turn, within_budget
from strider.stores.frontier.ports import Lease

from .ports import Voice
from .shard import Shard

Count = Callable[[Shard], Awaitable[None]]

_log = logger("scheduler")


class Budgeting:
    """The budgets of one shard."""

    def __init__(
        self, shard: Shard, budgets: PageBudgets, *, count: Count, voice: Voice, clock: Clock, chance: Chance
    ) -> None:
        self._shard = shard
        self._budgets = budgets
        self._owner = Owner(shard.number, shard.epoch, shard.options.shards)
        self._count = count
        self._voice = voice
        self._clock = clock
        self._chance = chance

    def within(self, asked: Turn, lease: Lease, spec: CrawlSpecDeclared, now_ms: int) -> Turn:
        """Hold an entry that may be asked for to the budget of its run."""
        entry, most = lease.entry, self._shard.options.pages_of(spec)
        grant = self._budgets.reserve(
            entry.execution_id,
            lease.lease_id,
            entry_id(entry.job_id, entry.url_key),
            most=most,
            owner=self._owner,
            now=self._clock.monotonic(),
        )
        return within_budget(asked, grant, now_ms)

    def give_back(self, lease: Lease) -> None:
        """Note that a lease ended without a page."""
        self._budgets.give_back(self._shard.number, lease.entry.execution_id, lease.lease_id)

    async def tell(self) -> None:
        """Say which parts of budgets the shard needs, and which it does not; raises Unavailable."""
        now_ms = self._shard.time.now_ms()
        words = self._budgets.words(self._owner, now=self._clock.monotonic(), now_ms=now_ms)
        await self._voice.speak([Say(JOB_EVENTS, word) for word in words])

    async def count(self) -> None:
        """Count what was fetched of budgets before the shard was taken; meanwhile other runs go on."""
        failures = 0
        while self._budgets.is_to_count(self._shard.number) and not self._shard.is_leaving:
            try:
                await self._count(self._shard)
            except Unavailable as failure:
                failures += 1
                _log.warning("Count Waits", shard=self._shard.number, why=str(failure))
                await self._clock.sleep(INFRASTRUCTURE.wait_seconds(failures, self._chance) or 1.0)
            except Fenced:
                return

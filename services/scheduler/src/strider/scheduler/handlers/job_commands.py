"""job-events -> what people want of runs and hosts -> every shard in hand, at once.

Reads the wishes whole before the first shard is taken, so that no restart releases what was stopped,
and then on for ever. A host's bar goes into the shard's truth, because wishes age; runs are looked
up where their entries have their turn, and a sweep drops or shelves what would wait for long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from strider.contracts.generated.events import JobEvent
from strider.contracts.partitioning import shard_of_host
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.scheduler.core import RunBudgets, RunControl
from strider.scheduler.ports import Bulletin
from strider.scheduler.shard.shard import OwnedShard

from .topic_follower import TopicFollower

_log = logger("scheduler")

NOBODY: Final[Mapping[int, OwnedShard]] = {}


class JobCommandsHandler:
    """Takes wishes in, and tells shards of them."""

    def __init__(
        self,
        bulletin: Bulletin,
        orders: RunControl,
        budgets: RunBudgets,
        *,
        shards: int,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        self._orders = orders
        self._ledger = budgets.ledger
        self._count = shards
        self._follower = TopicFollower(bulletin, self._take, waits="Wishes Wait", clock=clock, chance=chance)
        self._held: dict[int, OwnedShard] = {}

    async def catch_up(self) -> None:
        """Know all that was said by now; raises Unavailable."""
        await self._follower.catch_up()

    async def add_shard(self, shard: OwnedShard) -> None:
        """Tell a shard that has just been taken, and from now on."""
        self._held[shard.number] = shard
        shard.needs_sweep = True
        await self._bar(
            shard, [name for name in self._orders.manual_blocks if self._shard_of(name) == shard.number]
        )

    def let_go(self, number: int) -> None:
        """Tell a shard nothing more."""
        self._held.pop(number, None)

    async def run(self) -> None:
        """Read on for ever."""
        await self._follower.run()

    async def _take(self, events: Sequence[JobEvent]) -> None:
        parts = {event.execution_id for event in events if self._ledger.apply(event)}
        for shard in self._held.values() if parts else ():
            shard.wake.set()
        spent = [run for run in parts if self._spend(run)]
        changed = [event for event in events if self._orders.apply(event)]
        for event in changed:
            about = {"job": event.job_id, "run": event.execution_id, "group": event.group}
            _log.emit(log_events.JOB_COMMAND_RECEIVED, what=event.what, by=event.by, **about)
        groups = {event.group for event in changed if event.group}
        for shard in list(self._held.values()):
            if spent or len(groups) < len(changed):
                shard.needs_sweep = True
                shard.wake.set()
            await self._bar(shard, [name for name in groups if self._shard_of(name) == shard.number])

    def _spend(self, execution_id: str) -> bool:
        measure = self._ledger.exhausted_measure(execution_id)
        is_new = bool(measure) and self._orders.spend(execution_id, measure)
        if is_new:
            _log.info("Budget Used Up", run=execution_id, of=measure)
        return is_new

    async def _bar(self, shard: OwnedShard, names: Iterable[str]) -> None:
        """Have groups of a shard left alone, or asked again: in its memory, its truth, its working set."""
        told = list(names)
        if not told:
            return
        for name in told:
            shard.host_groups.put(replace(shard.host_groups.get(name), bar=self._orders.manual_blocks[name]))
        try:
            await shard.write_log([], groups=told)
            await shard.sync_host_groups(told)
        except (Unavailable, ShardFenced) as failure:
            # It is in memory, and so heeded at each turn; the record follows with the group's next change.
            _log.warning("Bar Not Written", shard=shard.number, groups=len(told), why=str(failure))
        shard.wake.set()

    def _shard_of(self, group: str) -> int:
        return shard_of_host(group, self._count)

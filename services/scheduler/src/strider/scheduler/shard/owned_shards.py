"""Shards of this process: take them over, suspend them during rebalances, discard them.

A rebalance revokes every shard of every member, and as a rule moves few of them. A shard is suspended until
the next assignment: its loops end, and its epoch, its state in memory and its place in the working set stay.
Where the group gives it to another member, it is discarded then, and its new owner fences it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from strider.frontier.ports import WorkingSet
from strider.messaging.errors import ShardFenced
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.budgets.reservations import RunBudgets
from strider.scheduler.handlers.job_commands import JobCommandsHandler
from strider.scheduler.ports import SchedulerMeter

from .shard import OwnedShard
from .takeover import ShardTakeover

STOP_TIMEOUT_SECONDS: Final = 5.0
"""How long a pass in progress may take to end when its shard is revoked."""

_log = logger("scheduler")


class OwnedShards:
    """Shards with running loops, and suspended ones."""

    def __init__(
        self,
        *,
        takeover: ShardTakeover,
        job_commands: JobCommandsHandler,
        working_set: WorkingSet,
        budgets: RunBudgets,
        meter: SchedulerMeter,
        run_loops: Callable[[OwnedShard], Coroutine[Any, Any, None]],
    ) -> None:
        """`run_loops` runs the loops of a shard until `is_stopping`."""
        self._takeover = takeover
        self._job_commands = job_commands
        self._working_set = working_set
        self._budgets = budgets
        self._meter = meter
        self._run_loops = run_loops
        self._running: dict[int, tuple[OwnedShard, asyncio.Task[None]]] = {}
        self._suspended: dict[int, OwnedShard] = {}
        self._failure: BaseException | None = None
        self._has_failed = asyncio.Event()

    def all(self) -> list[OwnedShard]:
        """Return the shards with running loops as of now: they change while a caller awaits."""
        return [shard for shard, _ in self._running.values()]

    def tasks(self) -> list[asyncio.Task[None]]:
        """Return the tasks that run the loops."""
        return [task for _, task in self._running.values()]

    def find(self, number: int) -> OwnedShard | None:
        """Return a shard with running loops."""
        owned = self._running.get(number)
        return None if owned is None else owned[0]

    def require(self, number: int) -> OwnedShard:
        """Return a shard with running loops; raises ShardFenced where there is none."""
        if (shard := self.find(number)) is None:
            raise ShardFenced(number)
        return shard

    async def wait_for_failure(self) -> BaseException:
        """Wait until a loop of any shard has failed."""
        await self._has_failed.wait()
        assert self._failure is not None
        return self._failure

    async def take_over(self, number: int) -> None:
        """Fence the previous owner of a shard, make its working set ready, and start its loops."""
        await self._start(await self._takeover.take_over(number))

    async def suspend(self, numbers: frozenset[int]) -> frozenset[int]:
        """End the loops of shards; return those that are kept, which are as they were between two passes."""
        stopped = await self._stop(numbers)
        kept = {shard.number: shard for shard, is_idle in stopped if is_idle and shard.is_ready}
        self._suspended.update(kept)
        await self._discard([shard for shard, _ in stopped if shard.number not in kept])
        return frozenset(kept)

    async def resume(self, number: int) -> None:
        """Start the loops of a suspended shard again: it had no other owner meanwhile."""
        shard = self._suspended[number]
        shard.is_stopping = False
        await self._start(shard)
        del self._suspended[number]
        _log.emit(log_events.SHARD_RESUMED, shard=number, epoch=shard.epoch)

    async def give_up(self, numbers: frozenset[int]) -> None:
        """End the loops of shards, and discard all that is kept of them here."""
        suspended = [self._suspended.pop(number) for number in numbers & self._suspended.keys()]
        await self._discard([*suspended, *(shard for shard, _ in await self._stop(numbers))])

    async def _start(self, shard: OwnedShard) -> None:
        await self._job_commands.add_shard(shard)
        task = asyncio.create_task(self._run_loops(shard), name=f"release {shard.number}")
        task.add_done_callback(self._on_loops_done)
        self._running[shard.number] = shard, task

    async def _stop(self, numbers: frozenset[int]) -> list[tuple[OwnedShard, bool]]:
        """End the loops of shards; return each, and whether its loops have ended by themselves."""
        owned = [self._running.pop(number) for number in numbers & self._running.keys()]
        for shard, _ in owned:
            shard.is_stopping = True
            self._job_commands.remove_shard(shard.number)
            shard.wake.set()
        tasks = [task for _, task in owned]
        if tasks:
            _, unfinished = await asyncio.wait(tasks, timeout=STOP_TIMEOUT_SECONDS)
            for task in unfinished:
                task.cancel()
            if unfinished:
                await asyncio.wait(unfinished)
        return [(shard, not task.cancelled() and task.exception() is None) for shard, task in owned]

    async def _discard(self, shards: Sequence[OwnedShard]) -> None:
        for shard in shards:
            self._meter.set_fullness(shard.number, None)
            self._budgets.drop_shard(shard.number)
            try:
                await shard.log.close()
            finally:
                await self._working_set.discard_cache(shard.number)

    def _on_loops_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (failure := task.exception()) is None:
            return
        _log.emit(log_events.RELEASE_LOOP_FAILED, task=task.get_name(), exc_info=failure)
        self._failure = self._failure or failure
        self._has_failed.set()

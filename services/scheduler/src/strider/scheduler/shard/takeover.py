"""Taking a shard: fence who was before, then go on with its working set, or have it rebuilt from the log."""

from __future__ import annotations

from strider.frontier.ports import WorkingSet
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler.core import RunControl, SourceOverrides
from strider.scheduler.ports import FrontierLogReader, FrontierLogs, SchedulerOptions

from .rebuild import ShardRebuilder, restore_hosts
from .shard import OwnedShard
from .shard_clock import ShardClock

_log = logger("scheduler")


class ShardTakeover:
    """Takes shards."""

    def __init__(
        self,
        *,
        working_set: WorkingSet,
        truths: FrontierLogs,
        log_reader: FrontierLogReader,
        rebuilder: ShardRebuilder,
        orders: RunControl,
        overrides: SourceOverrides,
        options: SchedulerOptions,
        clock: Clock,
    ) -> None:
        self._working_set = working_set
        self._frontier_logs = truths
        self._log_reader = log_reader
        self._rebuilder = rebuilder
        self._orders = orders
        self._sources = overrides
        self._options = options
        self._clock = clock

    async def take_over(self, number: int) -> OwnedShard:
        """Become the owner of a shard; it is ready when this returns."""
        truth = await self._frontier_logs.take_over(number)
        try:
            taken = await self._working_set.take_over(number, truth.epoch)
            time = ShardClock(self._clock, taken.now_ms)
            shard = OwnedShard(
                number,
                truth,
                self._working_set,
                options=self._options,
                clock=time,
                orders=self._orders,
                sources=self._sources,
            )
            if taken.is_ready:
                await restore_hosts(shard, await self._log_reader.read_hosts(number), keeps_specs=True)
                self._rebuilder.begin_count(shard)
                shard.is_ready = True
                _log.info("Shard Taken", shard=number, epoch=shard.epoch)
            else:
                await self._rebuilder.rebuild(shard)
        except BaseException:
            await truth.close()
            raise
        return shard

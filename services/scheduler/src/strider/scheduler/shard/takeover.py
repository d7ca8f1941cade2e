"""Take over a shard: fence its previous owner, then keep or rebuild its working set."""

from __future__ import annotations

from strider.crawl.runs.control import RunControl
from strider.frontier.ports import WorkingSet
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.hosts.overrides import SourceOverrides
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import FrontierLogReader, FrontierLogs

from .rebuild import ShardRebuilder, restore_hosts
from .shard import OwnedShard
from .shard_clock import ShardClock

_log = logger("scheduler")


class ShardTakeover:
    """Takes over shards."""

    def __init__(
        self,
        *,
        working_set: WorkingSet,
        frontier_logs: FrontierLogs,
        log_reader: FrontierLogReader,
        rebuilder: ShardRebuilder,
        run_control: RunControl,
        overrides: SourceOverrides,
        options: SchedulerOptions,
        clock: Clock,
    ) -> None:
        self._working_set = working_set
        self._frontier_logs = frontier_logs
        self._log_reader = log_reader
        self._rebuilder = rebuilder
        self._run_control = run_control
        self._overrides = overrides
        self._options = options
        self._clock = clock

    async def take_over(self, number: int) -> OwnedShard:
        """Become the owner of a shard; it is ready when this returns."""
        log = await self._frontier_logs.take_over(number)
        try:
            taken = await self._working_set.take_over(number, log.epoch, cluster=log.cluster)
            if taken.other_cluster:
                _log.emit(
                    log_events.SHARD_OF_ANOTHER_CLUSTER,
                    shard=number,
                    cluster=log.cluster,
                    other_cluster=taken.other_cluster,
                )
            clock = ShardClock(self._clock, taken.now_ms)
            shard = OwnedShard(
                number,
                log,
                self._working_set,
                options=self._options,
                clock=clock,
                run_control=self._run_control,
                sources=self._overrides,
            )
            if taken.is_ready:
                await restore_hosts(shard, self._log_reader)
                self._rebuilder.begin_budget_recount(shard)
                shard.is_ready = True
                _log.emit(log_events.SHARD_TAKEN_OVER, shard=number, epoch=shard.epoch)
            else:
                await self._rebuilder.rebuild(shard)
        except BaseException:
            await log.close()
            raise
        return shard

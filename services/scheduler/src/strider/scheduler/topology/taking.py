"""Taking a shard: fence who was before, then go on with its working set, or have it rebuilt from the log."""

from __future__ import annotations

from strider.frontier.ports import WorkingSet
from strider.messaging.ports import Clock
from strider.runtime.observability.logging import logger
from strider.scheduler.core import Orders, Sources

from .ports import Archive, Options, Truths
from .rebuilding import Rebuilding, remember_hosts
from .shard import Shard
from .shardtime import ShardTime

_log = logger("scheduler")


class Taking:
    """Takes shards."""

    def __init__(
        self,
        *,
        working_set: WorkingSet,
        truths: Truths,
        archive: Archive,
        rebuilding: Rebuilding,
        orders: Orders,
        sources: Sources,
        options: Options,
        clock: Clock,
    ) -> None:
        self._working_set = working_set
        self._truths = truths
        self._archive = archive
        self._rebuilding = rebuilding
        self._orders = orders
        self._sources = sources
        self._options = options
        self._clock = clock

    async def take(self, number: int) -> Shard:
        """Become the owner of a shard; it is ready when this returns."""
        truth = await self._truths.take(number)
        try:
            taken = await self._working_set.take_over(number, truth.epoch)
            time = ShardTime(self._clock, taken.now_ms)
            shard = Shard(
                number,
                truth,
                self._working_set,
                options=self._options,
                time=time,
                orders=self._orders,
                sources=self._sources,
            )
            if taken.is_ready:
                await remember_hosts(shard, await self._archive.hosts(number), keeps_specs=True)
                self._rebuilding.begin_count(shard)
                shard.is_ready = True
                _log.info("Shard Taken", shard=number, epoch=shard.epoch)
            else:
                await self._rebuilding.rebuild(shard)
        except BaseException:
            await truth.close()
            raise
        return shard

"""What is over -> forgotten: closed entries by tombstones, ended runs in the working set -> frontier.

One loop for each shard. An entry that was closed long ago is of no use any more: its URL counts as new
by now, and no seed of then can be delivered again. Of a job that was dropped nothing is kept at all. Runs
of which nothing was open, and nothing came, between two looks are let go of; they may come again, and are
then counted from the beginning. Nothing that is open is touched, and doing it twice is doing it once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from strider.contracts.ids import ADHOC_JOB_ID, seen_scope
from strider.frontier.models import RunEntryCounts
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.logging import logger
from strider.scheduler.core import RunControl
from strider.scheduler.ports import FrontierLogReader, SchedulerOptions
from strider.scheduler.shard.shard import OwnedShard

AGAIN_SECONDS: Final = 60.0
"""After which a look that failed is tried again."""

_log = logger("scheduler")


class RetentionLoop:
    """Cleans one shard for as long as it is in hand."""

    def __init__(
        self,
        shard: OwnedShard,
        *,
        log_reader: FrontierLogReader,
        orders: RunControl,
        log_lock: asyncio.Lock,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        """Make one; `turns` is shared by all that read logs in a process, whose memory one of them takes."""
        self._shard = shard
        self._options: SchedulerOptions = shard.options
        self._log_reader = log_reader
        self._orders = orders
        self._turns = log_lock
        self._clock = clock
        self._chance = chance
        self._before: Mapping[str, RunEntryCounts] = {}

    async def run(self) -> None:
        """Clean until the shard is given back, or somebody newer has it."""
        every = self._options.retention_interval_seconds
        wait_seconds = self._chance.uniform(0.1, 0.5) * every  # not all shards at once
        while True:
            await self._clock.sleep(wait_seconds)
            try:
                await self.run_once()
                wait_seconds = every
            except Unavailable as failure:
                _log.warning("Cleaning Waits", shard=self._shard.number, why=str(failure))
                wait_seconds = min(AGAIN_SECONDS, every)
            except ShardFenced:
                return

    async def run_once(self) -> None:
        """Forget once what is over."""
        async with self._turns:
            buried = await self._bury()
        forgotten = await self._forget_runs()
        if buried or forgotten:
            _log.info("Shard Cleaned", shard=self._shard.number, entries=buried, runs=forgotten)

    async def _bury(self) -> int:
        shard, buried = self._shard, 0
        dropped = set(self._orders.dropped_jobs)
        before_ms = shard.clock.now_ms() - round(self._options.keep_closed_seconds * 1000)
        with shard.watched():
            async for told in self._log_reader.read_entries(shard.number):
                over = [
                    (each.template.job_id, each.url_key.decode())
                    for each in told.closed
                    if each.updated_at_ms < before_ms or each.template.job_id in dropped
                ]
                buried += await shard.write_tombstones(over)
        return buried

    async def _forget_runs(self) -> int:
        shard = self._shard
        with shard.require_ready():
            counts = await shard.working_set.run_counts(shard.number, shard.epoch)
            over = [run for run, count in counts.items() if not count.open and self._before.get(run) == count]
            scopes = [seen_scope(job, "") for job in self._orders.dropped_jobs if job != ADHOC_JOB_ID]
            self._before = counts
            if not (over or scopes):
                return 0
            return await shard.working_set.forget_executions(shard.number, shard.epoch, over, scopes=scopes)

"""Delete what is over: entries and hosts by tombstones, ended runs and idle groups in Redis.

One loop for each shard. An entry closed long ago has no use: its URL counts as new by now, and none of its
seeds can be redelivered. Of a dropped job nothing is kept. The counts of a run are deleted when it had
nothing open and no change between two passes, unless it is to end; should it continue, it is counted from
zero. Open entries are
never touched, and a repeated pass changes nothing. A host without open entries whose record has not changed
for long is forgotten, too, unless an operator blocks it: its own blocks are over, its robots.txt has expired.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping
from typing import Final

from strider.contracts.generated.events import HostRecorded
from strider.contracts.generated.topics import JOB_EVENTS
from strider.contracts.ids import ADHOC_JOB_ID, seen_scope
from strider.crawl.runs.control import RunControl
from strider.frontier.models import RunEntryCounts
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.logging import logger
from strider.scheduler import log_events
from strider.scheduler.core.budgets.reservations import RunBudgets
from strider.scheduler.core.hosts.host_state import is_record_over
from strider.scheduler.core.hosts.run_hosts import marker_scope
from strider.scheduler.handlers.command_records import RECORDING_SHARD, CommandRecords
from strider.scheduler.options import SchedulerOptions
from strider.scheduler.ports import FrontierLogReader
from strider.scheduler.shard.shard import OwnedShard

from .spec_retention import SpecRetention

HOSTS_PER_PASS: Final = 50_000
"""Host records that one pass deletes: a few megabytes; more than these wait for the next pass."""

RETRY_SECONDS: Final = 60.0
"""Interval after a failed pass."""

CLAIMS_KEPT_MS: Final = int(JOB_EVENTS.config["retention.ms"])
"""How long claims to budgets stay in the log."""

_log = logger("scheduler")


class RetentionLoop:
    """Deletes what is over in one shard, while it is owned."""

    def __init__(
        self,
        shard: OwnedShard,
        *,
        log_reader: FrontierLogReader,
        run_control: RunControl,
        command_records: CommandRecords,
        budgets: RunBudgets,
        spec_retention: SpecRetention,
        log_lock: asyncio.Lock,
        clock: Clock,
        chance: RandomSource,
    ) -> None:
        """Create the loop; all shards of a process share `log_lock`, as each pass takes memory."""
        self._shard = shard
        self._options: SchedulerOptions = shard.options
        self._log_reader = log_reader
        self._run_control = run_control
        self._command_records = command_records
        self._budgets = budgets
        self._spec_retention = spec_retention
        self._log_lock = log_lock
        self._clock = clock
        self._chance = chance
        self._counts_before: Mapping[str, RunEntryCounts] = {}

    async def run(self) -> None:
        """Run at intervals until the shard is lost."""
        every = self._options.retention_interval_seconds
        wait_seconds = self._chance.uniform(0.1, 0.5) * every  # spreads the shards over time
        while True:
            await self._clock.sleep(wait_seconds)
            try:
                await self.run_once()
                wait_seconds = every
            except Unavailable as failure:
                _log.emit(log_events.RETENTION_PAUSED, shard=self._shard.number, why=str(failure))
                wait_seconds = min(RETRY_SECONDS, every)
            except ShardFenced:
                return

    async def run_once(self) -> None:
        """Run one pass."""
        open_groups: set[str] = set()
        async with self._log_lock:
            deleted = await self._write_tombstones(open_groups)
            hosts = await self._forget_hosts(open_groups)
        runs = await self._forget_runs()
        commands = specs = 0
        if self._shard.number == RECORDING_SHARD:
            commands = await self._command_records.delete_ended(self._shard.clock.now_ms())
            async with self._log_lock:
                specs = await self._spec_retention.delete_unused(self._shard.clock.now_ms())
        if deleted or hosts or runs or commands or specs:
            _log.emit(
                log_events.SHARD_CLEANED,
                shard=self._shard.number,
                entries=deleted,
                hosts=hosts,
                runs=runs,
                commands=commands,
                crawl_specs=specs,
            )

    async def _write_tombstones(self, open_groups: set[str]) -> int:
        """Delete entries that were closed long ago; add the host groups of open ones to `open_groups`."""
        shard, deleted = self._shard, 0
        dropped = set(self._run_control.dropped_jobs)
        before_ms = shard.clock.now_ms() - round(self._options.keep_closed_seconds * 1000)
        with shard.keys_in_progress.watch():
            async for batch in self._log_reader.read_entries(shard.number):
                groups = {each.group for each in batch.open}
                open_groups |= {name.decode("utf-8", "surrogatepass") for name in groups}
                over = [
                    (each.template.job_id, each.url_key.decode())
                    for each in batch.closed
                    if each.updated_at_ms < before_ms or each.template.job_id in dropped
                ]
                deleted += await shard.write_tombstones(over)
        return deleted

    async def _forget_hosts(self, open_groups: Container[str]) -> int:
        """Delete groups and origins without open entries.

        An entry that was opened since the entries were read changes nothing: what is deleted holds no request
        back any more.
        """
        shard, over = self._shard, dict[str, None]()
        now_ms = shard.clock.now_ms()
        before_ms = now_ms - round(self._options.keep_hosts_seconds * 1000)

        def note(name: str, record: HostRecorded | None) -> None:
            if record is None or record.group in open_groups or len(over) >= HOSTS_PER_PASS:
                over.pop(name, None)
            elif is_record_over(record, before_ms=before_ms, now_ms=now_ms):
                over[name] = None
            else:
                over.pop(name, None)

        with shard.keys_in_progress.watch():
            await self._log_reader.read_hosts(shard.number, note)
            return await shard.write_host_tombstones(over)

    async def _forget_runs(self) -> int:
        shard = self._shard
        with shard.require_ready():
            counts = await shard.working_set.run_counts(shard.number, shard.epoch)
            over = [
                run
                for run, count in counts.items()
                if not count.open
                and self._counts_before.get(run) == count
                and not self._run_control.is_ending(run)
            ]
            scopes = [seen_scope(job, "") for job in self._run_control.dropped_jobs if job != ADHOC_JOB_ID]
            scopes += map(marker_scope, over)
            self._counts_before = counts
            self._budgets.forget_ended(
                shard.number,
                {run for run, count in counts.items() if count.open},
                now_ms=shard.clock.now_ms(),
                keep_ms=max(round(self._options.keep_closed_seconds * 1000), CLAIMS_KEPT_MS),
            )
            if not (over or scopes):
                return 0
            return await shard.working_set.forget_executions(shard.number, shard.epoch, over, scopes=scopes)


async def prune_idle_groups(shard: OwnedShard) -> None:
    """Delete some idle host groups from the working set.

    The owner sends such a group again before it matters: a group that is deleted and released from again gets
    its delay before its request has ended. That holds only between two passes of the release loop, which
    calls this.
    """
    try:
        with shard.require_ready():
            groups = await shard.working_set.prune_host_groups(shard.number, shard.epoch)
    except BaseException:
        shard.host_groups.mark_unsynced()  # the response is lost: any may be deleted
        raise
    shard.host_groups.mark_unsynced(groups)

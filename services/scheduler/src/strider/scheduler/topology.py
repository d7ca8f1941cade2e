"""Topics in and out of the scheduler, the shards it owns, and the loops of each shard.

links-discovered  -> handlers/links_discovered -> frontier, urls-decided
fetches-completed -> handlers/fetch_outcomes   -> frontier, hosts, links-discovered, urls-decided
pages-settled     -> handlers/pages_settled    -> frontier
jobs that are due -> loops/jobs                -> crawl-specs, seeds-owned, adaptive-state, job-commands
job-events        -> handlers/job_commands     -> frontier, hosts, job-commands
job-commands      -> handlers/job_commands     -> frontier, hosts
runs that end     -> loops/run_endings         -> job-events
sources           -> handlers/sources          -> hosts
what is due       -> loops/release             -> fetch-requests, frontier, urls-decided
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from strider.contracts.generated.events import (
    FetchCompleted,
    LinksDiscovered,
    PageSettled,
)
from strider.contracts.generated.topics import (
    ADAPTIVE_STATE,
    CRAWL_SPECS,
    FETCH_REQUESTS,
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    JOB_COMMANDS,
    JOB_EVENTS,
    LINKS_DISCOVERED,
    PAGES_SETTLED,
    SCHEDULER_DLQ,
    SEEDS_OWNED,
    URLS_DECIDED,
)
from strider.crawl.runs.control import RunControl
from strider.frontier.constants import NO_QUEUE_LIMITS
from strider.frontier.models import RunEntryCounts
from strider.messaging.effects import Effects, Subscription
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Record, TopicPartition
from strider.scheduler.core.budgets.reservations import RunBudgets
from strider.scheduler.core.hosts.overrides import SourceOverrides
from strider.scheduler.core.hosts.robots_waits import RobotsWait
from strider.scheduler.core.jobs.ended_runs import EndedRuns
from strider.scheduler.core.runs.completion import ShardRunCount
from strider.scheduler.core.runs.ending_runs import EndingRuns, proving_shard
from strider.scheduler.handlers.command_records import CommandRecords
from strider.scheduler.handlers.dispatch import dispatch_by_shard
from strider.scheduler.handlers.fetch_outcomes import FetchOutcomesHandler
from strider.scheduler.handlers.job_commands import JobCommandsHandler
from strider.scheduler.handlers.links_discovered import LinksDiscoveredHandler
from strider.scheduler.handlers.pages_settled import PagesSettledHandler
from strider.scheduler.handlers.sources import SourcesHandler
from strider.scheduler.loops.backpressure import BackpressureMonitor
from strider.scheduler.loops.jobs.job_loops import JobLoops
from strider.scheduler.loops.lost_pages import LostPagesLoop
from strider.scheduler.loops.refill import RefillLoop
from strider.scheduler.loops.release import ReleaseLoop
from strider.scheduler.loops.retention import RetentionLoop
from strider.scheduler.loops.run_endings import RunEndingLoop
from strider.scheduler.loops.spec_retention import SpecRetention
from strider.scheduler.ports import SchedulerPorts
from strider.scheduler.shard.owned_shards import OwnedShards
from strider.scheduler.shard.rebuild import ShardRebuilder
from strider.scheduler.shard.robots_waits import read_robots_waits
from strider.scheduler.shard.run_counts import count_run, read_run_counts
from strider.scheduler.shard.shard import READINESS_NAME, OwnedShard
from strider.scheduler.shard.takeover import ShardTakeover

from .options import SchedulerOptions

CONSUMES: Final = (LINKS_DISCOVERED, FETCHES_COMPLETED, PAGES_SETTLED)
PRODUCES: Final = (
    *(ADAPTIVE_STATE, CRAWL_SPECS, FETCH_REQUESTS, FRONTIER, HOSTS),
    *(JOB_COMMANDS, JOB_EVENTS, LINKS_DISCOVERED, SEEDS_OWNED, URLS_DECIDED),
)
DEAD_LETTERS: Final = SCHEDULER_DLQ

E = TypeVar("E")
T = TypeVar("T")


class Scheduler:
    """Owns shards: applies links, outcomes and settlements, and releases due entries."""

    def __init__(self, ports: SchedulerPorts, *, options: SchedulerOptions) -> None:
        self._ports = ports
        self._shard_count = options.shards
        self._log_lock = asyncio.Lock()
        self._budgets = RunBudgets(options.default_limits)
        self._run_control = RunControl()
        self._ending_runs = EndingRuns(self._run_control.is_completed)
        self._overrides = SourceOverrides(by_domain=options.by_domain)
        self._create_followers(options)
        self._create_shard_owner(options)
        self._create_handlers(options)
        self._job_loops = self._new_job_loops(options)
        self._lost_pages_loop = LostPagesLoop(
            ports.pipeline_offsets,
            owned_shards=self._owned_shards,
            crawl_specs=ports.crawl_specs,
            publisher=ports.publisher,
            meter=ports.meter,
            clock=ports.clock,
            interval_seconds=options.lost_pages_interval_seconds,
            polling=options.polling,
        )
        self._run_ending_loop = RunEndingLoop(
            self._ending_runs,
            self._run_control,
            ports.completion_offsets,
            owned_shards=self._owned_shards,
            catch_up=self._job_commands_handler.catch_up,
            shards=options.shards,
            log_reader=ports.log_reader,
            log_lock=self._log_lock,
            publisher=ports.publisher,
            meter=ports.meter,
            clock=ports.clock,
        )

    def _create_shard_owner(self, options: SchedulerOptions) -> None:
        ports = self._ports
        self._backpressure = BackpressureMonitor(
            ports.backlog_source,
            shards=options.shards,
            max_lag=options.max_pipeline_lag,
            meter=ports.meter,
            clock=ports.clock,
        )
        self._rebuilder = ShardRebuilder(
            working_set=ports.working_set,
            log_reader=ports.log_reader,
            crawl_specs=ports.crawl_specs,
            budgets=self._budgets,
            options=options,
            meter=ports.meter,
            clock=ports.clock,
        )
        takeover = ShardTakeover(
            working_set=ports.working_set,
            frontier_logs=ports.frontier_logs,
            log_reader=ports.log_reader,
            rebuilder=self._rebuilder,
            run_control=self._run_control,
            overrides=self._overrides,
            options=options,
            clock=ports.clock,
        )
        self._shards = OwnedShards(
            takeover=takeover,
            job_commands=self._job_commands_handler,
            working_set=ports.working_set,
            budgets=self._budgets,
            meter=ports.meter,
            run_loops=self._run_loops,
        )

    def _create_handlers(self, options: SchedulerOptions) -> None:
        specs, budgets, meter = self._ports.crawl_specs, self._budgets, self._ports.meter
        self._links_handler = LinksDiscoveredHandler(
            crawl_specs=specs,
            budgets=budgets,
            run_control=self._run_control,
            options=options,
            meter=meter,
            chance=self._ports.chance,
        )
        self._outcomes_handler = FetchOutcomesHandler(
            crawl_specs=specs, budgets=budgets, options=options, meter=meter, chance=self._ports.chance
        )
        self._settlement_handler = PagesSettledHandler(meter, specs, budgets, polling=options.polling)

    def _create_followers(self, options: SchedulerOptions) -> None:
        ports = self._ports
        self._sources_handler = SourcesHandler(
            ports.source_feed,
            self._overrides,
            owned_shards=self._owned_shards,
            clock=ports.clock,
            chance=ports.chance,
        )
        self._command_records = CommandRecords(
            self._run_control,
            publisher=ports.publisher,
            open_runs=ports.open_runs,
            ending_runs=self._ending_runs,
            keep_seconds=options.keep_commands_seconds,
        )
        self._ended_runs = EndedRuns(self._command_records.table.find_run_end)
        self._spec_retention = SpecRetention(
            ports.crawl_specs,
            ports.log_reader,
            ports.publisher,
            shards=options.shards,
            keep_seconds=options.keep_specs_seconds,
        )
        self._job_commands_handler = JobCommandsHandler(
            ports.job_feeds,
            self._run_control,
            self._budgets,
            self._command_records,
            self._ending_runs,
            ended_runs=self._ended_runs,
            shards=options.shards,
            clock=ports.clock,
            chance=ports.chance,
        )

    def _new_job_loops(self, options: SchedulerOptions) -> JobLoops | None:
        if self._ports.jobs is None:
            return None
        return JobLoops(
            self._ports.jobs,
            ended_runs=self._ended_runs,
            run_control=self._run_control,
            commands=self._job_commands_handler,
            sources=self._sources_handler,
            owned_shards=self._owned_shards,
            completion_offsets=self._ports.completion_offsets,
            publisher=self._ports.publisher,
            options=options,
            clock=self._ports.clock,
        )

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the subscriptions: which topic goes to which method."""
        return (
            Subscription(LINKS_DISCOVERED, batch_handler=self.on_links_discovered),
            Subscription(FETCHES_COMPLETED, batch_handler=self.on_fetches_completed),
            Subscription(PAGES_SETTLED, batch_handler=self.on_pages_settled),
        )

    async def on_links_discovered(self, batch: Sequence[tuple[LinksDiscovered, Record]]) -> Effects:
        """Accept new URLs into the frontier."""
        return await dispatch_by_shard(batch, self._links_handler.handle, self._shards.require)

    async def on_fetches_completed(self, batch: Sequence[tuple[FetchCompleted, Record]]) -> Effects:
        """Apply the outcomes of requests to their entries."""
        return await dispatch_by_shard(batch, self._outcomes_handler.handle, self._shards.require)

    async def on_pages_settled(self, batch: Sequence[tuple[PageSettled, Record]]) -> Effects:
        """Close the entries of settled pages."""
        return await dispatch_by_shard(batch, self._settlement_handler.handle, self._shards.require)

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        """Take over shards: fence previous owners, make working sets ready, start their loops."""
        await self._job_commands_handler.catch_up()
        await self._sources_handler.catch_up()
        for number in shards:
            await self._shards.take_over(number)

    async def on_shards_suspended(self, shards: frozenset[int]) -> frozenset[int]:
        """Stop releasing from these shards while the group rebalances; return those that are kept."""
        return await self._shards.suspend(shards)

    async def on_shards_resumed(self, shards: frozenset[int]) -> None:
        """Release from these shards again: they had no other owner meanwhile."""
        await self._job_commands_handler.catch_up()
        for number in shards:
            await self._shards.resume(number)

    def on_caught_up(self, partition: TopicPartition, as_of: float) -> None:
        """Record how far the outcomes of a shard were read."""
        owned = self._shards.find(partition.partition)
        if owned is not None and partition.topic == FETCHES_COMPLETED.name:
            owned.note_outcomes_read(as_of)

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        """Stop releasing from these shards, and give them up."""
        await self._shards.give_up(shards)

    async def run(self) -> None:
        """Run the loops of all shards together; raise the first failure of any loop. Runs until cancelled."""
        loops = {
            "follow commands": self._job_commands_handler.run,
            "follow sources": self._sources_handler.run,
            "find lost pages": self._lost_pages_loop.run,
            "end runs": self._run_ending_loop.run,
            "count backlogs": self._backpressure.run,
        }
        if self._job_loops is not None:
            loops["run jobs"] = self._job_loops.run
        async with asyncio.TaskGroup() as together:
            tasks = [together.create_task(run(), name=name) for name, run in loops.items()]
            failure = await self._shards.wait_for_failure()
            for task in tasks:
                task.cancel()
        raise failure

    async def check(self) -> None:
        """Raise Unavailable, with the reason, where an owned shard releases nothing."""
        for shard in self._shards.all():
            if shard.unavailable_reason:
                raise Unavailable(
                    READINESS_NAME, f"shard {shard.number} releases nothing: {shard.unavailable_reason}"
                )

    async def counts(self, execution_id: str) -> Mapping[int, ShardRunCount]:
        """Return a run's entries in each owned shard."""
        return {shard.number: await count_run(shard, execution_id) for shard in self._shards.all()}

    async def run_counts(self) -> Sequence[Mapping[str, RunEntryCounts] | None]:
        """Return the counts of every run in each owned shard; None for one that is not ready."""
        return [await read_run_counts(shard) for shard in self._shards.all()]

    def has_proven_end(self, execution_id: str) -> bool:
        """Whether a run has ended, and the shard that proved it is owned here."""
        owned = {shard.number for shard in self._shards.all()}
        return self._run_control.is_completed(execution_id) and (
            proving_shard(execution_id, self._shard_count) in owned
        )

    async def robots_waits(self, execution_id: str) -> list[RobotsWait]:
        """Return the origins whose robots.txt a run waits for; empty where anything else is open."""
        found: list[RobotsWait] = []
        for shard in self._shards.all():
            count = await count_run(shard, execution_id)
            try:
                waits = await read_robots_waits(
                    shard, self._ports.crawl_specs, execution_id, open_entries=count.open
                )
            except (Unavailable, ShardFenced):
                return []
            if waits is None or not count.is_ready:
                return []
            found += waits
        return found

    def _owned_shards(self) -> list[OwnedShard]:
        return self._shards.all()

    async def _run_loops(self, shard: OwnedShard) -> None:
        """Run the loops of a shard until it is given up; the first failure ends them all."""
        release = self._release_loop(shard)
        releasing = asyncio.create_task(release.run())
        tasks = {releasing, asyncio.create_task(release.recount_budgets())}
        if shard.options.queue_limits != NO_QUEUE_LIMITS:
            tasks.add(asyncio.create_task(self._refill_loop(shard).run()))
        if shard.options.retention_interval_seconds:
            tasks.add(asyncio.create_task(self._retention_loop(shard).run()))
        try:
            while not releasing.done():
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                tasks -= done
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _refill_loop(self, shard: OwnedShard) -> RefillLoop:
        return RefillLoop(
            shard,
            log_reader=self._ports.log_reader,
            crawl_specs=self._ports.crawl_specs,
            run_control=self._run_control,
            log_lock=self._log_lock,
            meter=self._ports.meter,
            clock=self._ports.clock,
        )

    def _retention_loop(self, shard: OwnedShard) -> RetentionLoop:
        return RetentionLoop(
            shard,
            log_reader=self._ports.log_reader,
            run_control=self._run_control,
            command_records=self._command_records,
            budgets=self._budgets,
            spec_retention=self._spec_retention,
            log_lock=self._log_lock,
            clock=self._ports.clock,
            chance=self._ports.chance,
        )

    def _release_loop(self, shard: OwnedShard) -> ReleaseLoop:
        return ReleaseLoop(
            shard,
            rebuild=self._rebuilder.rebuild,
            recount=self._recount_budgets,
            crawl_specs=self._ports.crawl_specs,
            publisher=self._ports.publisher,
            budgets=self._budgets,
            run_control=self._run_control,
            backpressure=self._backpressure,
            meter=self._ports.meter,
            clock=self._ports.clock,
            chance=self._ports.chance,
        )

    async def _recount_budgets(self, shard: OwnedShard) -> None:
        """Recount budgets, after applying all claims of the previous owner."""
        await self._job_commands_handler.catch_up()
        await self._rebuilder.recount_budgets(shard)

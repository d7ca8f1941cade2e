"""What goes where: the three inputs, the shards that come and go, and the release loop of each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar, cast

from strider.contracts.generated.events import FetchCompleted, LinksDiscovered, PageSettled
from strider.contracts.generated.topics import (
    FETCH_REQUESTS,
    FETCHES_COMPLETED,
    FRONTIER,
    HOSTS,
    JOB_EVENTS,
    LINKS_DISCOVERED,
    PAGES_SETTLED,
    SCHEDULER_DLQ,
    URLS_DECIDED,
)
from strider.frontier.constants import NO_QUEUE_LIMITS
from strider.frontier.models import RunEntryCounts
from strider.frontier.ports import ShardNotReady, WorkingSet
from strider.messaging.effects import Effects, Subscription
from strider.messaging.errors import ShardFenced, Unavailable
from strider.messaging.ports import Clock, Record, TopicPartition
from strider.politeness.retry_policy import RandomSource
from strider.runtime.observability.logging import logger
from strider.scheduler.core import RunBudgets, RunControl, ShardRunCount, SourceOverrides
from strider.scheduler.handlers.fetch_outcomes import FetchOutcomesHandler
from strider.scheduler.handlers.job_commands import JobCommandsHandler
from strider.scheduler.handlers.links_discovered import LinksDiscoveredHandler
from strider.scheduler.handlers.pages_settled import PagesSettledHandler
from strider.scheduler.handlers.sources import SourcesHandler
from strider.scheduler.loops.backpressure import BackpressureMonitor
from strider.scheduler.loops.lost_pages import LostPagesLoop
from strider.scheduler.loops.refill import RefillLoop
from strider.scheduler.loops.release import ReleaseLoop
from strider.scheduler.loops.retention import RetentionLoop
from strider.scheduler.ports import (
    BacklogSource,
    Bulletin,
    FrontierLogReader,
    FrontierLogs,
    Meter,
    NoSchedulerMeter,
    PipelineOffsetSource,
    Register,
    SchedulerOptions,
    Specs,
    Voice,
)
from strider.scheduler.shard.rebuild import ShardRebuilder
from strider.scheduler.shard.shard import READINESS_NAME, OwnedShard
from strider.scheduler.shard.takeover import ShardTakeover

CONSUMES: Final = (LINKS_DISCOVERED, FETCHES_COMPLETED, PAGES_SETTLED)
PRODUCES: Final = (FETCH_REQUESTS, FRONTIER, HOSTS, JOB_EVENTS, LINKS_DISCOVERED, URLS_DECIDED)
DEAD_LETTERS: Final = SCHEDULER_DLQ

STOP_TIMEOUT_SECONDS: Final = 5.0
"""How long a look that is under way may take to end when its shard is given back."""

E = TypeVar("E")
T = TypeVar("T")

_log = logger("scheduler")


class Scheduler:
    """Owns shards; takes links, outcomes and settlements in, and releases what is due."""

    def __init__(
        self,
        *,
        working_set: WorkingSet,
        truths: FrontierLogs,
        log_reader: FrontierLogReader,
        crawl_specs: Specs,
        voice: Voice,
        clock: Clock,
        chance: RandomSource,
        options: SchedulerOptions,
        bulletin: Bulletin,
        soundings: PipelineOffsetSource,
        backlogs: BacklogSource | None = None,
        register: Register | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._working_set = working_set
        self._specs = crawl_specs
        self._log_reader = log_reader
        self._log_lock = asyncio.Lock()
        self._publisher = voice
        self._clock = clock
        self._chance = chance
        self._meter: Meter = meter or NoSchedulerMeter()
        self._budgets = budgets = RunBudgets(options.default_limits)
        self._orders = RunControl()
        self._sources = SourceOverrides(by_domain=options.by_domain)
        self._sources_handler = SourcesHandler(
            register, self._sources, owned_shards=self._in_hand, clock=clock, chance=chance
        )
        self._job_commands_handler = JobCommandsHandler(
            bulletin, self._orders, budgets, shards=options.shards, clock=clock, chance=chance
        )
        self._rebuilder = ShardRebuilder(
            working_set=working_set,
            log_reader=log_reader,
            crawl_specs=crawl_specs,
            budgets=budgets,
            options=options,
            meter=self._meter,
            clock=clock,
        )
        self._takeover = ShardTakeover(
            working_set=working_set,
            truths=truths,
            log_reader=log_reader,
            rebuilder=self._rebuilder,
            orders=self._orders,
            overrides=self._sources,
            options=options,
            clock=clock,
        )
        self._links_handler = LinksDiscoveredHandler(
            specs=crawl_specs, budgets=budgets, orders=self._orders, options=options, meter=self._meter
        )
        self._concluding = FetchOutcomesHandler(
            specs=crawl_specs, budgets=budgets, options=options, meter=self._meter, chance=chance
        )
        self._settlement_handler = PagesSettledHandler(self._meter, crawl_specs, budgets)
        self._lost_pages_loop = LostPagesLoop(
            soundings,
            owned_shards=self._in_hand,
            specs=crawl_specs,
            voice=voice,
            meter=self._meter,
            clock=clock,
            look_seconds=options.lost_pages_interval_seconds,
        )
        self._backpressure = BackpressureMonitor(
            backlogs, shards=options.shards, max_lag=options.release_lag, meter=self._meter, clock=clock
        )
        self._shards: dict[int, tuple[OwnedShard, asyncio.Task[None]]] = {}
        self._fault: BaseException | None = None
        self._has_failed = asyncio.Event()

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Say which topic goes to which method."""
        return (
            Subscription(LINKS_DISCOVERED, batch_handler=self.on_links_discovered),
            Subscription(FETCHES_COMPLETED, batch_handler=self.on_fetches_completed),
            Subscription(PAGES_SETTLED, batch_handler=self.on_pages_settled),
        )

    async def on_links_discovered(self, batch: Sequence[tuple[LinksDiscovered, Record]]) -> Effects:
        """Take what is new into the frontier."""
        return await self._by_shard(batch, self._links_handler.handle)

    async def on_fetches_completed(self, batch: Sequence[tuple[FetchCompleted, Record]]) -> Effects:
        """Decide what is next for what was asked for."""
        return await self._by_shard(batch, self._concluding.handle)

    async def on_pages_settled(self, batch: Sequence[tuple[PageSettled, Record]]) -> Effects:
        """Close what has gone round."""
        return await self._by_shard(batch, self._settlement_handler.handle)

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        """Fence who had the shards, get their working sets ready, and release from them."""
        await self._job_commands_handler.catch_up()
        await self._sources_handler.catch_up()
        for number in shards:
            shard = await self._takeover.take_over(number)
            await self._job_commands_handler.add_shard(shard)
            task = asyncio.create_task(self._live(shard), name=f"release {number}")
            task.add_done_callback(self._on_shard_task_done)
            self._shards[number] = shard, task

    def on_caught_up(self, partition: TopicPartition, as_of: float) -> None:
        """Note how far the outcomes of a shard were read."""
        held = self._shards.get(partition.partition)
        if held is not None and partition.topic == FETCHES_COMPLETED.name:
            held[0].note_outcomes_read(as_of)

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        """Release nothing more of these shards, and let go of them."""
        held = [self._shards.pop(number) for number in shards & self._shards.keys()]
        for shard, _ in held:
            shard.is_leaving = True
            self._job_commands_handler.let_go(shard.number)
            shard.wake.set()
        tasks = [task for _, task in held]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_TIMEOUT_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        for shard, _ in held:
            self._meter.set_fullness(shard.number, None)
            self._budgets.drop_shard(shard.number)
            try:
                await shard.log.close()
            finally:
                await self._working_set.discard_cache(shard.number)

    async def run(self) -> None:
        """Hear wishes, chase pages; raise what ends a release loop that nobody has ended. Runs for ever."""
        async with asyncio.TaskGroup() as together:
            hearing = together.create_task(self._job_commands_handler.run(), name="hear wishes")
            heeding = together.create_task(self._sources_handler.run(), name="heed sources")
            chasing = together.create_task(self._lost_pages_loop.run(), name="chase pages")
            gating = together.create_task(self._backpressure.run(), name="count backlogs")
            await self._has_failed.wait()
            hearing.cancel()
            heeding.cancel()
            chasing.cancel()
            gating.cancel()
        assert self._fault is not None
        raise self._fault

    async def check(self) -> None:
        """Raise Unavailable where a shard in hand releases nothing, and say why."""
        for shard, _ in self._shards.values():
            if shard.waits_for:
                raise Unavailable(READINESS_NAME, f"shard {shard.number} releases nothing: {shard.waits_for}")

    async def counts(self, execution_id: str) -> Mapping[int, ShardRunCount]:
        """Count an execution's entries in each shard in hand; a shard that is not ready cannot say."""
        return {shard.number: await _count(shard, execution_id) for shard in self._in_hand()}

    async def run_counts(self) -> Sequence[Mapping[str, RunEntryCounts] | None]:
        """Count every run in each shard in hand; None for one that cannot say."""
        return [await _counts(shard) for shard in self._in_hand()]

    async def _by_shard(
        self,
        batch: Sequence[tuple[E, Record]],
        handle: Callable[[OwnedShard, Sequence[E]], Awaitable[Effects]],
    ) -> Effects:
        events: dict[int, list[E]] = {}
        for event, record in batch:
            events.setdefault(record.partition, []).append(event)
        shards = [self._held(number) for number in events]
        parts = await _all(handle(shard, events[shard.number]) for shard in shards)
        return combine_effects(parts)

    def _in_hand(self) -> list[OwnedShard]:
        """Give the shards as they are now: others come and go while one is waited for."""
        return [shard for shard, _ in self._shards.values()]

    def _held(self, number: int) -> OwnedShard:
        held = self._shards.get(number)
        if held is None:
            raise ShardFenced(number)
        return held[0]

    async def _live(self, shard: OwnedShard) -> None:
        """Release, refill from the log, clean, until the shard is given back; the first fault ends all."""
        releasing = asyncio.create_task(self._release_loop(shard).run())
        works = {releasing}
        if shard.options.queue_limits != NO_QUEUE_LIMITS:
            works.add(asyncio.create_task(self._refill_loop(shard).run()))
        if shard.options.retention_interval_seconds:
            works.add(asyncio.create_task(self._retention_loop(shard).run()))
        try:
            while not releasing.done():
                done, _ = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
                for work in done:
                    work.result()
                works -= done
        finally:
            for work in works:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)

    def _refill_loop(self, shard: OwnedShard) -> RefillLoop:
        return RefillLoop(
            shard,
            log_reader=self._log_reader,
            orders=self._orders,
            log_lock=self._log_lock,
            meter=self._meter,
            clock=self._clock,
        )

    def _retention_loop(self, shard: OwnedShard) -> RetentionLoop:
        return RetentionLoop(
            shard,
            log_reader=self._log_reader,
            orders=self._orders,
            log_lock=self._log_lock,
            clock=self._clock,
            chance=self._chance,
        )

    def _release_loop(self, shard: OwnedShard) -> ReleaseLoop:
        return ReleaseLoop(
            shard,
            rebuild=self._rebuilder.rebuild,
            recount=self._count,
            specs=self._specs,
            voice=self._publisher,
            budgets=self._budgets,
            orders=self._orders,
            gating=self._backpressure,
            meter=self._meter,
            clock=self._clock,
            chance=self._chance,
        )

    async def _count(self, shard: OwnedShard) -> None:
        """Count budgets anew, knowing all that whoever was fenced had asked for."""
        await self._job_commands_handler.catch_up()
        await self._rebuilder.recount_budgets(shard)

    def _on_shard_task_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (fault := task.exception()) is None:
            return
        _log.error("Release Died", task=task.get_name(), exc_info=fault)
        self._fault = self._fault or fault
        self._has_failed.set()


def combine_effects(parts: Sequence[Effects]) -> Effects:
    """Make one of what follows in each shard."""
    if len(parts) == 1:
        return parts[0]
    remembering = [part.after_ack for part in parts if part.after_ack is not None]

    async def remember() -> None:
        await _all(each() for each in remembering)

    return Effects(
        publish=[say for part in parts for say in part.publish],
        after_ack=remember if remembering else None,
        outcome=next((part.outcome for part in parts if part.after_ack is not None), parts[0].outcome),
    )


async def _all(works: Iterable[Awaitable[T]]) -> list[T]:
    """Wait for all, also where one fails: what still runs in a shard must not meet its own repetition."""
    results = await asyncio.gather(*works, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast("list[T]", results)


async def _counts(shard: OwnedShard) -> Mapping[str, RunEntryCounts] | None:
    if not shard.is_ready:
        return None
    try:
        with shard.require_ready():
            return await shard.working_set.run_counts(shard.number, shard.epoch)
    except (Unavailable, ShardNotReady, ShardFenced):  # of a shard that somebody else has by now, others tell
        return None


async def _count(shard: OwnedShard, execution_id: str) -> ShardRunCount:
    counted_by = _counting(shard)
    counts = await _counts(shard)
    if counts is None or counted_by != _counting(shard):  # nobody knows which of them it was
        return ShardRunCount(is_ready=False)
    found = counts.get(execution_id)
    if found is None:
        return ShardRunCount(is_ready=True, counted_by=counted_by)
    return ShardRunCount(is_ready=True, open=found.open, accepted=found.accepted, counted_by=counted_by)


def _counting(shard: OwnedShard) -> tuple[int, int]:
    return shard.epoch, shard.rebuilt_at_ms

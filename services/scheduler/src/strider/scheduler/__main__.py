"""settings -> adapters -> topology -> run."""

from __future__ import annotations

from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.run_log import RunLog
from strider.frontier.models import QueueLimits
from strider.frontier.redis.function_library import LIBRARY_PREFIX, library_name
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.politeness.circuit_breaker import BreakerLimits
from strider.runtime.observability.logging import logger
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.runtime.process.readiness import Dependency
from strider.runtime.publishing.publisher import EventPublisher
from strider.storage.function_library_gc import FunctionLibraryCollector
from strider.storage.job_logs import RedisJobLogs
from strider.storage.objects import ObjectOptions, open_object_store
from strider.storage.redis import connect, redis_options

from .adapters import (
    JobEventFeed,
    ProcessMeter,
    SourceFeed,
    TopicBacklogSource,
    TopicFrontierLogReader,
    TopicFrontierLogs,
    TopicPipelineOffsets,
)
from .core import BudgetAmount, BudgetLimits
from .settings import SchedulerSettings
from .topology import DEAD_LETTERS, PRODUCES, Closing, Scheduler, SchedulerOptions

_log = logger("scheduler")

MIB = 1024 * 1024
QUEUED_AT_LEAST = 1_000
"""Entries of each shard, however full Redis is."""


def build(process: ServiceContext[SchedulerSettings]) -> ServiceDefinition:
    """Put the service together."""
    settings, bus, codec, clock = process.settings, process.bus, process.codec, process.clock
    if not settings.crawl.respect_robots:
        _log.warning("Robots Not Heeded", why="CRAWLER_RESPECT_ROBOTS_TXT is false: for sites of your own")
    redis = connect(redis_options(settings.redis))
    specs = CrawlSpecCache(bus, codec, clock=clock)
    voice = EventPublisher(bus, codec, service=process.name, shards=settings.run.shards, clock=clock)
    bulletin, register = JobEventFeed(bus, codec), SourceFeed(bus, codec)
    soundings, backlogs = TopicPipelineOffsets(bus), TopicBacklogSource(bus)
    journal = RunLog(_log, clock=clock)
    scheduler = Scheduler(
        working_set=RedisWorkingSet(redis, clock=clock, limits=room_of(settings)),
        truths=TopicFrontierLogs(bus, codec, commit_interval_seconds=settings.commit_interval_seconds),
        log_reader=TopicFrontierLogReader(bus, codec, clock=clock),
        crawl_specs=specs,
        voice=voice,
        clock=clock,
        chance=process.chance,
        options=options_of(settings),
        bulletin=bulletin,
        soundings=soundings,
        backlogs=backlogs,
        register=register,
        meter=ProcessMeter(process.metrics, beat=process.heartbeat.beat, journal=journal),
    )
    closing = Closing(journal, _log, counts=scheduler.run_counts, shards=settings.run.shards, clock=clock)
    libraries = FunctionLibraryCollector(redis, own=library_name(), prefix=LIBRARY_PREFIX, clock=clock)
    url = settings.objects.url.get_secret_value()
    objects = open_object_store(ObjectOptions(url), clock=clock) if url else None
    return ServiceDefinition(
        (
            consume(
                "scheduler", *scheduler.subscriptions(), shards=scheduler, on_caught_up=scheduler.on_caught_up
            ),
        ),
        PRODUCES,
        DEAD_LETTERS,
        dependencies=(Dependency("redis", redis.ping), Dependency("frontier", scheduler.check)),
        connect=(redis.require_noeviction,),
        background=(scheduler.run, closing.run, libraries.run),
        close=(
            voice.close,
            bulletin.close,
            register.close,
            soundings.close,
            backlogs.close,
            specs.close,
            redis.close,
            *(() if objects is None else (objects.close,)),
        ),
        objects=objects,
        job_logs=RedisJobLogs(redis, clock=clock),
    )


def options_of(settings: SchedulerSettings) -> SchedulerOptions:
    """Read how the scheduler is to behave."""
    return SchedulerOptions(
        shards=settings.run.shards,
        user_agent=settings.user_agent,
        heeds_robots=settings.crawl.respect_robots,
        delay_seconds=settings.host_delay_seconds,
        breaker=BreakerLimits(
            failures=settings.breaker_failures,
            open_ms=round(settings.breaker_open_seconds * 1000),
            refusals=settings.breaker_refusals,
            refused_ms=round(settings.breaker_refused_seconds * 1000),
        ),
        allow_private=settings.allow_private,
        by_domain=settings.group_by == "domain",
        default_limits=allowance_of(settings),
        lease_seconds=settings.lease_seconds,
        release_batch=settings.release_batch,
        in_flight=settings.in_flight_per_shard,
        release_lag=settings.release_lag,
        robots_cache_characters=settings.robots_memory_mb * MIB,
        max_cached_groups=settings.groups_in_memory,
        queue_limits=room_of(settings),
        refill_seconds=settings.refill_seconds,
        retention_interval_seconds=settings.clean_hours * 3600,
        keep_closed_seconds=settings.keep_closed_days * 86_400.0,
    )


def allowance_of(settings: SchedulerSettings) -> BudgetLimits:
    """Read what a run may spend whose crawl spec does not say."""
    each = settings.model_dump()
    return BudgetLimits(
        *(
            BudgetAmount(each[f"max_pages{of}"], each[f"max_bytes{of}"], 1000 * each[f"max_seconds{of}"])
            for of in ("", "_per_host", "_per_domain")
        )
    )


def room_of(settings: SchedulerSettings) -> QueueLimits:
    """Read how much the working set queues."""
    return QueueLimits(
        entries_per_group=settings.queued_per_host,
        horizon_ms=settings.queued_ahead_minutes * 60_000,
        memory_percent=settings.redis_full_percent,
        minimum_entries=QUEUED_AT_LEAST,
    )


def main() -> int:
    """Run until told to stop."""
    return run_service("scheduler", SchedulerSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

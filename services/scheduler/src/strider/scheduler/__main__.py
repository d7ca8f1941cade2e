"""Build the service from its settings: adapters, topology, background loops."""

from __future__ import annotations

from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.feeds import JobCommandFeed, JobEventFeed
from strider.crawl.run_log import RunLog
from strider.frontier.models import QueueLimits
from strider.frontier.redis.function_library import LIBRARY_PREFIX, library_name
from strider.frontier.redis.function_library_gc import FunctionLibraryCollector
from strider.frontier.redis.working_set import RedisWorkingSet
from strider.jobs.postgres import PostgresJobStore
from strider.politeness.circuit_breaker import BreakerLimits
from strider.runtime.consumer.spec import AsyncStep
from strider.runtime.observability.logging import logger
from strider.runtime.process.health import Dependency
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler import log_events
from strider.scheduler.adapters.feeds import SourceFeed
from strider.scheduler.adapters.frontier_log.reader import TopicFrontierLogReader
from strider.scheduler.adapters.frontier_log.writer import TopicFrontierLogs
from strider.scheduler.adapters.jobs.adaptive_states import RedisAdaptiveCopies, TopicAdaptiveStates
from strider.scheduler.adapters.jobs.metrics import JobMetrics
from strider.scheduler.adapters.jobs.run_publisher import RunPublisher
from strider.scheduler.adapters.metrics import SchedulerMetrics
from strider.scheduler.adapters.offsets import (
    TopicBacklogSource,
    TopicCompletionOffsets,
    TopicPipelineOffsets,
)
from strider.scheduler.adapters.open_runs import RedisOpenRuns
from strider.scheduler.core.budgets.limits import BudgetAmount, BudgetLimits
from strider.scheduler.core.entries.feed_polling import FeedPolling
from strider.scheduler.loops.log_archive import RunLogArchiveLoop
from strider.scheduler.loops.run_log import RunLogLoop
from strider.scheduler.ports import JobFeeds, JobPorts, SchedulerPorts
from strider.storage.objects import open_configured_objects
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import Redis, connect, redis_options
from strider.storage.run_logs.archive import RunLogArchive
from strider.storage.run_logs.redis_log import RedisRunLogs

from .options import JobOptions, SchedulerOptions
from .settings import SchedulerSettings
from .topology import DEAD_LETTERS, PRODUCES, Scheduler

_log = logger("scheduler")

MIB = 1024 * 1024
QUEUED_AT_LEAST = 1_000
"""Entries of each shard that are queued however full Redis is."""


def build(process: ServiceContext[SchedulerSettings]) -> ServiceDefinition:
    """Return the service definition."""
    settings, clock = process.settings, process.clock
    if not settings.crawl.respect_robots:
        _log.emit(log_events.ROBOTS_TXT_IGNORED)
    redis = connect(redis_options(settings.redis))
    journal = RunLog(_log, clock=clock)
    options = PostgresOptions(settings.postgres.dsn.get_secret_value(), application="strider-scheduler")
    postgres = Postgres(options, clock=clock, chance=process.chance)
    ports, close_ports = open_ports(process, redis, postgres, journal)
    scheduler = Scheduler(ports, options=options_of(settings))
    closing = RunLogLoop(journal, _log, counts=scheduler.run_counts, shards=settings.run.shards, clock=clock)
    logs = RedisRunLogs(redis)
    libraries = FunctionLibraryCollector(redis, own=library_name(), prefix=LIBRARY_PREFIX, clock=clock)
    objects = open_configured_objects(settings.objects, clock=clock)
    archive = None if objects is None else RunLogArchive(objects)
    archiving = RunLogArchiveLoop(
        logs, archive, has_ended=scheduler.has_proven_end, clock=clock, keep_days=settings.keep_logs_days
    )
    return ServiceDefinition(
        (
            consume(
                "scheduler", *scheduler.subscriptions(), shards=scheduler, on_caught_up=scheduler.on_caught_up
            ),
        ),
        PRODUCES,
        DEAD_LETTERS,
        dependencies=(
            Dependency("redis", redis.ping),
            Dependency("frontier", scheduler.check),
            Dependency("postgres", postgres.ping, is_vital=False),
        ),
        connect=(redis.require_noeviction,),
        background=(scheduler.run, closing.run, archiving.run, libraries.run),
        close=(*close_ports, redis.close, postgres.close),
        objects=objects,
        job_logs=logs,
    )


def open_ports(
    process: ServiceContext[SchedulerSettings], redis: Redis, postgres: Postgres, journal: RunLog
) -> tuple[SchedulerPorts, tuple[AsyncStep, ...]]:
    """Return the scheduler's ports, and the steps that close those on Kafka."""
    settings, bus, codec, clock = process.settings, process.bus, process.codec, process.clock
    specs = CrawlSpecCache(bus, codec, clock=clock)
    publisher = EventPublisher(bus, codec, service=process.name, shards=settings.run.shards, clock=clock)
    job_events, job_commands = JobEventFeed(bus, codec), JobCommandFeed(bus, codec)
    sources = SourceFeed(bus, codec)
    pipeline_offsets, backlogs = TopicPipelineOffsets(bus), TopicBacklogSource(bus)
    completion_offsets = TopicCompletionOffsets(bus)
    ports = SchedulerPorts(
        working_set=RedisWorkingSet(
            redis,
            clock=clock,
            default_delay_ms=round(settings.host_delay_seconds * 1000),
            limits=queue_limits_of(settings),
        ),
        frontier_logs=TopicFrontierLogs(bus, codec, commit_interval_seconds=settings.commit_interval_seconds),
        log_reader=TopicFrontierLogReader(bus, codec, clock=clock),
        crawl_specs=specs,
        publisher=publisher,
        clock=clock,
        chance=process.chance,
        job_feeds=JobFeeds(job_events, job_commands),
        open_runs=RedisOpenRuns(redis, shards=settings.run.shards),
        pipeline_offsets=pipeline_offsets,
        completion_offsets=completion_offsets,
        backlog_source=backlogs,
        source_feed=sources,
        jobs=open_job_ports(process, redis, postgres, publisher, specs),
        meter=SchedulerMetrics(process.metrics, beat=process.heartbeat.beat, journal=journal),
    )
    offsets = (pipeline_offsets, completion_offsets, backlogs)
    opened = (publisher, job_events, job_commands, sources, *offsets, specs)
    return ports, tuple(each.close for each in opened)


def open_job_ports(
    process: ServiceContext[SchedulerSettings],
    redis: Redis,
    postgres: Postgres,
    publisher: EventPublisher,
    specs: CrawlSpecCache,
) -> JobPorts | None:
    """Return the ports of jobs; None without the key that their seeds are signed with."""
    owner_key = process.settings.owner.key.get_secret_value()
    if not owner_key:
        _log.emit(log_events.JOBS_OFF)
        return None
    return JobPorts(
        store=PostgresJobStore(postgres),
        runs=RunPublisher(publisher, process.codec, specs, owner_key=owner_key),
        adaptive_states=TopicAdaptiveStates(process.bus, process.codec, clock=process.clock),
        adaptive_copies=RedisAdaptiveCopies(redis),
        meter=JobMetrics(process.metrics),
    )


def options_of(settings: SchedulerSettings) -> SchedulerOptions:
    """Return the scheduler's options from its settings."""
    return SchedulerOptions(
        shards=settings.run.shards,
        user_agent=settings.user_agent,
        respects_robots=settings.crawl.respect_robots,
        delay_seconds=settings.host_delay_seconds,
        max_delay_seconds=settings.max_delay_seconds,
        max_deadline_seconds=settings.max_deadline_seconds,
        breaker=BreakerLimits(
            failures=settings.breaker_failures,
            open_ms=round(settings.breaker_open_seconds * 1000),
            refusals=settings.breaker_refusals,
            refused_ms=round(settings.breaker_refused_seconds * 1000),
        ),
        allow_private=settings.allow_private,
        by_domain=settings.group_by == "domain",
        default_limits=default_limits_of(settings),
        lease_seconds=settings.lease_seconds,
        release_batch=settings.release_batch,
        in_flight=settings.in_flight_per_shard,
        max_pipeline_lag=settings.release_lag,
        robots_cache_characters=settings.robots_memory_mb * MIB,
        max_cached_groups=settings.groups_in_memory,
        queue_limits=queue_limits_of(settings),
        refill_interval_seconds=settings.refill_seconds,
        retention_interval_seconds=settings.clean_hours * 3600,
        max_hosts_per_domain=settings.max_hosts_per_domain,
        keep_hosts_seconds=settings.keep_hosts_days * 86_400.0,
        keep_closed_seconds=settings.keep_closed_days * 86_400.0,
        keep_specs_seconds=settings.keep_specs_days * 86_400.0,
        keep_commands_seconds=settings.keep_commands_days * 86_400.0,
        polling=FeedPolling(settings.feed_poll_seconds if settings.feed_poll else 0),
        jobs=job_options_of(settings),
    )


def job_options_of(settings: SchedulerSettings) -> JobOptions:
    """Return the intervals of the loops of jobs."""
    return JobOptions(
        poll_seconds=settings.job_poll_seconds,
        launch_batch=settings.job_launch_batch,
        recovery_seconds=settings.job_recovery_seconds,
        stale_lock_seconds=settings.job_stale_lock_seconds,
        reconcile_seconds=settings.job_reconcile_seconds,
        relaunch_seconds=settings.job_relaunch_seconds,
        metrics_seconds=settings.job_metrics_seconds,
    )


def default_limits_of(settings: SchedulerSettings) -> BudgetLimits:
    """Return the budget of a run whose crawl spec sets none."""
    each = settings.model_dump()
    return BudgetLimits(
        *(
            BudgetAmount(each[f"max_pages{of}"], each[f"max_bytes{of}"], 1000 * each[f"max_seconds{of}"])
            for of in ("", "_per_host", "_per_domain")
        )
    )


def queue_limits_of(settings: SchedulerSettings) -> QueueLimits:
    """Return how much the working set queues."""
    return QueueLimits(
        entries_per_group=settings.queued_per_host,
        horizon_ms=settings.queued_ahead_minutes * 60_000,
        memory_percent=settings.redis_full_percent,
        minimum_entries=QUEUED_AT_LEAST,
    )


def main() -> int:
    """Run the service until it is stopped."""
    return run_service("scheduler", SchedulerSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

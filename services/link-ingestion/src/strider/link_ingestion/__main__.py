"""Wiring: settings -> crawl specs, seen-set -> topology -> run."""

from __future__ import annotations

from strider.contracts.generated.topics import LINKS_DISCOVERED
from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.run_log import RunLog
from strider.frontier.redis.seen import RedisSeenLookup
from strider.runtime.observability import log_events
from strider.runtime.observability.logging import logger
from strider.runtime.process.health import Dependency
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.encryption import HeaderCipher
from strider.storage.objects import open_configured_objects
from strider.storage.redis import connect, redis_options
from strider.storage.run_logs.redis_log import RedisRunLogs

from .adapters import LinkMetrics, LinkOffsetSource
from .backpressure import RawSeedBackpressure
from .core import RawSeedLimits
from .options import IngestionPolicy
from .settings import LinkIngestionSettings, SeedSettings
from .topology import (
    DEAD_LETTERS,
    OWNED_SEEDS_GROUP,
    PAGES_GROUP,
    PRODUCES,
    RAW_SEEDS_LOOP,
    SEEDS_GROUP,
    PageIngestion,
    SeedIngestion,
)

_log = logger("link-ingestion")


def build(process: ServiceContext[LinkIngestionSettings]) -> ServiceDefinition:
    """Build the service definition."""
    settings, clock = process.settings, process.clock
    if not settings.owner.key.get_secret_value():
        _log.emit(log_events.OWNER_KEY_MISSING)
    redis = connect(redis_options(settings.redis))
    specs = CrawlSpecCache(process.bus, process.codec, clock=clock)
    policy, metrics = policy_of(settings), LinkMetrics(process.metrics)
    count = metrics.count
    journal = RunLog(_log, clock=clock)
    offsets = LinkOffsetSource(process.bus)
    pressure = RawSeedBackpressure(
        offsets, max_waiting=settings.raw_seeds_waiting, clock=clock, set_waiting=metrics.set_waiting
    )
    seeds = SeedIngestion(
        specs, policy=policy, clock=clock, count=count, note=journal.record, on_published=pressure.add
    )
    seen = RedisSeenLookup(redis, read_cluster=lambda: process.bus.cluster_identity(LINKS_DISCOVERED.name))
    pages = PageIngestion(specs, seen, policy=policy, clock=clock, count=count, note=journal.record)
    objects = open_configured_objects(settings.objects, clock=clock)
    return ServiceDefinition(
        (
            consume(OWNED_SEEDS_GROUP, *seeds.owned_subscriptions(), on_given_up=seeds.on_given_up),
            consume(
                SEEDS_GROUP,
                *seeds.subscriptions(),
                on_given_up=seeds.on_given_up,
                read_gate=pressure.gate,
                settings=RAW_SEEDS_LOOP,
            ),
            consume(PAGES_GROUP, *pages.subscriptions(), on_given_up=pages.on_given_up),
        ),
        PRODUCES,
        DEAD_LETTERS,
        dependencies=(Dependency("redis", redis.ping),),
        close=(specs.close, offsets.close, redis.close),
        objects=objects,
        background=(journal.run, pressure.run),
        job_logs=RedisRunLogs(redis),
    )


def policy_of(settings: LinkIngestionSettings) -> IngestionPolicy:
    """Return the settings that apply to all crawls."""
    return IngestionPolicy(
        shards=settings.run.shards,
        allow_private=settings.crawl.allow_private,
        refusals_listed=settings.refusals_listed,
        discovers_feeds=settings.feed_discovery,
        owner_key=settings.owner.key.get_secret_value(),
        protect_headers=HeaderCipher(settings.headers.key.get_secret_value()).protect,
        raw_seeds=raw_seed_limits(settings.seeds),
        trap_pages=settings.trap_pages,
    )


def raw_seed_limits(settings: SeedSettings) -> RawSeedLimits:
    """Return the limits of raw seeds; settings and limits have the same names."""
    return RawSeedLimits(**settings.model_dump())


def main() -> int:
    """Run until stopped."""
    return run_service("link-ingestion", LinkIngestionSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

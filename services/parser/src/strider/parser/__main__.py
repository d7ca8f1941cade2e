"""Wiring: settings -> body store, worker pool -> topology -> run."""

from __future__ import annotations

import os

from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.run_log import RunLog, discard_note
from strider.messaging.ports import Clock
from strider.runtime.consumer.spec import ConsumerSpec
from strider.runtime.observability.logging import logger
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.objects import open_configured_objects
from strider.storage.redis import connect, redis_options
from strider.storage.run_logs.redis_log import RedisRunLogs

from .adapters.metrics import ParserMetrics
from .adapters.object_bodies import MissingBodyStore, ObjectBodyStore
from .adapters.parsing_turns import ParsingTurns
from .adapters.workers.config import check_site_parsers, worker_config
from .adapters.workers.pool import ParserWorkerPool
from .settings import ParserSettings
from .topology import DEAD_LETTERS, GROUP, LIVE_TOPICS, SHADOW_GROUP, SHADOW_TOPICS, Parser, loop_settings

_log = logger("parser")


def build(process: ServiceContext[ParserSettings]) -> ServiceDefinition:
    """Wire the service together."""
    settings, clock = process.settings, process.clock
    check_site_parsers(settings.site_parsers)
    objects = open_configured_objects(settings.objects, clock=clock)
    bodies = MissingBodyStore() if objects is None else ObjectBodyStore(objects)
    config = worker_config(settings, has_object_store=objects is not None)
    parsers = ParserWorkerPool(
        config, process.codec, workers=settings.workers, clock=clock, environ=dict(os.environ)
    )
    metrics = ParserMetrics(process.metrics, clock=clock)
    redis, journal = connect(redis_options(settings.redis)), RunLog(_log, clock=clock)
    specs = CrawlSpecCache(process.bus, process.codec, clock=clock)
    parser = Parser(
        parsers,
        bodies,
        specs=specs,
        turns=_parsing_turns(settings, metrics, clock),
        now_ms=lambda: round(clock.now().timestamp() * 1000),
        extraction=settings.extraction,
        count_page=metrics.count_page,
        note=discard_note if settings.shadow else journal.record,
        is_shadow=settings.shadow,
    )
    return ServiceDefinition(
        (_consumption(parser, settings),),
        SHADOW_TOPICS if settings.shadow else LIVE_TOPICS,
        DEAD_LETTERS,
        connect=(parsers.start,),
        background=(journal.run,),
        close=(parsers.close, specs.close, redis.close),
        objects=objects,
        job_logs=RedisRunLogs(redis),
    )


def _consumption(parser: Parser, settings: ParserSettings) -> ConsumerSpec:
    return consume(
        SHADOW_GROUP if settings.shadow else GROUP,
        *parser.subscriptions(),
        settings=loop_settings(workers=settings.workers, page_seconds=settings.page_seconds),
        on_given_up=parser.on_given_up,
    )


def _parsing_turns(settings: ParserSettings, metrics: ParserMetrics, clock: Clock) -> ParsingTurns:
    return ParsingTurns(
        workers=settings.workers,
        page_seconds=settings.page_seconds,
        clock=clock,
        on_given_up=metrics.count_given_up,
    )


def main() -> int:
    """Run until stopped."""
    return run_service("parser", ParserSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

"""Wiring: settings -> tables, text store -> topology -> run."""

from __future__ import annotations

from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.run_log import RunLog
from strider.runtime.consumer.spec import AsyncStep
from strider.runtime.observability.logging import logger
from strider.runtime.process.health import Dependency
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.objects import DeadLetterObjectStore, open_configured_objects
from strider.storage.postgres import Postgres, PostgresOptions
from strider.storage.redis import connect, redis_options
from strider.storage.run_logs.redis_log import RedisRunLogs

from .adapters import ObjectTextStore, PostgresTables
from .adapters.object_retention import ObjectRetentionLoop
from .adapters.retention import PRODUCTS_OF_PAGES, RowRetentionLoop, TableRetention
from .settings import IndexerSettings
from .topology import DEAD_LETTERS, GROUP, PRODUCES, Indexer, MissingTextStore

_log = logger("indexer")


def build(process: ServiceContext[IndexerSettings]) -> ServiceDefinition:
    """Wire the service together."""
    settings = process.settings
    options = PostgresOptions(
        settings.postgres.dsn.get_secret_value(),
        application="strider-indexer",
        statement_timeout_seconds=settings.statement_timeout_seconds,
    )
    postgres = Postgres(options, clock=process.clock, chance=process.chance)
    tables = PostgresTables(postgres)
    objects = open_configured_objects(settings.objects, clock=process.clock)
    redis, journal = connect(redis_options(settings.redis)), RunLog(_log, clock=process.clock)
    specs = CrawlSpecCache(process.bus, process.codec, clock=process.clock)
    indexer = Indexer(
        tables,
        MissingTextStore() if objects is None else ObjectTextStore(objects),
        max_text_chars=settings.max_text_chars,
        specs=specs,
        store_noindex=settings.store_noindex,
        note=journal.record,
    )
    return ServiceDefinition(
        (consume(GROUP, *indexer.subscriptions()),),
        PRODUCES,
        DEAD_LETTERS,
        dependencies=(Dependency("postgres", postgres.ping),),
        connect=(tables.check_tables,),
        background=(journal.run, *_retention(process, postgres, tables, objects)),
        close=(specs.close, postgres.close, redis.close),
        objects=objects,
        job_logs=RedisRunLogs(redis),
    )


def _retention(
    process: ServiceContext[IndexerSettings],
    postgres: Postgres,
    tables: PostgresTables,
    objects: DeadLetterObjectStore | None,
) -> tuple[AsyncStep, ...]:
    """Return the loops that delete what is too old."""
    settings = process.settings
    interval_seconds = settings.clean_hours * 3600
    rows = RowRetentionLoop(
        postgres,
        kept_tables(settings),
        clock=process.clock,
        interval_seconds=interval_seconds,
        on_deleted=tables.clear_cached_refusals,
    )
    if objects is None:
        return (rows.run,)
    unused = ObjectRetentionLoop(
        objects,
        postgres,
        keep_days=settings.keep_objects_days,
        clock=process.clock,
        interval_seconds=interval_seconds,
    )
    return rows.run, unused.run


def kept_tables(settings: IndexerSettings) -> tuple[TableRetention, ...]:
    """Return how long rows of each table are kept."""
    return (
        TableRetention("url_decisions", "decided_at", settings.keep_decisions_days),
        TableRetention("failed_requests", "failed_at", settings.keep_failures_days),
        TableRetention("error_logs", "occurred_at", settings.keep_errors_days),
        TableRetention("crawled_pages", "crawled_at", settings.keep_pages_days, PRODUCTS_OF_PAGES),
    )


def main() -> int:
    """Run until stopped."""
    return run_service("indexer", IndexerSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

"""Wiring: settings -> tables, text store -> topology -> run."""

from __future__ import annotations

from strider.runtime.process.health import Dependency
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.objects import open_configured_objects
from strider.storage.postgres import Postgres, PostgresOptions

from .adapters import ObjectTextStore, PostgresTables
from .settings import IndexerSettings
from .topology import DEAD_LETTERS, GROUP, PRODUCES, Indexer, MissingTextStore


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
    indexer = Indexer(
        tables,
        MissingTextStore() if objects is None else ObjectTextStore(objects),
        max_text_chars=settings.max_text_chars,
        store_noindex=settings.store_noindex,
    )
    return ServiceDefinition(
        (consume(GROUP, *indexer.subscriptions()),),
        PRODUCES,
        DEAD_LETTERS,
        dependencies=(Dependency("postgres", postgres.ping),),
        connect=(tables.check_tables,),
        close=(postgres.close,),
        objects=objects,
    )


def main() -> int:
    """Run until stopped."""
    return run_service("indexer", IndexerSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

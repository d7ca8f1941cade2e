"""settings -> Faust's table -> topology -> run."""

from __future__ import annotations

from typing import Final

from strider.messaging.errors import StartRefused
from strider.runtime.process.main import ServiceContext, ServiceDefinition, kafka_connection, run_service
from strider.runtime.process.startup import check_partition_counts

from .settings import InsightsSettings
from .topology import CONSUMES, PRODUCES, Insights

FORGET_SECONDS: Final = 3600.0


def build(process: ServiceContext[InsightsSettings]) -> ServiceDefinition:
    """Put the service together. Faust reads; the bootstrap's own loop has nothing to consume here."""
    try:
        from . import adapters  # noqa: PLC0415  # Faust is an optional part of the install
    except ImportError as failure:
        raise StartRefused(
            f"insights needs faust-streaming, which cannot be imported: {failure}"
        ) from failure
    settings, clock, shards = process.settings, process.clock, process.settings.run.shards
    connection, topics = kafka_connection(settings), [topic.name for topic in CONSUMES]
    application = adapters.FaustApplication(
        connection,
        shards=shards,
        session_seconds=settings.kafka.session_timeout_seconds,
        on_progress=process.heartbeat.record_success,
        on_retention_gap=adapters.RetentionLossReporter(process.metrics).report,
    )
    hosts = adapters.HostTable(application, shards=shards)
    meter = adapters.ProcessMeter(process.metrics, host_count=hosts.__len__)
    schemas = adapters.Schemas(process)
    insights = Insights(
        hosts,
        process.codec,
        find_schema=schemas.find,
        observer=meter,
        now_ms=lambda: round(clock.now().timestamp() * 1000),
        keep_hours=settings.keep_hours,
    )
    application.feed(topics, insights.on_message)
    process.readiness.watch_pauses(application.waiting_for, exempt=tuple)
    return ServiceDefinition(
        produces=PRODUCES,
        connect=(
            lambda: check_partition_counts(process.bus, CONSUMES, shards=shards),
            lambda: adapters.ensure_changelog_topic(process.bus, connection, shards=shards),
        ),
        background=(
            application.run,
            adapters.Watch(application, process, topics=topics).run,
            lambda: adapters.run_periodically(
                hosts.write_changelog, clock=clock, seconds=adapters.WRITE_INTERVAL_SECONDS
            ),
            lambda: adapters.run_periodically(
                meter.update_gauges, clock=clock, seconds=adapters.SHOW_SECONDS
            ),
            lambda: adapters.run_periodically(insights.expire_hosts, clock=clock, seconds=FORGET_SECONDS),
        ),
        close=(application.close, schemas.close),
    )


def main() -> int:
    """Run until told to stop."""
    return run_service("insights", InsightsSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

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
    application = adapters.Application(
        connection,
        shards=shards,
        session_seconds=settings.kafka.session_timeout_seconds,
        on_progress=process.heartbeat.record_success,
        on_taken=adapters.Losses(process.metrics).tell,
    )
    hosts = adapters.HostTable(application, shards=shards)
    meter = adapters.ProcessMeter(process.metrics, known=hosts.__len__)
    schemas = adapters.Schemas(process)
    insights = Insights(
        hosts,
        process.codec,
        find=schemas.find,
        tell=meter,
        now_ms=lambda: round(clock.now().timestamp() * 1000),
        keep_hours=settings.keep_hours,
    )
    application.feed(topics, insights.on_message)
    process.readiness.watch_pauses(application.waits, exempt=tuple)
    return ServiceDefinition(
        produces=PRODUCES,
        connect=(
            lambda: check_partition_counts(process.bus, CONSUMES, shards=shards),
            lambda: adapters.prepare_changelog(process.bus, connection, shards=shards),
        ),
        background=(
            application.run,
            adapters.Watch(application, process, topics=topics).run,
            lambda: adapters.repeat(hosts.write, clock=clock, seconds=adapters.WRITE_SECONDS),
            lambda: adapters.repeat(meter.show, clock=clock, seconds=adapters.SHOW_SECONDS),
            lambda: adapters.repeat(insights.forget, clock=clock, seconds=FORGET_SECONDS),
        ),
        close=(application.close, schemas.close),
    )


def main() -> int:
    """Run until told to stop."""
    return run_service("insights", InsightsSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

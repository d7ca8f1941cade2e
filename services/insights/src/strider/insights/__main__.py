"""Wiring: settings -> Faust application and host table -> topology -> run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from strider.messaging.errors import StartRefused
from strider.messaging.ports import epoch_ms
from strider.runtime.process.main import ServiceContext, ServiceDefinition, kafka_connection, run_service
from strider.runtime.process.startup import check_partition_counts

from .settings import InsightsSettings
from .topology import CONSUMES, PRODUCES, Insights

if TYPE_CHECKING:
    from strider.messaging.kafka import KafkaConnection

    from .adapters import FaustApplication

EXPIRY_INTERVAL_SECONDS: Final = 3600.0


def build(process: ServiceContext[InsightsSettings]) -> ServiceDefinition:
    """Wire the service together. Faust consumes; the runtime's own loop has nothing to consume here."""
    _require_faust()
    from . import adapters  # noqa: PLC0415  # imports Faust

    settings, clock, shards = process.settings, process.clock, process.settings.run.shards
    connection, topics = kafka_connection(settings), [topic.name for topic in CONSUMES]
    application = _faust_application(process, connection)
    hosts = adapters.HostTable(application, shards=shards)
    metrics = adapters.InsightsMetrics(process.metrics, host_count=hosts.__len__)
    schemas = adapters.SchemaLookup(process)
    insights = Insights(
        hosts,
        process.codec,
        find_schema=schemas.find,
        observer=metrics,
        now_ms=partial(epoch_ms, clock),
        keep_hours=settings.keep_hours,
    )
    application.subscribe(topics, insights.on_message)
    process.readiness.watch_pauses(application.waiting_for, exempt=tuple)
    periodically = partial(adapters.run_periodically, clock=clock)
    return ServiceDefinition(
        produces=PRODUCES,
        connect=(
            lambda: check_partition_counts(process.bus, CONSUMES, shards=shards),
            lambda: adapters.ensure_changelog_topic(process.bus, connection, shards=shards),
        ),
        background=(
            application.run,
            adapters.FaustMonitor(application, process, topics=topics).run,
            partial(periodically, hosts.write_changelog, seconds=adapters.WRITE_INTERVAL_SECONDS),
            partial(periodically, metrics.update_gauges, seconds=adapters.GAUGE_INTERVAL_SECONDS),
            partial(periodically, insights.expire_hosts, seconds=EXPIRY_INTERVAL_SECONDS),
        ),
        close=(application.close, schemas.close),
    )


def _faust_application(
    process: ServiceContext[InsightsSettings], connection: KafkaConnection
) -> FaustApplication:
    from . import adapters  # noqa: PLC0415  # imports Faust

    return adapters.FaustApplication(
        connection,
        shards=process.settings.run.shards,
        session_seconds=process.settings.kafka.session_timeout_seconds,
        on_progress=process.heartbeat.record_success,
        on_retention_gap=adapters.RetentionLossReporter(process.metrics).report,
    )


def _require_faust() -> None:
    """Refuse to start where Faust, an optional dependency, is not installed."""
    try:
        import faust  # noqa: F401, PLC0415  # optional
    except ImportError as failure:
        raise StartRefused(
            f"insights needs faust-streaming, which cannot be imported: {failure}"
        ) from failure


def main() -> int:
    """Run until stopped."""
    return run_service("insights", InsightsSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

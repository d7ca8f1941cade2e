"""Entry point: settings -> ledger -> topology -> run."""

from __future__ import annotations

from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.objects import open_configured_objects

from .adapters import TopicLedger
from .settings import TallySettings
from .topology import DEAD_LETTERS, PRODUCES, Tally


def build(process: ServiceContext[TallySettings]) -> ServiceDefinition:
    """Return the definition of the service."""
    settings, interval = process.settings, process.settings.commit_interval_seconds
    ledger = TopicLedger(
        process.bus,
        process.codec,
        clock=process.clock,
        commit_interval_seconds=interval,
        on_progress=process.heartbeat.beat,
    )
    consumption = consume("tally", *Tally(ledger).subscriptions(), shards=ledger)
    objects = open_configured_objects(settings.objects, clock=process.clock)
    return ServiceDefinition((consumption,), PRODUCES, DEAD_LETTERS, objects=objects)


def main() -> int:
    """Run until stopped; return the exit code."""
    return run_service("tally", TallySettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

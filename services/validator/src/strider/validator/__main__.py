"""Wiring of the validator service: settings, rules, topology."""

from __future__ import annotations

from functools import partial

from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.crawl.run_log import RunLog
from strider.messaging.ports import epoch_ms
from strider.runtime.observability.logging import logger
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.objects import open_configured_objects
from strider.storage.redis import connect, redis_options
from strider.storage.run_logs.redis_log import RedisRunLogs

from .adapters import PageSplicer, validation_rules_of
from .settings import ValidatorSettings
from .topology import DEAD_LETTERS, GROUP, PRODUCES, Validator

_log = logger("validator")


def build(process: ServiceContext[ValidatorSettings]) -> ServiceDefinition:
    """Build the service definition."""
    settings, clock = process.settings, process.clock
    redis, journal = connect(redis_options(settings.redis)), RunLog(_log, clock=clock)
    specs = CrawlSpecCache(process.bus, process.codec, clock=clock)
    validator = Validator(
        validation_rules_of(settings),
        PageSplicer(process.codec),
        specs=specs,
        now_ms=partial(epoch_ms, clock),
        note=journal.record,
    )
    consumption = consume(GROUP, *validator.subscriptions(), on_given_up=validator.on_given_up)
    objects = open_configured_objects(settings.objects, clock=clock)
    return ServiceDefinition(
        (consumption,),
        PRODUCES,
        DEAD_LETTERS,
        background=(journal.run,),
        close=(specs.close, redis.close),
        objects=objects,
        job_logs=RedisRunLogs(redis),
    )


def main() -> int:
    """Run the service until it is stopped."""
    return run_service("validator", ValidatorSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

"""settings -> bodies, workers -> topology -> run."""

from __future__ import annotations

import os

from strider.crawl.crawl_spec_cache import CrawlSpecCache
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.storage.objects import ObjectOptions, open_object_store

from .adapters.bodies import NoBodies, ObjectBodies
from .adapters.meter import ProcessMeter
from .adapters.orders import check_site_parsers, orders_of
from .adapters.workers import WorkerParsers
from .settings import ParserSettings
from .topology import DEAD_LETTERS, GROUP, LIVE, SHADOW, SHADOW_GROUP, Parser, loop_settings


def build(process: ServiceContext[ParserSettings]) -> ServiceDefinition:
    """Put the service together."""
    settings, clock = process.settings, process.clock
    check_site_parsers(settings.site_parsers)
    url = settings.objects.url.get_secret_value()
    objects = open_object_store(ObjectOptions(url), clock=clock) if url else None
    bodies = NoBodies() if objects is None else ObjectBodies(objects)
    orders = orders_of(settings, may_store=objects is not None)
    parsers = WorkerParsers(
        orders, process.codec, workers=settings.workers, clock=clock, environ=dict(os.environ)
    )
    specs = CrawlSpecCache(process.bus, process.codec, clock=clock)
    parser = Parser(
        parsers,
        bodies,
        specs=specs,
        now_ms=lambda: round(clock.now().timestamp() * 1000),
        extraction=settings.extraction,
        count=ProcessMeter(process.metrics).count,
        is_shadow=settings.shadow,
    )
    loop = loop_settings(workers=settings.workers, page_seconds=settings.page_seconds)
    return ServiceDefinition(
        (
            consume(
                SHADOW_GROUP if settings.shadow else GROUP,
                *parser.subscriptions(),
                settings=loop,
                on_given_up=parser.on_given_up,
            ),
        ),
        SHADOW if settings.shadow else LIVE,
        DEAD_LETTERS,
        connect=(parsers.start,),
        close=(parsers.close, specs.close, *(() if objects is None else (objects.close,))),
        objects=objects,
    )


def main() -> int:
    """Run until told to stop."""
    return run_service("parser", ParserSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

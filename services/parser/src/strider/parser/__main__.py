"""settings -> bodies, workers -> topology -> run."""

from __future__ import annotations

import os

from strider.runtime.service import Process, Wiring, consume, run_service
from strider.stores.objects import ObjectOptions, open_objects

from .adapters.bodies import NoBodies, ObjectBodies
from .adapters.meter import ProcessMeter
from .adapters.worker import MIB, WorkerOrders
from .adapters.workers import WorkerParsers
from .core import Limits
from .settings import ParserSettings
from .topology import DEAD_LETTERS, GROUP, PRODUCES, Parser, loop_settings


def build(process: Process[ParserSettings]) -> Wiring:
    """Put the service together."""
    settings, clock = process.settings, process.clock
    url = settings.objects.url.get_secret_value()
    objects = open_objects(ObjectOptions(url), clock=clock) if url else None
    bodies = NoBodies() if objects is None else ObjectBodies(objects)
    orders = WorkerOrders(
        parent=os.getpid(),
        limits=Limits(
            settings.max_page_mb * MIB,
            settings.max_links,
            settings.robot_name.lower(),
            extraction=settings.extraction,
            with_markdown=settings.with_markdown,
            site_parsers=settings.site_parsers,
        ),
        page_seconds=settings.page_seconds,
        memory_mb=settings.memory_mb,
        may_store=objects is not None,
    )
    parsers = WorkerParsers(
        orders, process.codec, workers=settings.workers, clock=clock, environ=dict(os.environ)
    )
    now_ms = lambda: round(clock.now().timestamp() * 1000)  # noqa: E731
    parser = Parser(parsers, bodies, now_ms=now_ms, count=ProcessMeter(process.metrics).count)
    loop = loop_settings(workers=settings.workers, page_seconds=settings.page_seconds)
    return Wiring(
        (consume(GROUP, *parser.reads(), settings=loop, on_given_up=parser.on_given_up),),
        PRODUCES,
        DEAD_LETTERS,
        connect=(parsers.start,),
        close=(parsers.close, *(() if objects is None else (objects.close,))),
        objects=objects,
    )


def main() -> int:
    """Run until told to stop."""
    return run_service("parser", ParserSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

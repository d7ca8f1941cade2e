"""settings -> bodies, workers -> topology -> run."""

from __future__ import annotations

import os

from strider.runtime.errors import StartRefused
from strider.runtime.logs import logger
from strider.runtime.service import Process, Wiring, consume, run_service
from strider.runtime.specs import SpecShelf
from strider.sites import BadChoice, choose_parsers, find_parsers
from strider.stores.objects import ObjectOptions, open_objects

from .adapters.bodies import NoBodies, ObjectBodies
from .adapters.meter import ProcessMeter
from .adapters.worker import MIB, WorkerOrders
from .adapters.workers import WorkerParsers
from .core import Limits
from .settings import ParserSettings
from .topology import DEAD_LETTERS, GROUP, LIVE, SHADOW, SHADOW_GROUP, Parser, loop_settings

_log = logger("parser")


def build(process: Process[ParserSettings]) -> Wiring:
    """Put the service together."""
    settings, clock = process.settings, process.clock
    check_site_parsers(settings.site_parsers)
    url = settings.objects.url.get_secret_value()
    objects = open_objects(ObjectOptions(url), clock=clock) if url else None
    bodies = NoBodies() if objects is None else ObjectBodies(objects)
    orders = WorkerOrders(
        parent=os.getpid(),
        limits=Limits(
            settings.max_page_mb * MIB,
            settings.max_links,
            settings.robot_name.lower(),
            with_markdown=settings.with_markdown,
            site_parsers=settings.site_parsers,
            pdf_seconds=settings.page_seconds / 2,
        ),
        page_seconds=settings.page_seconds,
        memory_mb=settings.memory_mb,
        may_store=objects is not None,
    )
    parsers = WorkerParsers(
        orders, process.codec, workers=settings.workers, clock=clock, environ=dict(os.environ)
    )
    specs = SpecShelf(process.bus, process.codec, clock=clock)
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
    return Wiring(
        (
            consume(
                SHADOW_GROUP if settings.shadow else GROUP,
                *parser.reads(),
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


def check_site_parsers(wanted: str) -> None:
    """Refuse to start with a choice that cannot be kept; say what of the installed ones cannot be used."""
    found = find_parsers()
    for fault in found.faults:
        _log.warning("Site Parser Left Out", why=fault)
    try:
        choose_parsers(found.parsers, wanted)
    except BadChoice as wrong:
        raise StartRefused(f"PARSER_SITE_PARSERS: {wrong}") from wrong


def main() -> int:
    """Run until told to stop."""
    return run_service("parser", ParserSettings, build)


if __name__ == "__main__":
    raise SystemExit(main())

"""What the settings come to for those who read pages: their orders, and whether these can be kept."""

from __future__ import annotations

import os

from strider.messaging.errors import StartRefused
from strider.parser.core import ParseLimits
from strider.parser.settings import ParserSettings
from strider.runtime.observability.logging import logger
from strider.sites import InvalidParserChoice, load_installed_parsers, select_parsers

from .worker import MIB, WorkerOrders

_log = logger("parser")


def orders_of(settings: ParserSettings, *, may_store: bool) -> WorkerOrders:
    """Give what a worker of this process is told."""
    limits = ParseLimits(
        settings.max_page_mb * MIB,
        settings.max_links,
        settings.robot_name.lower(),
        with_markdown=settings.with_markdown,
        site_parsers=settings.site_parsers,
        pdf_seconds=settings.page_seconds / 2,
    )
    return WorkerOrders(
        parent=os.getpid(),
        limits=limits,
        page_seconds=settings.page_seconds,
        memory_mb=settings.memory_mb,
        may_store=may_store,
    )


def check_site_parsers(wanted: str) -> None:
    """Refuse to start with a choice that cannot be kept; say what of the installed ones cannot be used."""
    found = load_installed_parsers()
    for fault in found.errors:
        _log.warning("Site Parser Left Out", why=fault)
    try:
        select_parsers(found.parsers, wanted)
    except InvalidParserChoice as wrong:
        raise StartRefused(f"PARSER_SITE_PARSERS: {wrong}") from wrong

"""What the settings come to for those who read pages: their orders, and whether these can be kept."""

from __future__ import annotations

import os

from strider.messaging.errors import StartRefused
from strider.parser.core import ParseLimits
from strider.parser.settings import ParserSettings
from strider.runtime.observability.logging import logger
from strider.sites import InvalidParserChoice, load_installed_parsers, select_parsers

from .worker import MIB, WorkerConfig

_log = logger("parser")


def worker_config(settings: ParserSettings, *, has_object_store: bool) -> WorkerConfig:
    """Give what a worker of this process is told."""
    limits = ParseLimits(
        settings.max_page_mb * MIB,
        settings.max_links,
        settings.robot_name.lower(),
        with_markdown=settings.with_markdown,
        site_parsers=settings.site_parsers,
        pdf_seconds=settings.page_seconds / 2,
    )
    return WorkerConfig(
        parent_pid=os.getpid(),
        limits=limits,
        page_seconds=settings.page_seconds,
        memory_mb=settings.memory_mb,
        has_object_store=has_object_store,
    )


def check_site_parsers(chosen_versions: str) -> None:
    """Refuse to start with a choice that cannot be kept; say what of the installed ones cannot be used."""
    found = load_installed_parsers()
    for fault in found.errors:
        _log.warning("Site Parser Left Out", why=fault)
    try:
        select_parsers(found.parsers, chosen_versions)
    except InvalidParserChoice as wrong:
        raise StartRefused(f"PARSER_SITE_PARSERS: {wrong}") from wrong

"""Build the configuration of workers from the settings, and check the site parsers."""

from __future__ import annotations

import os

from strider.messaging.errors import StartRefused
from strider.parser import log_events
from strider.parser.core import ParseLimits
from strider.parser.settings import ParserSettings
from strider.runtime.observability.logging import logger
from strider.sites import InvalidParserChoice, load_installed_parsers, select_parsers

from .worker import MIB, WorkerConfig

_log = logger("parser")


def worker_config(settings: ParserSettings, *, has_object_store: bool) -> WorkerConfig:
    """Return the configuration of workers whose parent is this process."""
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
    """Refuse to start with versions that are not installed; log installed parsers that cannot be loaded."""
    found = load_installed_parsers()
    for fault in found.errors:
        _log.emit(log_events.SITE_PARSER_SKIPPED, why=fault)
    try:
        select_parsers(found.parsers, chosen_versions)
    except InvalidParserChoice as wrong:
        raise StartRefused(f"PARSER_SITE_PARSERS: {wrong}") from wrong

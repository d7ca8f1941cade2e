"""Metrics of parsed pages, and of pages that were given up. Decides nothing about pages."""

from __future__ import annotations

from typing import Final

from strider.messaging.ports import Clock
from strider.parser import log_events
from strider.parser.core.parsing_costs import PageSender
from strider.parser.core.site_parser_fields import ParserAttribution
from strider.runtime.observability.logging import logger
from strider.runtime.observability.metrics import Alert, Metric, Metrics

MAX_SERIES: Final = 1_000

PAGES_READ: Final = Metric(
    "strider_parser_pages_total",
    "counter",
    "Pages by site, by the parser and version that read them, and by result: complete, incomplete, failed"
    " for site parsers, read and unread for the general one. Beyond a thousand series all are `other`.",
    ("domain", "parser", "version", "verdict"),
    max_series=MAX_SERIES,
)
PAGES_GIVEN_UP: Final = Metric(
    "strider_parser_given_up_total",
    "counter",
    "Pages of senders that take much parser time, given up unparsed (`parse_timeout`) because those of others"
    " wait; by group of senders: owners or raw.",
    ("senders",),
    alert=Alert(
        "PagesGivenUp",
        "increase($metric[15m]) > 0",
        0,
        "Expensive pages are given up so that others are parsed; the log names a sender, more parsers help.",
    ),
)

LOG_SECONDS: Final = 60.0
"""Least time between two log lines about pages that were given up."""

_log = logger("parser")


class ParserMetrics:
    """Counts pages in the process's metrics."""

    def __init__(self, metrics: Metrics, *, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._unlogged_pages = 0
        self._logged_at: float | None = None
        metrics.declare(PAGES_READ)
        metrics.declare(PAGES_GIVEN_UP)
        for senders in ("owners", "raw"):
            metrics.count(PAGES_GIVEN_UP, senders, amount=0)  # a rise from nothing is no rise to Prometheus

    def count_page(self, reader: ParserAttribution) -> None:
        """Count one page."""
        self._metrics.count(PAGES_READ, reader.domain, reader.parser, reader.version, reader.verdict)

    def count_given_up(self, sender: PageSender) -> None:
        """Count a page that was given up; log it, or count it for the next line."""
        self._metrics.count(PAGES_GIVEN_UP, "raw" if sender.is_raw else "owners")
        self._unlogged_pages += 1
        now = self._clock.monotonic()
        if self._logged_at is not None and now - self._logged_at < LOG_SECONDS:
            return
        self._logged_at = now
        pages, self._unlogged_pages = self._unlogged_pages, 0
        _log.emit(
            log_events.EXPENSIVE_PAGES_GIVEN_UP,
            pages=pages,
            execution_id=sender.execution_id,
            group=sender.group,
        )

"""Metrics of parsed pages. Decides nothing about pages."""

from __future__ import annotations

from typing import Final

from strider.parser.core.site_parser_fields import ParserAttribution
from strider.runtime.observability.metrics import Metric, Metrics

MAX_SERIES: Final = 1_000

PAGES_READ: Final = Metric(
    "strider_parser_pages_total",
    "counter",
    "Pages by site, by the parser and version that read them, and by result: complete, incomplete, failed"
    " for site parsers, read and unread for the general one. Beyond a thousand series all are `other`.",
    ("domain", "parser", "version", "verdict"),
    max_series=MAX_SERIES,
)


class ParserMetrics:
    """Counts pages in the process's metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        metrics.declare(PAGES_READ)

    def count_page(self, reader: ParserAttribution) -> None:
        """Count one page."""
        self._metrics.count(PAGES_READ, reader.domain, reader.parser, reader.version, reader.verdict)

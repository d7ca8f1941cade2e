"""What is counted of pages, as metrics of the process. Decides nothing about pages."""

from __future__ import annotations

from typing import Final

from strider.parser.core.site_parser_fields import ParserAttribution
from strider.runtime.observability.metrics import Metric, Metrics

MAX_SERIES: Final = 1_000

PAGES_READ: Final = Metric(
    "strider_parser_pages_total",
    "counter",
    "Pages by site, by who read them in which version, and by what came of it: complete, incomplete, failed"
    " of site parsers, read and unread of the general one. Beyond a thousand series all is `other`.",
    ("domain", "parser", "version", "verdict"),
    max_series=MAX_SERIES,
)


class ProcessMeter:
    """Counts in the process's metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        metrics.declare(PAGES_READ)

    def count_page(self, reader: ParserAttribution) -> None:
        """Count one page."""
        self._metrics.count(PAGES_READ, reader.domain, reader.parser, reader.version, reader.verdict)

"""Metrics of links and seeds by their outcome."""

from __future__ import annotations

from typing import Final

from strider.runtime.observability.metrics import Metric, Metrics

LINKS: Final = Metric(
    "strider_link_ingestion_links_total",
    "counter",
    "Links and seeds by outcome: taken, seen, refused, seed_taken, seed_refused.",
    ("what",),
)


class LinkMetrics:
    """Counts in the process's metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        metrics.declare(LINKS)

    def count(self, what: str, number: int) -> None:
        """Count links by their outcome."""
        if number:
            self._metrics.count(LINKS, what, amount=number)

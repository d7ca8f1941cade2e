"""Metrics of links and seeds by outcome, and events of seeds for the logs of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from strider.link_ingestion import log_events
from strider.link_ingestion.core import AcceptedSeed, RefusedSeed
from strider.messaging.log_events import LogEvent
from strider.runtime.observability.metrics import Metric, Metrics

LINKS: Final = Metric(
    "strider_link_ingestion_links_total",
    "counter",
    "Links and seeds by outcome: taken, seen, refused, seed_taken, seed_refused.",
    ("what",),
)

CountLinks = Callable[[str, int], None]
"""Counts links (or seeds) by outcome."""

NoteRunEvent = Callable[[LogEvent, str, str, str, int], None]
"""Notes an event for the log of a run: event, job, run, kind, count."""


class LinkMetrics:
    """Counts in the process's metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        metrics.declare(LINKS)

    def count(self, what: str, number: int) -> None:
        """Count links by their outcome."""
        if number:
            self._metrics.count(LINKS, what, amount=number)


def discard_count(what: str, number: int) -> None:
    """Discard a count, in processes without metrics."""


def discard_note(event: LogEvent, job_id: str, execution_id: str, kind: str, count: int) -> None:
    """Discard a note, in processes without job logs."""


def note_seeds(note: NoteRunEvent, accepted: Sequence[AcceptedSeed], refused: Sequence[RefusedSeed]) -> None:
    """Note accepted and refused seeds, run by run."""
    runs = Counter((seed.origin.job_id, seed.origin.execution_id) for seed in accepted)
    for run, count in runs.items():
        note(log_events.SEEDS_ACCEPTED, *run, "", count)
    reasons = Counter((seed.job_id, seed.execution_id, seed.reason) for seed in refused)
    for reason, count in reasons.items():
        note(log_events.SEEDS_REFUSED, *reason, count)

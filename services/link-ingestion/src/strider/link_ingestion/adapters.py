"""Metrics of links and seeds, events of seeds for the logs of runs, and offsets of links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from strider.contracts.generated.events import PageParsed
from strider.contracts.generated.topics import LINKS_DISCOVERED
from strider.crawl.run_log import NoteRunEvent
from strider.link_ingestion import log_events
from strider.link_ingestion.core import AcceptedSeed, ClosedRun, LinkCounts, Offsets, RefusedSeed
from strider.messaging.log_ends import LogEnds
from strider.messaging.ports import Bus
from strider.runtime.observability.metrics import Metric, Metrics

SCHEDULER_GROUP: Final = next(
    reader.group
    for reader in LINKS_DISCOVERED.read_by
    if reader.gates == "raw_seeds" and reader.group is not None
)
"""The group whose lag holds back raw seeds, as its topic declares it."""

LINKS: Final = Metric(
    "strider_link_ingestion_links_total",
    "counter",
    "Links and seeds by outcome: taken, seen, refused, seed_taken, seed_refused, run_closed.",
    ("what",),
)

RAW_SEEDS_WAITING: Final = Metric(
    "strider_link_ingestion_raw_seeds_waiting",
    "gauge",
    "URLs of raw seeds that were published and are not known to be read by the scheduler.",
)

CountLinks = Callable[[str, int], None]
"""Counts links (or seeds) by outcome."""

SetWaiting = Callable[[int], None]
"""Sets how many URLs of raw seeds wait for the scheduler."""


class LinkMetrics:
    """Counts in the process's metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        for metric in (LINKS, RAW_SEEDS_WAITING):
            metrics.declare(metric)

    def count(self, what: str, number: int) -> None:
        """Count links by their outcome."""
        if number:
            self._metrics.count(LINKS, what, amount=number)

    def set_waiting(self, urls: int) -> None:
        """Set how many URLs of raw seeds wait for the scheduler."""
        self._metrics.set(RAW_SEEDS_WAITING, value=urls)


class LinkOffsetSource:
    """Reads how far the scheduler has read links, and where their log ends."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._ends = LogEnds(bus, (LINKS_DISCOVERED.name,))

    async def read(self) -> tuple[Offsets, Offsets]:
        """Return commits, and ends that were read after them; raises Unavailable."""
        reader = await self._ends.open()
        committed = await self._bus.committed(SCHEDULER_GROUP)
        ends = await self._ends.read(reader)
        return (
            {place.partition: at for place, at in committed.items() if place.topic == LINKS_DISCOVERED.name},
            {place.partition: end for place, end in ends.items()},
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._ends.close()


def discard_count(what: str, number: int) -> None:
    """Discard a count, in processes without metrics."""


def discard_waiting(urls: int) -> None:
    """Discard a number, in processes without metrics."""


def note_seeds(
    note: NoteRunEvent,
    accepted: Sequence[AcceptedSeed],
    refused: Sequence[RefusedSeed],
    closed: Sequence[ClosedRun] = (),
) -> None:
    """Note accepted and refused seeds and closed runs, run by run."""
    runs = Counter((seed.origin.job_id, seed.origin.execution_id) for seed in accepted)
    for run, count in runs.items():
        note(log_events.SEEDS_ACCEPTED, *run, "", count)
    reasons = Counter((seed.job_id, seed.execution_id, seed.reason) for seed in refused)
    for reason, count in reasons.items():
        note(log_events.SEEDS_REFUSED, *reason, count)
    for each in closed:
        note(log_events.RUN_CLOSED, each.job_id, each.execution_id, "", 1)


def note_links(note: NoteRunEvent, page: PageParsed, counts: LinkCounts) -> None:
    """Note the links of a page for its run: new ones, ones known already, and refused ones."""
    for kind, count in (("new", counts.accepted), ("known", counts.seen), ("refused", counts.refused)):
        if count:
            note(log_events.LINKS_FOUND, page.job_id, page.execution_id, kind, count)

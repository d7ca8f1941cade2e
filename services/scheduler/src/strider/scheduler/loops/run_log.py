"""What batches did to runs, for their logs: taken, refused, failed, settled; and that nothing is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from strider.contracts.generated.enums import (
    Decision,
    DecisionReason,
    FetchOutcome,
    RequestKind,
    SettleVerdict,
)
from strider.contracts.generated.events import EntryRecorded, FetchCompleted, PageSettled
from strider.crawl.run_log import FLUSH_SECONDS, RunLog
from strider.frontier.models import RunEntryCounts as Count
from strider.messaging.ports import Clock
from strider.scheduler.core import UrlDecision
from strider.scheduler.ports import Meter

URLS_ACCEPTED: Final = "URLs Taken"
REFUSED: Final = "URLs Refused"
CLOSED: Final = "URLs Closed"
BUDGET: Final = "Budget Used Up"
REQUESTS_FAILED: Final = "Requests Failed"
SETTLED: Final = "Pages Settled"
REJECTED: Final = "Pages Rejected"
NOTHING_OPEN: Final = "Nothing Open"

_OUTCOMES_WITHOUT_FAILURE: Final = frozenset(
    {FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED, FetchOutcome.REDIRECTED}
)

Counts = Callable[[], Awaitable[Sequence[Mapping[str, Count] | None]]]
"""Counts every run in each shard in hand; None for one that cannot say."""


def note_opened_entries(meter: Meter, entries: Iterable[EntryRecorded]) -> None:
    """Note entries that were taken into the frontier."""
    _note(meter, URLS_ACCEPTED, ((each.job_id, each.execution_id, each.reason) for each in entries))


def note_decisions(meter: Meter, decisions: Iterable[UrlDecision]) -> None:
    """Note what is not crawled, and why; a budget is told by its own name."""
    told: dict[str, list[tuple[str, str, str]]] = {}
    for line in decisions:
        event, kind = (REFUSED if line.decision == Decision.REFUSED else CLOSED), str(line.reason)
        if line.reason == DecisionReason.BUDGET:
            event, kind = BUDGET, line.detail
        told.setdefault(event, []).append((line.job_id, line.execution_id, kind))
    for event, names in told.items():
        _note(meter, event, names)


def note_failed_requests(meter: Meter, outcomes: Sequence[FetchCompleted]) -> None:
    """Note requests that brought no page, tried again or not."""
    asked = (each for each in outcomes if each.kind != RequestKind.ROBOTS)
    failed = (each for each in asked if not each.has_page and each.outcome not in _OUTCOMES_WITHOUT_FAILURE)
    names = ((each.job_id, each.execution_id, each.error_class or each.outcome) for each in failed)
    _note(meter, REQUESTS_FAILED, names)


def note_settled_pages(meter: Meter, pages: Sequence[PageSettled]) -> None:
    """Note pages that have gone round, and those that were no content."""
    for page in pages:
        event = SETTLED if page.verdict == SettleVerdict.VALID else REJECTED
        meter.note_run_event(event, page.job_id, page.execution_id, page.reason, 1)


def _note(meter: Meter, event: str, names: Iterable[tuple[str, str, str]]) -> None:
    for (job_id, execution_id, kind), count in Counter(names).items():
        meter.note_run_event(event, job_id, execution_id, kind, count)


class Closing:
    """Tells the journal, and of each run that it told of whether anything is still open."""

    def __init__(self, journal: RunLog, log: Any, *, counts: Counts, shards: int, clock: Clock) -> None:
        self._journal = journal
        self._log = log
        self._counts = counts
        self._shards = shards
        self._clock = clock
        self._watched: dict[str, str] = {}

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        try:
            while True:
                await self._clock.sleep(FLUSH_SECONDS)
                await self.run_once()
        finally:
            self._journal.flush()

    async def run_once(self) -> None:
        """Tell what was noted; then of the runs of which something was, whether that was all."""
        self._watched |= {execution_id: job_id for job_id, execution_id in self._journal.flush()}
        if not self._watched:
            return
        shards = await self._counts()
        counts = [each for each in shards if each is not None]
        if not shards or len(counts) < len(shards):
            return  # a shard that is taken, or rebuilt, says so later
        for execution_id, job_id in list(self._watched.items()):
            found = [each[execution_id] for each in counts if execution_id in each]
            if any(each.open for each in found):
                continue
            del self._watched[execution_id]
            told = {"job_id": job_id, "execution_id": execution_id}
            accepted = sum(each.accepted for each in found)
            self._log.info(NOTHING_OPEN, **told, accepted=accepted, shards=f"{len(counts)} of {self._shards}")

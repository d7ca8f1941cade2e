"""Run log: count what happens to each run, and report when nothing of it is open."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
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
from strider.runtime.observability.log_events import LogEvent
from strider.scheduler import log_events
from strider.scheduler.core.entries.url_decisions import UrlDecision
from strider.scheduler.core.hosts.host_state import HostGroup
from strider.scheduler.ports import SchedulerMeter

_OUTCOMES_WITHOUT_FAILURE: Final = frozenset(
    {FetchOutcome.FETCHED, FetchOutcome.NOT_MODIFIED, FetchOutcome.REDIRECTED}
)

MAX_KNOWN_BLOCKS: Final = 10_000

ReadRunCounts = Callable[[], Awaitable[Sequence[Mapping[str, Count] | None]]]
"""Returns the counts of every run in each owned shard; None for a shard that is not ready."""


def note_opened_entries(meter: SchedulerMeter, entries: Iterable[EntryRecorded]) -> None:
    """Count entries accepted into the frontier."""
    _note(
        meter, log_events.URLS_ACCEPTED, ((each.job_id, each.execution_id, each.reason) for each in entries)
    )


def note_decisions(meter: SchedulerMeter, decisions: Iterable[UrlDecision]) -> None:
    """Count URLs that are not crawled, by reason; exhausted budgets have an event of their own."""
    names_by_event: dict[LogEvent, list[tuple[str, str, str]]] = {}
    for each in decisions:
        is_refused = each.decision == Decision.REFUSED
        event, kind = log_events.URLS_REFUSED if is_refused else log_events.URLS_CLOSED, str(each.reason)
        if each.reason == DecisionReason.BUDGET:
            event, kind = log_events.BUDGET_EXHAUSTED, each.detail
        names_by_event.setdefault(event, []).append((each.job_id, each.execution_id, kind))
    for event, names in names_by_event.items():
        _note(meter, event, names)


def note_failed_requests(meter: SchedulerMeter, outcomes: Sequence[FetchCompleted]) -> None:
    """Count requests without a page, whether or not they are retried."""
    pages = (each for each in outcomes if each.kind != RequestKind.ROBOTS)
    failed = (each for each in pages if not each.has_page and each.outcome not in _OUTCOMES_WITHOUT_FAILURE)
    names = ((each.job_id, each.execution_id, each.error_class or each.outcome) for each in failed)
    _note(meter, log_events.REQUESTS_FAILED, names)


def note_unreachable_robots(meter: SchedulerMeter, failed: Iterable[tuple[FetchCompleted, str]]) -> None:
    """Count failed robots.txt requests that the URLs of a run wait for, by origin and status or error."""
    names = ((each.job_id, each.execution_id, f"{each.origin}: {response}") for each, response in failed)
    _note(meter, log_events.ROBOTS_TXT_UNREACHABLE, names)


def note_settled_pages(meter: SchedulerMeter, pages: Sequence[PageSettled]) -> None:
    """Count settled pages, and those without content."""
    for page in pages:
        event = log_events.PAGES_SETTLED if page.verdict == SettleVerdict.VALID else log_events.PAGES_REJECTED
        meter.note_run_event(event, page.job_id, page.execution_id, page.reason, 1)


class HostWaits:
    """Notes that a host group is not fetched from: once for each run and block."""

    def __init__(self, meter: SchedulerMeter) -> None:
        self._meter = meter
        self._noted: OrderedDict[tuple[str, str, int], None] = OrderedDict()

    def note(self, job_id: str, execution_id: str, group: HostGroup, *, now_ms: int) -> None:
        """Note that a run has URLs of a group, or a request to it; nothing where it is not blocked."""
        until_ms = group.blocked_until_ms
        block = (execution_id, group.name, until_ms)
        if until_ms <= now_ms or block in self._noted:
            return
        self._noted[block] = None
        if len(self._noted) > MAX_KNOWN_BLOCKS:
            self._noted.popitem(last=False)
        until = datetime.fromtimestamp(until_ms / 1000, UTC).isoformat(timespec="seconds")
        kind = f"{group.name} until {until}: {group.block_reason}"
        self._meter.note_run_event(log_events.HOST_WAITS, job_id, execution_id, kind, 1)


def _note(meter: SchedulerMeter, event: LogEvent, names: Iterable[tuple[str, str, str]]) -> None:
    for (job_id, execution_id, kind), count in Counter(names).items():
        meter.note_run_event(event, job_id, execution_id, kind, count)


class RunLogLoop:
    """Writes the run log at intervals, and reports the runs of which nothing is open any more."""

    def __init__(
        self, journal: RunLog, log: Any, *, counts: ReadRunCounts, shards: int, clock: Clock
    ) -> None:
        self._journal = journal
        self._log = log
        self._counts = counts
        self._shards = shards
        self._clock = clock
        self._watched: dict[str, str] = {}

    async def run(self) -> None:
        """Write at intervals until cancelled."""
        try:
            while True:
                await self._clock.sleep(FLUSH_SECONDS)
                await self.run_once()
        finally:
            self._journal.flush()

    async def run_once(self) -> None:
        """Write the events of the interval, then report each of their runs of which nothing is open."""
        self._watched |= {execution_id: job_id for job_id, execution_id in self._journal.flush()}
        if not self._watched:
            return
        shards = await self._counts()
        counts = [each for each in shards if each is not None]
        if not shards or len(counts) < len(shards):
            return  # a shard in takeover or rebuild reports later
        for execution_id, job_id in list(self._watched.items()):
            counts_of_run = [each[execution_id] for each in counts if execution_id in each]
            if any(each.open for each in counts_of_run):
                continue
            del self._watched[execution_id]
            names = {"job_id": job_id, "execution_id": execution_id}
            accepted = sum(each.accepted for each in counts_of_run)
            self._log.emit(
                log_events.NOTHING_OPEN, **names, accepted=accepted, shards=f"{len(counts)} of {self._shards}"
            )

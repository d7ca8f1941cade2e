"""Sweep a shard's queues after a command: close, park or resume the entries of its run.

The state of a run is applied whenever an entry is due; but an entry due in an hour, or behind a hundred
thousand others, would be reached late. So a command is followed by one scan of all open entries, in steps
between which releases continue. Entries in the pipeline are left alone: where one returns against a command,
the shard requests another sweep. Entries that are only in the log are brought by `refill`.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import URLS_DECIDED
from strider.contracts.ids import entry_id
from strider.crawl.runs.control import RunControl
from strider.frontier.models import EntryConclusion, EntryLocation
from strider.messaging.effects import Publish
from strider.runtime.publishing.publisher import EventPublisher
from strider.scheduler.core.entries.url_decisions import UrlDecision, decision_messages
from strider.scheduler.core.release.decision import ReleaseAction, ReleaseDecision, apply_run_state
from strider.scheduler.ports import SchedulerMeter
from strider.scheduler.shard.in_progress import PendingDecision
from strider.scheduler.shard.shard import OwnedShard
from strider.scheduler.shard.store_mapping import entry_conclusion

from .run_log import note_decisions

SCAN_LIMIT: Final = 1_000
"""Entries in one step."""


class QueueSweep:
    """Sweeps one shard, step by step."""

    def __init__(
        self, shard: OwnedShard, run_control: RunControl, *, publisher: EventPublisher, meter: SchedulerMeter
    ) -> None:
        self._shard = shard
        self._run_control = run_control
        self._publisher = publisher
        self._meter = meter
        self._cursor = 0
        self._is_under_way = False

    async def step(self) -> bool:
        """Run one step; return whether more steps follow at once."""
        shard = self._shard
        if shard.sweep_requests.for_queues:
            shard.sweep_requests.for_queues = False
            self._cursor = 0  # a command during a sweep restarts it
            self._is_under_way = self._run_control.affects(await self._open_runs())
        if not self._is_under_way:
            return False
        scan = await shard.scan(cursor=self._cursor, limit=SCAN_LIMIT)
        waiting = [entry for entry, place in scan.entries if place is EntryLocation.QUEUED]
        await self._apply(waiting)
        self._cursor = scan.cursor
        self._is_under_way = scan.cursor != 0
        if not self._is_under_way:
            shard.sweep_requests.for_parked.set()  # entries that were only in the log are not swept yet
        return self._is_under_way

    async def _open_runs(self) -> list[str]:
        shard = self._shard
        with shard.require_ready():
            counts = await shard.working_set.run_counts(shard.number, shard.epoch)
        return [execution_id for execution_id, count in counts.items() if count.open]

    async def _apply(self, waiting: list[EntryRecorded]) -> None:
        shard = self._shard
        now_ms = shard.clock.now_ms()
        requeued: list[EntryConclusion] = []
        decisions: list[UrlDecision] = []
        pending: list[PendingDecision] = []
        for entry in waiting:
            decision = self._decide(entry, now_ms)
            if decision is None:
                continue
            if decision.action is ReleaseAction.CLOSE and decision.transition is not None:
                decisions += decision.transition.decisions
                pending.append(shard.begin_decision(decision.entry, before=entry, cause=f"swept {now_ms}"))
            else:
                requeued.append(entry_conclusion(decision.entry))
        if decisions:
            events = [Publish(URLS_DECIDED, event) for event in decision_messages(decisions, now_ms=now_ms)]
            await self._publisher.publish(events)
            note_decisions(self._meter, decisions)
        await shard.commit_decisions(pending, more=requeued, at_once=True)
        self._meter.count_decision("swept", len(pending) + len(requeued))

    def _decide(self, entry: EntryRecorded, now_ms: int) -> ReleaseDecision | None:
        """Return the decision about an entry; None where another one is pending."""
        if self._shard.decisions.is_pending(entry_id(entry.job_id, entry.url_key)):
            return None
        return apply_run_state(entry, self._run_control.directive_of(entry), now_ms)

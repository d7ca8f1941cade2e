"""What is open in a shard -> dropped, shelved, taken from the shelf as wished -> urls-decided, frontier.

A wish about a run is heeded at every entry's turn; but an entry that is due in an hour, or behind a
hundred thousand others, has its turn late. So a wish is followed by one look at all that is open, in
pieces between which releasing goes on. What is on its way round is left alone: where it comes back
against a wish, the shard asks for another look. What is only in the log is `refilling`'s to bring.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.generated.events import EntryRecorded
from strider.contracts.generated.topics import URLS_DECIDED
from strider.contracts.ids import entry_id
from strider.frontier.models import EntryConclusion, EntryLocation
from strider.messaging.effects import Publish
from strider.scheduler.core import RunControl, Step, Turn, UrlDecision, apply_run_state, decision_messages
from strider.scheduler.ports import Meter, Voice
from strider.scheduler.shard.shard import Decided, OwnedShard
from strider.scheduler.shard.store_mapping import entry_conclusion

from .run_log import note_decisions

LOOKED_AT: Final = 1_000
"""Entries of one piece."""


class QueueSweep:
    """Sweeps one shard, a piece at a time."""

    def __init__(self, shard: OwnedShard, orders: RunControl, *, voice: Voice, meter: Meter) -> None:
        self._shard = shard
        self._orders = orders
        self._publisher = voice
        self._meter = meter
        self._cursor = 0
        self._is_under_way = False

    async def step(self) -> bool:
        """Do a piece; says whether there is more to do at once."""
        shard = self._shard
        if shard.needs_sweep:
            shard.needs_sweep = False
            self._cursor = 0  # a wish in the middle of a sweep begins another
            self._is_under_way = self._orders.affects(await self._open_runs())
        if not self._is_under_way:
            return False
        scan = await shard.scan(cursor=self._cursor, limit=LOOKED_AT)
        waiting = [entry for entry, place in scan.entries if place is EntryLocation.QUEUED]
        await self._apply(waiting)
        self._cursor = scan.cursor
        self._is_under_way = scan.cursor != 0
        if not self._is_under_way:
            shard.refill_requested.set()  # what was only in the log then is not swept yet
        return self._is_under_way

    async def _open_runs(self) -> list[str]:
        shard = self._shard
        with shard.require_ready():
            counts = await shard.working_set.run_counts(shard.number, shard.epoch)
        return [execution_id for execution_id, count in counts.items() if count.open]

    async def _apply(self, waiting: list[EntryRecorded]) -> None:
        shard = self._shard
        now_ms = shard.clock.now_ms()
        back: list[EntryConclusion] = []
        lines: list[UrlDecision] = []
        decided: list[Decided] = []
        for entry in waiting:
            turn = self._turn(entry, now_ms)
            if turn is None:
                continue
            if turn.action is Step.CLOSE and turn.transition is not None:
                lines += turn.transition.decisions
                decided.append(shard.decide(turn.entry, before=entry, cause=f"swept {now_ms}"))
            else:
                back.append(entry_conclusion(turn.entry))
        if lines:
            said = [Publish(URLS_DECIDED, event) for event in decision_messages(lines, now_ms=now_ms)]
            await self._publisher.publish(said)
            note_decisions(self._meter, lines)
        await shard.commit_decisions(decided, more=back, at_once=True)
        self._meter.count_decision("swept", len(decided) + len(back))

    def _turn(self, entry: EntryRecorded, now_ms: int) -> Turn | None:
        """Leave alone what somebody else is deciding about: it comes to its turn with that decision."""
        if self._shard.has_pending_decision(entry_id(entry.job_id, entry.url_key)):
            return None
        return apply_run_state(entry, self._orders.directive_for(entry.job_id, entry.execution_id), now_ms)

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
from strider.scheduler.core import Line, Orders, Step, Turn, messages, obey

from .noting import note_lines
from .ports import Meter, Voice
from .shard import Decided, Shard
from .tellings import conclusion_of

LOOKED_AT: Final = 1_000
"""Entries of one piece."""


class Sweeping:
    """Sweeps one shard, a piece at a time."""

    def __init__(self, shard: Shard, orders: Orders, *, voice: Voice, meter: Meter) -> None:
        self._shard = shard
        self._orders = orders
        self._voice = voice
        self._meter = meter
        self._cursor = 0
        self._is_under_way = False

    async def step(self) -> bool:
        """Do a piece; says whether there is more to do at once."""
        shard = self._shard
        if shard.needs_sweep:
            shard.needs_sweep = False
            self._cursor = 0  # a wish in the middle of a sweep begins another
            self._is_under_way = self._orders.concern(await self._open_runs())
        if not self._is_under_way:
            return False
        scan = await shard.scan(cursor=self._cursor, limit=LOOKED_AT)
        waiting = [entry for entry, place in scan.entries if place is EntryLocation.QUEUED]
        await self._obey(waiting)
        self._cursor = scan.cursor
        self._is_under_way = scan.cursor != 0
        if not self._is_under_way:
            shard.wants_round.set()  # what was only in the log then is not swept yet
        return self._is_under_way

    async def _open_runs(self) -> list[str]:
        shard = self._shard
        with shard.ready():
            counts = await shard.working_set.run_counts(shard.number, shard.epoch)
        return [execution_id for execution_id, count in counts.items() if count.open]

    async def _obey(self, waiting: list[EntryRecorded]) -> None:
        shard = self._shard
        now_ms = shard.time.now_ms()
        back: list[EntryConclusion] = []
        lines: list[Line] = []
        decided: list[Decided] = []
        for entry in waiting:
            turn = self._turn(entry, now_ms)
            if turn is None:
                continue
            if turn.step is Step.CLOSE and turn.ended is not None:
                lines += turn.ended.lines
                decided.append(shard.decide(turn.entry, before=entry, cause=f"swept {now_ms}"))
            else:
                back.append(conclusion_of(turn.entry))
        if lines:
            said = [Publish(URLS_DECIDED, event) for event in messages(lines, now_ms=now_ms)]
            await self._voice.publish(said)
            note_lines(self._meter, lines)
        await shard.settle(decided, more=back, at_once=True)
        self._meter.decided("swept", len(decided) + len(back))

    def _turn(self, entry: EntryRecorded, now_ms: int) -> Turn | None:
        """Leave alone what somebody else is deciding about: it comes to its turn with that decision."""
        if self._shard.is_underway(entry_id(entry.job_id, entry.url_key)):
            return None
        return obey(entry, self._orders.of(entry.job_id, entry.execution_id), now_ms)

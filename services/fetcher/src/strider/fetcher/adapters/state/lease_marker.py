"""Marks of leases: those of loop turns that follow each other go together, and none is made twice.

Requests that were read together are begun one a turn. So marks wait as long as each turn brings another,
which is some microseconds; one that comes alone waits for a single turn.

A mark whose answer was lost may have been made all the same. It is asked for again with the same
nonce, and its time counts from when it was asked for first: so a request's clock never starts later than
the store's does.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.events import FetchRequested
from strider.frontier.models import StartMark, StartResult
from strider.frontier.ports import LeaseMarks
from strider.messaging.ports import Clock

MAX_BATCH: Final = 256
"""Marks in one call."""
MAX_GATHER_SECONDS: Final = 0.02
"""How long a mark waits for others at most, where they come and come."""
KEPT: Final = 10_000
"""Marks without an answer that are remembered; there are as many as messages in hand."""


@fast_dataclass(frozen=True, slots=True)
class StartedLease:
    """A lease that is ours: the request may be made."""

    asked_at: float
    """Monotonic, before the store was asked."""
    now_us: int
    """The one clock, when it answered."""

    def at_us(self, monotonic: float) -> int:
        """Give a moment of ours in the one clock's time."""
        return self.now_us + round((monotonic - self.asked_at) * 1_000_000)


@fast_dataclass(frozen=True, slots=True)
class _UnconfirmedMark:
    """A mark that was asked for and not answered."""

    nonce: str
    asked_at: float


@dataclass(frozen=True, slots=True, eq=False)
class _PendingMark:
    """Somebody who waits for a mark."""

    shard: int
    lease: str
    deadline_ms: int
    asked_at: float
    answer: asyncio.Future[StartMark]


class Leases:
    """The leases that this process marks."""

    def __init__(self, marks: LeaseMarks, *, clock: Clock, process_name: str) -> None:
        self._marks = marks
        self._clock = clock
        self._name = process_name
        """Unlike that of any other process, and of this one's next life."""
        self._number = 0
        self._unanswered: OrderedDict[str, _UnconfirmedMark] = OrderedDict()
        self._pending: list[_PendingMark] = []
        self._gathered = 0
        """How many there were a turn ago."""
        self._calls: set[asyncio.Task[None]] = set()

    async def mark_started(self, request: FetchRequested) -> StartedLease | None:
        """Mark a lease as started; None where it is gone. Raises Unavailable."""
        before = self._unanswered.get(request.lease_id)
        waiting = _PendingMark(
            request.shard,
            request.lease_id,
            request.deadline_ms,
            before.asked_at if before is not None else self._clock.monotonic(),
            asyncio.get_running_loop().create_future(),
        )
        self._pending.append(waiting)
        if len(self._pending) == 1:
            asyncio.get_running_loop().call_soon(self._flush)
        mark = await waiting.answer
        return StartedLease(waiting.asked_at, mark.now_us) if mark.result is StartResult.STARTED else None

    def _flush(self) -> None:
        count, waited_seconds = len(self._pending), self._clock.monotonic() - self._pending[0].asked_at
        if self._gathered < count < MAX_BATCH and waited_seconds < MAX_GATHER_SECONDS:
            self._gathered = count
            asyncio.get_running_loop().call_soon(self._flush)
            return
        self._gathered = 0
        gathered, self._pending = self._pending, []
        calls: dict[tuple[str, int], list[_PendingMark]] = {}
        for waiting in gathered:
            before = self._unanswered.get(waiting.lease)
            calls.setdefault((before.nonce if before else "", waiting.deadline_ms), []).append(waiting)
        for (nonce, deadline_ms), together in calls.items():
            for first in range(0, len(together), MAX_BATCH):
                part = together[first : first + MAX_BATCH]
                call = asyncio.create_task(
                    self._call(part, nonce=nonce or self._new_nonce(part), deadline_ms=deadline_ms)
                )
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)

    def _new_nonce(self, batch: list[_PendingMark]) -> str:
        """Make a nonce for leases that are asked for the first time, and remember it for the next."""
        self._number += 1
        nonce = f"{self._name}:{self._number}"
        for waiting in batch:
            self._unanswered[waiting.lease] = _UnconfirmedMark(nonce, waiting.asked_at)
        while len(self._unanswered) > KEPT:
            self._unanswered.popitem(last=False)
        return nonce

    async def _call(self, batch: list[_PendingMark], *, nonce: str, deadline_ms: int) -> None:
        try:
            marks = await self._marks.mark_started(
                [(waiting.shard, waiting.lease) for waiting in batch], nonce=nonce, deadline_ms=deadline_ms
            )
        except asyncio.CancelledError:
            for waiting in batch:
                waiting.answer.cancel()
            raise
        except Exception as failure:  # noqa: BLE001  # whoever waits for the mark judges it
            for waiting in batch:
                if not waiting.answer.done():
                    waiting.answer.set_exception(failure)
            return
        for waiting, mark in zip(batch, marks, strict=True):
            self._unanswered.pop(waiting.lease, None)
            if not waiting.answer.done():
                waiting.answer.set_result(mark)

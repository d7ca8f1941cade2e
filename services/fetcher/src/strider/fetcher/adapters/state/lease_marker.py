"""Marks leases as started, by compare-and-set in the store, in batches, never twice.

Requests that were polled together start one per iteration of the event loop. So marks are gathered as long as
each iteration adds another, which takes microseconds; a single one waits for one iteration.

A mark whose reply was lost may have been made. It is repeated with the same nonce, and its time counts from
the first attempt: a request's clock never starts later than the store's.
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
"""Longest time that a mark waits for others."""
MAX_UNCONFIRMED: Final = 10_000
"""Unconfirmed marks that are remembered; there are as many as messages in flight."""
MAX_CLOCK_AGE_SECONDS: Final = 10.0
"""Oldest reply of the store by which a lease counts as over: its clock may jump."""


@fast_dataclass(frozen=True, slots=True)
class StartedLease:
    """A lease that was marked for us: the request may be made."""

    requested_at: float
    """When the mark was requested first, in monotonic seconds."""
    now_us: int
    """Time of the store's clock when it replied."""

    def at_us(self, monotonic: float) -> int:
        """Return a monotonic time as a time of the store's clock."""
        return self.now_us + round((monotonic - self.requested_at) * 1_000_000)


@fast_dataclass(frozen=True, slots=True)
class _UnconfirmedMark:
    """A mark that was requested and not confirmed."""

    nonce: str
    requested_at: float


@dataclass(frozen=True, slots=True, eq=False)
class _PendingMark:
    """A mark that is waited for."""

    shard: int
    lease: str
    deadline_ms: int
    requested_at: float
    mark: asyncio.Future[StartMark]


class LeaseMarker:
    """Marks the leases of this process."""

    def __init__(self, marks: LeaseMarks, *, clock: Clock, process_name: str) -> None:
        self._marks = marks
        self._clock = clock
        self._process_name = process_name
        """Unique to this process, restarts included."""
        self._nonce_number = 0
        self._unconfirmed: OrderedDict[str, _UnconfirmedMark] = OrderedDict()
        self._pending: list[_PendingMark] = []
        self._pending_before = 0
        """Number of pending marks one iteration ago."""
        self._calls: set[asyncio.Task[None]] = set()
        self._replied_at: float | None = None
        self._reply_us = 0
        """When the store replied last, in monotonic seconds, and by its clock."""

    def is_over(self, request: FetchRequested) -> bool:
        """Whether the lease of a request has certainly ended: then it need not be marked in vain."""
        if self._replied_at is None:
            return False
        age_seconds = self._clock.monotonic() - self._replied_at
        now_us = self._reply_us + age_seconds * 1_000_000
        return age_seconds < MAX_CLOCK_AGE_SECONDS and now_us >= request.lease_expires_at_ms * 1_000

    async def mark_started(self, request: FetchRequested) -> StartedLease | None:
        """Mark a lease as started; None if it is gone. Raises Unavailable."""
        unconfirmed = self._unconfirmed.get(request.lease_id)
        pending = _PendingMark(
            request.shard,
            request.lease_id,
            request.deadline_ms,
            unconfirmed.requested_at if unconfirmed is not None else self._clock.monotonic(),
            asyncio.get_running_loop().create_future(),
        )
        self._pending.append(pending)
        if len(self._pending) == 1:
            asyncio.get_running_loop().call_soon(self._flush)
        mark = await pending.mark
        return StartedLease(pending.requested_at, mark.now_us) if mark.result is StartResult.STARTED else None

    def _flush(self) -> None:
        count, waited_seconds = len(self._pending), self._clock.monotonic() - self._pending[0].requested_at
        if self._pending_before < count < MAX_BATCH and waited_seconds < MAX_GATHER_SECONDS:
            self._pending_before = count
            asyncio.get_running_loop().call_soon(self._flush)
            return
        self._pending_before = 0
        pending_marks, self._pending = self._pending, []
        calls: dict[tuple[str, int], list[_PendingMark]] = {}
        for pending in pending_marks:
            unconfirmed = self._unconfirmed.get(pending.lease)
            calls.setdefault((unconfirmed.nonce if unconfirmed else "", pending.deadline_ms), []).append(
                pending
            )
        for (nonce, deadline_ms), batch in calls.items():
            for first in range(0, len(batch), MAX_BATCH):
                part = batch[first : first + MAX_BATCH]
                call = asyncio.create_task(
                    self._mark_batch(part, nonce=nonce or self._new_nonce(part), deadline_ms=deadline_ms)
                )
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)

    def _new_nonce(self, batch: list[_PendingMark]) -> str:
        """Return a nonce for leases that are marked for the first time, and remember it."""
        self._nonce_number += 1
        nonce = f"{self._process_name}:{self._nonce_number}"
        for pending in batch:
            self._unconfirmed[pending.lease] = _UnconfirmedMark(nonce, pending.requested_at)
        while len(self._unconfirmed) > MAX_UNCONFIRMED:
            self._unconfirmed.popitem(last=False)
        return nonce

    async def _mark_batch(self, batch: list[_PendingMark], *, nonce: str, deadline_ms: int) -> None:
        try:
            marks = await self._marks.mark_started(
                [(pending.shard, pending.lease) for pending in batch], nonce=nonce, deadline_ms=deadline_ms
            )
        except asyncio.CancelledError:
            for pending in batch:
                pending.mark.cancel()
            raise
        except Exception as failure:  # noqa: BLE001  # passed on to every waiter of the mark
            for pending in batch:
                if not pending.mark.done():
                    pending.mark.set_exception(failure)
            return
        if marks:
            self._replied_at, self._reply_us = self._clock.monotonic(), marks[0].now_us
        for pending, mark in zip(batch, marks, strict=True):
            self._unconfirmed.pop(pending.lease, None)
            if not pending.mark.done():
                pending.mark.set_result(mark)

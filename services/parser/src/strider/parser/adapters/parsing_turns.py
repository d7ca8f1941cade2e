"""Grant pages their turns at the workers, by the time that each sender has used.

A page that may begin is passed to the workers, where pages are parsed in order; so only as many begin as take
a moment. Where too many wait, or too long, those of senders whose pages are expensive are given up, or no
page of others would even be read: the pages of all senders come in one log.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from strider.messaging.ports import Clock
from strider.parser.core.fair_queue import FairQueue
from strider.parser.core.parsing_costs import CostHistory, PageSender
from strider.parser.topology import MAX_WAITING_PAGES, PAGES_PER_WORKER

MAX_BEGUN_SECONDS: Final = 0.25
"""Expected time of the pages that have begun, for each worker; a longer one is alone."""

MAX_WAITING_BYTES: Final = 32 * 1024 * 1024
"""Bytes of pages that wait, above which those of expensive senders are given up."""

MAX_EXPENSIVE_SECONDS: Final = 10.0
"""Longest wait of such a page: it holds a place among the entries in flight, which others need too."""

MIN_CORRECTION_SECONDS: Final = 0.005
"""Smaller differences from the mean of a sender's pages cancel each other out, and are not charged."""

MAX_NOTED_SOURCES: Final = 256

OTHERS_SECONDS: Final = 60.0
"""Time since the last page of another sender after which nothing is given up."""


def _ignore_given_up(sender: PageSender) -> None:
    del sender


@dataclass(slots=True, eq=False)
class ParsingTurn:
    """The turn of one page."""

    source: PageSender
    size_bytes: int
    began_at: float
    """When it began to wait."""
    granted: asyncio.Future[bool] | None = None
    """Of one that waits: whether it may begin."""
    expected_seconds: float = 0.0
    is_waiting: bool = False


class ParsingTurns:
    """Grants turns."""

    def __init__(
        self,
        *,
        workers: int,
        page_seconds: float,
        clock: Clock,
        on_given_up: Callable[[PageSender], None] = _ignore_given_up,
    ) -> None:
        """`page_seconds` is the deadline of a page, which one that ends its worker is charged for.

        `on_given_up` is called with the sender of each page that is given up.
        """
        self._on_given_up = on_given_up
        self._workers = workers
        self._max_begun = workers * PAGES_PER_WORKER
        self._page_seconds = page_seconds
        self._clock = clock
        self._costs = CostHistory(page_seconds=page_seconds)
        self._queue: FairQueue[ParsingTurn] = FairQueue()
        self._waiting_bytes = 0
        self._begun: set[ParsingTurn] = set()
        self._begun_seconds = 0.0
        """Expected time of the pages that have begun."""
        self._unknown: set[PageSender] = set()
        """Sources of begun pages of which nothing is known: one page of each at a time."""
        self._cheap: OrderedDict[PageSender, float] = OrderedDict()
        """Sources that were not expensive when a page of theirs came last, with that time."""

    async def begin(self, source: PageSender, size_bytes: int) -> ParsingTurn | None:
        """Wait for a turn; None where the page is given up."""
        now = self._clock.monotonic()
        self._note_arrival(source, now)
        if not self._queue and self._may_begin(source):
            turn = ParsingTurn(source, size_bytes, now)
            self._queue.serve(source)
            self._begin(turn)
            return turn
        granted = asyncio.get_running_loop().create_future()
        turn = ParsingTurn(source, size_bytes, now, granted, is_waiting=True)
        self._queue.put(source, turn)
        self._waiting_bytes += size_bytes
        self._grant()
        self._give_up_expensive(now)
        try:
            return turn if await granted else None
        except asyncio.CancelledError:
            self._cancel(turn)
            raise

    def end(self, turn: ParsingTurn, seconds: float | None) -> None:
        """End a turn with the time that the page has cost; None where that is unknown."""
        now = self._clock.monotonic()
        if seconds is not None:
            self._costs.add(turn.source, seconds, now=now)
            correction = seconds - turn.expected_seconds
            if abs(correction) >= MIN_CORRECTION_SECONDS:
                self._queue.charge(turn.source, correction)
        self._begun.remove(turn)
        self._begun_seconds = self._begun_seconds - turn.expected_seconds if self._begun else 0.0
        self._unknown.discard(turn.source)
        self._grant()
        self._give_up_expensive(now)

    def reason_of_refusal(self) -> str:
        """Return why a page was given up."""
        return (
            "not parsed: pages of this run or host have taken much parser time in the last minutes"
            f" (deadline of a page: {self._page_seconds:g} s), and those of others wait"
        )

    def _grant(self) -> None:
        while (source := self._queue.next_source()) is not None and self._may_begin(source):
            turn = self._queue.take(source)
            turn.is_waiting = False
            self._waiting_bytes -= turn.size_bytes
            assert turn.granted is not None
            if turn.granted.done():
                continue  # cancelled while it waited
            self._begin(turn)
            turn.granted.set_result(True)

    def _begin(self, turn: ParsingTurn) -> None:
        source = turn.source
        turn.expected_seconds = self._costs.expected_seconds(source, now=self._clock.monotonic())
        self._queue.charge(source, turn.expected_seconds)
        if not self._costs.is_known(source):
            self._unknown.add(source)
        self._begun.add(turn)
        self._begun_seconds += turn.expected_seconds

    def _may_begin(self, source: PageSender) -> bool:
        if len(self._begun) < self._workers:
            return True
        if len(self._begun) >= self._max_begun or source in self._unknown:
            return False
        expected_seconds = self._costs.expected_seconds(source, now=self._clock.monotonic())
        return self._begun_seconds + expected_seconds <= MAX_BEGUN_SECONDS * self._workers

    def _give_up_expensive(self, now: float) -> None:
        """Give up pages of the most expensive senders, the oldest first, while too many wait or too long."""
        if not self._costs.has_expensive or not self._have_others_come(now):
            return
        sources = {source for source, _ in self._queue}
        expenses = {source: self._costs.expense(source, now=now) for source in sources}
        expensive = [turn for source, turn in self._queue if expenses[source]]
        for turn in sorted(expensive, key=lambda each: expenses[each.source], reverse=True):
            is_late = now - turn.began_at > MAX_EXPENSIVE_SECONDS
            if (self._is_full() or is_late) and turn.granted is not None and not turn.granted.done():
                self._remove(turn)
                turn.granted.set_result(False)
                self._on_given_up(turn.source)

    def _note_arrival(self, source: PageSender, now: float) -> None:
        if not self._costs.is_expensive(source, now=now):
            self._cheap[source] = now
            self._cheap.move_to_end(source)
            if len(self._cheap) > MAX_NOTED_SOURCES:
                self._cheap.popitem(last=False)

    def _have_others_come(self, now: float) -> bool:
        """Whether pages of a source that is not expensive have come lately."""
        while self._cheap:
            source = next(reversed(self._cheap))
            if now - self._cheap[source] < OTHERS_SECONDS and not self._costs.is_expensive(source, now=now):
                return True
            del self._cheap[source]
        return False

    def _is_full(self) -> bool:
        return len(self._queue) > MAX_WAITING_PAGES or self._waiting_bytes > MAX_WAITING_BYTES

    def _cancel(self, turn: ParsingTurn) -> None:
        if turn in self._begun:
            self.end(turn, None)
        elif turn.is_waiting:
            self._remove(turn)

    def _remove(self, turn: ParsingTurn) -> None:
        self._queue.remove(turn.source, turn)
        turn.is_waiting = False
        self._waiting_bytes -= turn.size_bytes

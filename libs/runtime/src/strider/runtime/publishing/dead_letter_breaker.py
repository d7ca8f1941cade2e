"""Breaker that stops a consumer loop when too many messages are bad.

Pure. One bad message must not stop a partition; a flood of them must, because it means that a writer or the
service itself is broken, and dead-lettering a whole topic helps no one. Trips on a sequence of bad messages,
or on their share of a window; stays tripped until it is reset.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_SLOTS_PER_WINDOW = 12


@dataclass(frozen=True, slots=True)
class DeadLetterBreakerLimits:
    """Limits of bad messages."""

    consecutive: int = 100
    """Bad ones in a row."""
    failure_share: float = 0.5
    """Bad ones among all of a window, once the window has `min_messages`."""
    min_messages: int = 200
    window_seconds: float = 60.0


@dataclass(slots=True)
class _TimeSlot:
    began_at: float
    good: int = 0
    bad: int = 0


class DeadLetterBreaker:
    """Counts good and bad messages, and trips. Time is an argument."""

    def __init__(self, limits: DeadLetterBreakerLimits) -> None:
        self._limits = limits
        self._slots: deque[_TimeSlot] = deque()
        self._consecutive = 0
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """Return the reason of tripping; None while closed."""
        return self._reason

    def record_success(self, now: float) -> None:
        """Count a message that was done."""
        self._consecutive = 0
        self._slot(now).good += 1

    def record_failure(self, now: float) -> bool:
        """Count a bad message; False where it is one too many and must not be dead-lettered."""
        if self._reason is None:
            self._consecutive += 1
            self._slot(now).bad += 1
            self._reason = self._trip_reason()
        return self._reason is None

    def reset(self) -> None:
        """Forget all counts: the cause was looked at."""
        self._slots.clear()
        self._consecutive = 0
        self._reason = None

    def _trip_reason(self) -> str | None:
        limits = self._limits
        if self._consecutive >= limits.consecutive:
            return f"{self._consecutive} bad messages in a row"
        bad = sum(slot.bad for slot in self._slots)
        seen = bad + sum(slot.good for slot in self._slots)
        if seen >= limits.min_messages and bad >= limits.failure_share * seen:
            return f"{bad} of {seen} messages were bad within {limits.window_seconds:g} s"
        return None

    def _slot(self, now: float) -> _TimeSlot:
        slots = self._slots
        width = self._limits.window_seconds / _SLOTS_PER_WINDOW
        if not slots or now - slots[-1].began_at >= width:
            slots.append(_TimeSlot(now))
            while now - slots[0].began_at >= self._limits.window_seconds:
                slots.popleft()
        return slots[-1]

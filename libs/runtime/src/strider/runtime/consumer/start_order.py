"""In which order messages are started: by key, as they came, or by shares.

Of the messages with one key, one holds it until it is done, and the others queue; a message without a key
waits for no other. What is ready then starts in its order. Or by shares: each message names its claim; one
whose share is used up waits, and those of other senders behind it are started before it. One that has waited
for as long as its claim says is started whatever is free: its handler then finds that it is too late, and
ends it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from math import inf
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from strider.messaging.ports import Clock, Record
from strider.runtime.shares import SharePath, Shares

if TYPE_CHECKING:
    from .messages import InFlightMessage

PLACE_DIVISORS: Final = (8, 4, 4)
"""Parts of the places that one group of senders, one sender of it, and a part of that one leave free."""

MAX_DECODED_MESSAGES: Final = 1_024
"""Messages that are kept decoded while they wait; others are decoded again when they start."""

T = TypeVar("T")


class KeyOrdering(Generic[T]):
    """The holder of each key and the queue behind it; one for each partition, so that revoking drops it."""

    __slots__ = ("_queues",)

    def __init__(self) -> None:
        # None is a held key without a queue: the usual case, which then costs no deque.
        self._queues: dict[bytes, deque[T] | None] = {}

    def acquire(self, key: bytes | None, item: T) -> bool:
        """Take a key for an item; False where the item has to queue behind the holder."""
        if key is None:
            return True
        if key not in self._queues:
            self._queues[key] = None
            return True
        queue = self._queues[key]
        if queue is None:
            queue = self._queues[key] = deque()
        queue.append(item)
        return False

    def release(self, key: bytes | None) -> T | None:
        """Release a key; return its next holder."""
        if key is None:
            return None
        queue = self._queues[key]
        if queue:
            return queue.popleft()
        del self._queues[key]
        return None

    def __len__(self) -> int:
        return len(self._queues)


class Claim(NamedTuple):
    """The share of the places that a message needs."""

    path: SharePath
    """Its first name is a label of metrics: one of a few."""
    max_wait_seconds: float = inf
    """After this time nothing comes of the message: it is started to be ended."""
    event: Any = None
    """The decoded message, which its handler gets; None where that is decoded when it starts."""


ClaimOf = Callable[[Record], Claim]
"""Returns the claim of a message; must not raise, whatever its bytes are."""


class StartOrder(Protocol):
    """Messages that are ready, and which is next."""

    finishes_gaps: bool
    """Whether, when a partition is released, all messages before the last started one are started too."""

    def add(self, message: InFlightMessage) -> None:
        """Add a message that may start, or start again."""

    def pop(self) -> InFlightMessage | None:
        """Take the next message; None if none may start now."""

    def on_worker_free(self, message: InFlightMessage) -> None:
        """Record that a started message has no worker any more."""

    def __len__(self) -> int:
        """Return the number of messages that wait."""

    def __iter__(self) -> Iterator[InFlightMessage]:
        """Return the messages that wait."""


class FirstComeOrder:
    """Messages start in the order in which they became ready."""

    finishes_gaps = True

    def __init__(self) -> None:
        self._ready: deque[InFlightMessage] = deque()

    def add(self, message: InFlightMessage) -> None:
        """Add a message that may start, or start again."""
        self._ready.append(message)

    def pop(self) -> InFlightMessage | None:
        """Take the oldest message."""
        return self._ready.popleft() if self._ready else None

    def on_worker_free(self, message: InFlightMessage) -> None:
        """Do nothing: every worker may take every message."""

    def __len__(self) -> int:
        return len(self._ready)

    def __iter__(self) -> Iterator[InFlightMessage]:
        return iter(self._ready)


class _WaitingMessage(NamedTuple):
    message: InFlightMessage
    added_at: float
    give_up_at: float


class WaitForPlace(NamedTuple):
    """Messages of a group of senders whose share is used up."""

    messages: int
    oldest_at: float
    """Monotonic time at which the oldest began to wait."""


class SharedOrder:
    """Messages start by shares of the workers; among those that may, the one whose sender has least."""

    finishes_gaps = False

    def __init__(self, places: int, claim_of: ClaimOf, *, clock: Clock) -> None:
        self.shares = Shares(places, divisors=PLACE_DIVISORS)
        self._claim_of = claim_of
        self._clock = clock
        self._waiting: dict[SharePath, deque[_WaitingMessage]] = {}
        """By path; the one that was served last comes last."""
        self._count = 0
        self._started: dict[InFlightMessage, SharePath] = {}

    def add(self, message: InFlightMessage) -> None:
        """Add a message that may start, or start again."""
        claim = self._claim_of(message.record)
        if self._count < MAX_DECODED_MESSAGES:
            message.event = claim.event
        now = self._clock.monotonic()
        waiting = _WaitingMessage(message, now, now + claim.max_wait_seconds)
        queue = self._waiting.get(claim.path)
        if queue is None:
            queue = self._waiting[claim.path] = deque()
        queue.append(waiting)
        self._count += 1

    def pop(self) -> InFlightMessage | None:
        """Take the next message whose share has room, or that has waited for too long."""
        path = self._next_path()
        if path is None:
            return None
        queue = self._waiting.pop(path)
        message = queue.popleft().message
        if queue:
            self._waiting[path] = queue
        self._count -= 1
        self.shares.take(path)
        self._started[message] = path
        return message

    def on_worker_free(self, message: InFlightMessage) -> None:
        """Return the place of a message."""
        path = self._started.pop(message, None)
        if path is not None:
            self.shares.give_back(path)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[InFlightMessage]:
        return (waiting.message for queue in self._waiting.values() for waiting in queue)

    def waits(self) -> dict[str, WaitForPlace]:
        """Return the messages whose share is used up, by the first name of their path."""
        found: dict[str, WaitForPlace] = {}
        for path, queue in self._waiting.items():
            if path and self.shares.free_for(path) < 1:
                before = found.get(str(path[0]), WaitForPlace(0, inf))
                oldest_at = min(before.oldest_at, queue[0].added_at)
                found[str(path[0])] = WaitForPlace(before.messages + len(queue), oldest_at)
        return found

    def _next_path(self) -> SharePath | None:
        if not self._waiting:
            return None
        now, shares = self._clock.monotonic(), self.shares
        best: SharePath | None = None
        least: tuple[int, ...] = ()
        for path, queue in self._waiting.items():
            if queue[0].give_up_at <= now:
                return path
            if shares.free_for(path) < 1:
                continue
            held = tuple(shares.held_by(name) for name in path)
            if best is None or held < least:
                best, least = path, held
        return best

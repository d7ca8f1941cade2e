"""What a handler answers: what to say, what closes, what to remember.

A handler decides and returns; the runtime speaks. That is how one piece of code holds the order of
words for every service: `say` acknowledged → `close` acknowledged → `remember` → offset.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from strider.contracts import Topic

from .ports import Header, Record


@dataclass(frozen=True, slots=True)
class Say:
    """One event for one topic; key and partition follow from the topic's declaration."""

    topic: Topic[Any]
    event: Any
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    """Only for topics that are partitioned explicitly."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Everything that follows from one message (or from one batch)."""

    say: Sequence[Say] = ()
    close: Sequence[Say] = ()
    """Spoken only after all of `say` was acknowledged: what closes something is spoken last."""
    remember: Callable[[], Awaitable[None]] | None = None
    """State to write after everything was acknowledged. May raise Unavailable; it is then tried again."""
    outcome: str = "done"
    """A word from a closed list of the service: it becomes a metric label."""


DEAD_LETTERED = "dead_lettered"
"""The outcome of a message that was given up; the runtime alone says it."""

NOTHING = Effects()
"""A message that changes nothing and says nothing."""

Handler = Callable[[Any, Record], Awaitable[Effects]]
BatchHandler = Callable[[Sequence[tuple[Any, Record]]], Awaitable[Effects]]


@dataclass(frozen=True, slots=True)
class Reads:
    """One input of a topology: this topic goes to that method."""

    topic: Topic[Any]
    handler: Handler | None = None
    batch: BatchHandler | None = None
    """Instead of `handler`: takes what one poll brought, as one unit of speaking and remembering."""

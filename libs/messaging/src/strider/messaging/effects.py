"""What a handler answers: what to say, what closes, what to remember.

A handler decides and returns; the runtime speaks. That is how one piece of code holds the order of
words for every service: `say` acknowledged → `close` acknowledged → `remember` → offset.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from strider.contracts import Topic
from strider.contracts.avro.codec import EncodedMessage
from strider.contracts.fast_dataclass import fast_dataclass

from .ports import Header, Record


@fast_dataclass(frozen=True, slots=True)
class Publish:
    """One event for one topic; key and partition follow from the topic's declaration."""

    topic: Topic[Any]
    event: Any
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    """Only for topics that are partitioned explicitly."""
    encoded: EncodedMessage | None = None
    """The event's bytes, where they are there already (spliced): they are sent as they are, and the
    event only says key, partition and headers."""
    cause: str = ""
    """What this event alone follows from, where it is said for itself: its id, so that none is computed."""


@fast_dataclass(frozen=True, slots=True)
class PublishRaw:
    """Bytes for one topic as they are, or a tombstone: there is no event that key and place follow from."""

    topic: Topic[Any]
    key: bytes | None
    value: bytes | None
    """None is a tombstone; only compacted topics take one, and only for a key."""
    headers: tuple[Header, ...] = ()
    """Those that a reader of the value needs (its schema's), and the topic's own."""
    partition: int | None = None
    """Named for every topic that is not partitioned by its key's hash."""


PublishRequest = Publish | PublishRaw
"""Whatever can be said."""


@fast_dataclass(frozen=True, slots=True)
class Effects:
    """Everything that follows from one message (or from one batch)."""

    publish: Sequence[PublishRequest] = ()
    publish_last: Sequence[PublishRequest] = ()
    """Spoken only after all of `say` was acknowledged: what closes something is spoken last."""
    after_ack: Callable[[], Awaitable[None]] | None = None
    """State to write after everything was acknowledged. May raise Unavailable; it is then tried again."""
    outcome: str = "done"
    """A word from a closed list of the service: it becomes a metric label."""


DEAD_LETTERED = "dead_lettered"
"""The outcome of a message that was given up; the runtime alone says it."""

NO_EFFECTS = Effects()
"""A message that changes nothing and says nothing."""

Handler = Callable[[Any, Record], Awaitable[Effects]]
"""Takes the event, and the record that it was decoded from: raw value and headers are the record's."""

BatchHandler = Callable[[Sequence[tuple[Any, Record]]], Awaitable[Effects]]


@fast_dataclass(frozen=True, slots=True)
class Subscription:
    """One input of a topology: this topic goes to that method."""

    topic: Topic[Any]
    handler: Handler | None = None
    batch_handler: BatchHandler | None = None
    """Instead of `handler`: takes what one poll brought, as one unit of speaking and remembering."""
    accepts_tombstones: bool = False
    """Whether a tombstone reaches the handler, as the event None; else it is a bad message."""
    is_ordered_by_key: bool = True
    """Whether messages of one key wait for each other, as they must wherever one builds on another."""
    fields: tuple[str, ...] = ()
    """What the handler mostly looks at, fields within a field by a dot: the others are read, and judged,
    once it asks for one. Empty means that all are read at once."""
    is_public: bool = False
    """Whether strangers write here: bytes that are no event then speak of whoever sent them, and of nothing
    here, so that no number of them stops the others' messages."""

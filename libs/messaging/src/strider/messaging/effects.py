"""Effects that a handler returns: events to publish, events to publish last, state to write.

A handler decides and returns; the consumer loop publishes. So one piece of code holds the order of delivery
for every service: `publish` acknowledged → `publish_last` acknowledged → `after_ack` → offset.
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
    """Bytes of the event where it is encoded already (spliced): they are sent as they are, and the event only
    gives key, partition and headers.
    """
    cause: str = ""
    """Id of the event, where it does not follow from the handled message alone; empty: an id is derived."""


@fast_dataclass(frozen=True, slots=True)
class PublishRaw:
    """Bytes for one topic as they are, or a tombstone: key and partition follow from no event."""

    topic: Topic[Any]
    key: bytes | None
    value: bytes | None
    """None is a tombstone; only compacted topics take one, and only for a key."""
    headers: tuple[Header, ...] = ()
    """Those that a reader of the value needs (its schema's), and the topic's own."""
    partition: int | None = None
    """Required for every topic that is not partitioned by its key's hash."""


PublishRequest = Publish | PublishRaw
"""A request to publish, of any kind."""


@fast_dataclass(frozen=True, slots=True)
class Effects:
    """Everything that follows from one message (or from one batch)."""

    publish: Sequence[PublishRequest] = ()
    publish_last: Sequence[PublishRequest] = ()
    """Published only after all of `publish` was acknowledged: what closes an entry comes last."""
    after_ack: Callable[[], Awaitable[None]] | None = None
    """Writes state after everything was acknowledged; may raise Unavailable, and is then called again."""
    outcome: str = "done"
    """A word from a closed list of the service: it becomes a metric label."""


@fast_dataclass(frozen=True, slots=True)
class GivenUp:
    """The reason for dead-lettering a message, as its service may report it."""

    reason: str
    """As in the dead letter: one of DECODE_REASONS, or what became of the handler."""
    detail: str = ""
    """The fault in the bytes; empty where they were decoded: errors of code may name what is secret."""


DEAD_LETTERED = "dead_lettered"
"""Outcome of a message that was dead-lettered; set by the consumer loop only."""

NO_EFFECTS = Effects()
"""Effects of a message that changes and publishes nothing."""


def merge_effects(several: Sequence[Effects]) -> Effects:
    """Return the effects of several messages as those of one, in their order."""
    if len(several) == 1:
        return several[0]
    writes = [each.after_ack for each in several if each.after_ack is not None]

    async def write_all() -> None:
        for write in writes:
            await write()

    return Effects(
        publish=[request for each in several for request in each.publish],
        publish_last=[request for each in several for request in each.publish_last],
        after_ack=write_all if writes else None,
    )


Handler = Callable[[Any, Record], Awaitable[Effects]]
"""Takes the event, and the record that it was decoded from, with its raw value and headers."""

BatchHandler = Callable[[Sequence[tuple[Any, Record]]], Awaitable[Effects]]


@fast_dataclass(frozen=True, slots=True)
class Subscription:
    """One input of a service: a topic and its handler."""

    topic: Topic[Any]
    handler: Handler | None = None
    batch_handler: BatchHandler | None = None
    """Instead of `handler`: takes the records of one poll, published and committed as a whole."""
    accepts_tombstones: bool = False
    """Whether a tombstone reaches the handler, as the event None; else it is a bad message."""
    is_ordered_by_key: bool = True
    """Whether messages of one key wait for each other, as they must where one builds on another."""
    fields: tuple[str, ...] = ()
    """Fields that the handler mostly uses, nested ones with dots: the others are decoded and validated on
    first access. Empty means that all are decoded at once.
    """
    is_public: bool = False
    """Whether anyone may write to the topic: no message of it counts for the dead-letter breaker, whatever it
    fails with, so that no number of them stops the others; and its headers are not believed.
    """
    redact: Callable[[bytes], bytes] | None = None
    """Removes secrets from the value of a message that becomes a dead letter; None where it has none."""

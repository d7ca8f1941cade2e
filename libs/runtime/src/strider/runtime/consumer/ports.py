"""What the consumer loop asks of its service besides a bus: a codec, hooks, places, meters, traces.

Each is small, has a default that does nothing where nothing is a sensible answer, and is implemented
elsewhere: the codec in `strider.contracts`, metrics and traces in the bootstrap, objects in `stores`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from strider.contracts import Topic, UnknownSchema
from strider.messaging.effects import NO_EFFECTS, Effects
from strider.messaging.ports import Header, Record, TopicPartition


class EncodedValue(Protocol):
    """A value ready to be sent, and the headers that say how to read it."""

    @property
    def value(self) -> bytes | None:
        """Bytes to send; None is a tombstone."""

    @property
    def headers(self) -> tuple[Header, ...]:
        """Headers that a reader of the value needs."""


class MessageCodec(Protocol):
    """Events to bytes and back; raises EncodeError, DecodeError and UnknownSchema."""

    def encode(self, topic: Topic[Any], event: Any) -> EncodedValue:
        """Turn an event into the bytes of its topic."""

    def decode(
        self,
        topic: Topic[Any],
        value: bytes | None,
        headers: Sequence[Header],
        *,
        only: tuple[str, ...] = (),
    ) -> Any:
        """Turn bytes of a topic into an event."""


class SchemaSource(Protocol):
    """Where schemas of other writers come from: the `schemas` topic, or a registry."""

    async def find(self, unknown: UnknownSchema) -> bool:
        """Read what there is *now*, to its end, and teach the codec; True where the schema was there.

        Raises Unavailable where that could not be read: absent is only what was looked for.
        """


class DeadLetterObjectStore(Protocol):
    """Where values go that are too large for a dead letter."""

    async def put(self, content: bytes) -> str:
        """Store content, durably, and give the reference that finds it again. May raise Unavailable."""


class Tracer(Protocol):
    """Makes a message's trace the current one while it is worked on."""

    def handling(self, record: Record, *, group: str = "") -> AbstractContextManager[None]:
        """Make the record's trace current for as long as the context lasts."""

    def headers(self) -> tuple[Header, ...]:
        """Give the headers (traceparent) that what is said now must carry."""


class ConsumerMeter(Protocol):
    """What the loop counts. Called often: must cost little and never raise."""

    def handled(self, topic: str, outcome: str, seconds: float) -> None:
        """Count a message (or each one of a batch) as done, `seconds` after its handler was called."""

    def in_flight(self, messages: int, size_bytes: int, running: int) -> None:
        """Set what was read and is not done yet, and how many handlers run; about once a poll."""

    def dead_lettered(self, topic: str, reason: str) -> None:
        """Count a message whose dead letter was acknowledged."""

    def lost(self, topic: str, partition: int, messages: int) -> None:
        """Count a loss event and the messages that it names."""

    def lag(self, topic: str, partition: int, messages: int | None) -> None:
        """Set how many messages are from the first open one to the end; None: the partition has gone."""

    def paused(self, reason: str, *, is_paused: bool) -> None:
        """Tell that a stated pause begins or ends; `reason` is one word."""

    def rebalanced(self, partitions: int) -> None:
        """Count a rebalance that left so many partitions here."""

    def commit_failed(self, why: str) -> None:
        """Count a commit that failed: `not_owned` or `unavailable`."""

    def retried(self, part: str) -> None:
        """Count a message that could not be finished because this part is unavailable."""


class ShardHooks(Protocol):
    """What a topology does when shards come and go (sharded groups only)."""

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        """Get ready; no record of these shards is handled before this returns.

        Called once for each shard, side by side, so that a shard opens as soon as it is ready. An
        eager group gives everything back on each rebalance, so what comes is often what just went:
        a shard's next epoch being the successor of the last one proves that nobody wrote meanwhile.
        May raise Unavailable (it is called again) or Fenced (the shard stays closed).

        It may take as long as it needs while it shows that it gets on: whatever takes longer than the
        stall threshold (STALL_THRESHOLD, 5 min) has to call `process.heartbeat.beat()` now and then
        (`TableReader(…, on_progress=lambda _: process.heartbeat.beat())`). Until it returns the process
        is not ready; where nothing beats and nothing else moves, the watchdog takes it for a stall.
        """

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        """Let go: everything in hand was finished or abandoned, and somebody else may begin.

        Half a minute is for all of them: close them side by side. What is not closed by then is fenced by
        whoever has the shard next.
        """


class OnGivenUp(Protocol):
    """Says what a service has to say when a message of its goes to the dead letters."""

    async def __call__(self, record: Record, reason: str) -> Effects:
        """Decide what follows from giving the message up; may raise Unavailable."""


class OnCaughtUp(Protocol):
    """Hears how far its group has come, for whoever must know that nothing lies unread."""

    def __call__(self, partition: TopicPartition, as_of: float) -> None:
        """Take note: all that lay in a partition at this (monotonic) time is done, and more may be.

        Called every few seconds for each partition that is read here. Must cost little and never raise.
        """


class NoSchemaSource:
    """For processes that know every schema they will ever meet."""

    async def find(self, unknown: UnknownSchema) -> bool:  # noqa: ARG002  # the port's shape
        """Find nothing."""
        return False


class NoTracer:
    """No traces."""

    def handling(self, record: Record, *, group: str = "") -> AbstractContextManager[None]:  # noqa: ARG002  # same
        """Change nothing."""
        return _UNCHANGED

    def headers(self) -> tuple[Header, ...]:
        """Carry nothing on."""
        return ()


_UNCHANGED = nullcontext()


class NoConsumerMeter:
    """Counts nothing."""

    def _ignore(self, *_: object, **__: object) -> None:
        """Take anything."""

    handled = in_flight = dead_lettered = lost = lag = paused = rebalanced = commit_failed = retried = _ignore


class NoShardHooks:
    """For groups whose members keep nothing between messages."""

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        """Be ready at once."""

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        """Let go of nothing."""


def ignore_caught_up(partition: TopicPartition, as_of: float) -> None:
    """Keep no account of how far the group has come."""


async def say_nothing(record: Record, reason: str) -> Effects:  # noqa: ARG001  # the port's shape
    """Leave a message that was given up to its dead letter alone."""
    return NO_EFFECTS


def shards_of(partitions: frozenset[TopicPartition]) -> frozenset[int]:
    """Shard numbers of partitions of co-partitioned topics."""
    return frozenset(partition.partition for partition in partitions)

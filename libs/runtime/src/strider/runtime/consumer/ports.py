"""Ports of the consumer loop besides the bus: codec, shard hooks, metrics, traces.

Each is small, has a default that does nothing where that makes sense, and is implemented elsewhere: the codec
in `strider.contracts`, metrics and traces in `observability`, objects in a library of stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, runtime_checkable

from strider.contracts import Topic, UnknownSchema
from strider.messaging.effects import NO_EFFECTS, Effects, GivenUp
from strider.messaging.ports import Header, Record, TopicPartition

_UNCHANGED = nullcontext()


class EncodedValue(Protocol):
    """A value ready to be sent, and the headers that a reader of it needs."""

    @property
    def value(self) -> bytes | None:
        """Bytes to send; None is a tombstone."""

    @property
    def headers(self) -> tuple[Header, ...]:
        """Headers that a reader of the value needs."""


class MessageCodec(Protocol):
    """Encodes and decodes events; raises EncodeError, DecodeError and UnknownSchema."""

    def encode(self, topic: Topic[Any], event: Any) -> EncodedValue:
        """Encode an event for its topic."""

    def decode(
        self,
        topic: Topic[Any],
        value: bytes | None,
        headers: Sequence[Header],
        *,
        only: tuple[str, ...] = (),
    ) -> Any:
        """Decode a value of a topic."""


class DeadLetterBodyStore(Protocol):
    """Stores values that are too large for a dead letter."""

    async def put(self, content: bytes) -> str:
        """Store content durably and return its reference; may raise Unavailable."""

    async def close(self) -> None:
        """Start no more calls."""


class Tracer(Protocol):
    """Makes a message's trace the current one while it is handled."""

    def handling(self, record: Record, *, group: str = "") -> AbstractContextManager[None]:
        """Make the record's trace current while the context lasts."""

    def headers(self) -> tuple[Header, ...]:
        """Return the headers (traceparent) for events published now."""


class ConsumerMeter(Protocol):
    """Metrics of a consumer loop. Called often: must cost little and never raise."""

    def handled(self, topic: str, outcome: str, seconds: float) -> None:
        """Count a message (or each one of a batch) as done, `seconds` after its handler was called."""

    def in_flight(self, messages: int, size_bytes: int, running: int) -> None:
        """Set how many messages are read and not done, and how many handlers run; about once a poll."""

    def waiting(self, senders: str, messages: int, seconds: float) -> None:
        """Set how many messages of a group of senders wait for a place, and the longest for how long."""

    def dead_lettered(self, topic: str, reason: str) -> None:
        """Count a message whose dead letter was acknowledged."""

    def lost(self, topic: str, partition: int, messages: int) -> None:
        """Count a retention loss and the messages in its range."""

    def batch_skipped(self, topic: str) -> None:
        """Count a record batch that was skipped, because it is too large or cannot be parsed."""

    def log_truncated(self, topic: str) -> None:
        """Count a log that was found to end before the offset up to which it was read."""

    def lag(self, topic: str, partition: int, messages: int | None) -> None:
        """Set the lag from the first incomplete message to the end; None: the partition was revoked."""

    def paused(self, reason: str, *, is_paused: bool) -> None:
        """Record that a pause begins or ends; `reason` is one word."""

    def rebalanced(self, partitions: int) -> None:
        """Count a rebalance that left so many partitions here."""

    def commit_failed(self, why: str) -> None:
        """Count a commit that failed: `not_owned` or `unavailable`."""

    def retried(self, part: str) -> None:
        """Count a message that has to wait because this dependency is unavailable."""


class ShardHooks(Protocol):
    """Callbacks of a service when shards are assigned and revoked (sharded groups only)."""

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        """Take over shards; no record of them is handled before this returns.

        Called once for each shard, concurrently, so that a shard opens as soon as it is ready. An eager group
        revokes everything on each rebalance, so an assigned shard is often one that was just revoked: if its
        next epoch is the successor of the last one, there was no other writer in between. May raise
        Unavailable (it is called again) or ShardFenced (the shard stays closed).

        It may take as long as it needs while it shows progress: whatever takes longer than the stall
        threshold (STALL_THRESHOLD, 5 min) has to call `context.heartbeat.beat()` now and then
        (`CompactedTableReader(…, on_progress=lambda _: context.heartbeat.beat())`). Until it returns the
        process is not ready; where nothing beats and nothing else moves, the watchdog takes it for a stall.
        """

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        """Close shards: everything in flight was finished or abandoned, and another owner may begin.

        All of them together have half a minute: close them concurrently. The next owner fences what is not
        closed by then.
        """


@runtime_checkable
class SuspendableShardHooks(Protocol):
    """Further callbacks of a service that keeps its shards over rebalances which leave them where they are.

    Without them each rebalance closes every shard of every member, and the owners take them again.
    """

    async def on_shards_suspended(self, shards: frozenset[int]) -> frozenset[int]:
        """Stop all work on shards while the group rebalances, and return those that may be resumed.

        Everything in flight was finished and none of it abandoned. A shard that cannot be kept as it is (it
        is being rebuilt) is left out, and closed by `on_shards_lost`.
        """

    async def on_shards_resumed(self, shards: frozenset[int]) -> None:
        """Continue suspended shards: the group assigned them again, and to no other member between.

        Called like `on_shards_taken`. Suspended shards that move are closed by `on_shards_lost` instead.
        """


class OnGivenUp(Protocol):
    """Effects that a service adds when one of its messages is dead-lettered."""

    async def __call__(self, record: Record, failure: GivenUp) -> Effects:
        """Return the additional effects of dead-lettering a message; may raise Unavailable."""


class OnCaughtUp(Protocol):
    """Receives how far the group has come, for services that need to know that nothing lies unread."""

    def __call__(self, partition: TopicPartition, as_of: float) -> None:
        """Note that all that lay in a partition at this (monotonic) time is done; more may be.

        Called every few seconds for each assigned partition. Must cost little and never raise.
        """


class ReadGate:
    """Whether a loop reads on; a service closes it while others are busy with what it has published.

    What was read before is handled all the same. A closed gate is no failure: the process stays ready, and
    the watchdog accepts it as a reason why messages wait.
    """

    def __init__(self) -> None:
        self._reason = ""
        self._on_open: list[Callable[[], None]] = []

    @property
    def is_open(self) -> bool:
        """Whether more may be read."""
        return not self._reason

    @property
    def reason(self) -> str:
        """Reason why nothing more is read; empty while it is open."""
        return self._reason

    def on_open(self, callback: Callable[[], None]) -> None:
        """Call this whenever the gate is opened."""
        self._on_open.append(callback)

    def close(self, reason: str) -> None:
        """Let nothing more be read; the reason is a sentence."""
        self._reason = reason

    def open(self) -> None:
        """Let the loop read on."""
        if self._reason:
            self._reason = ""
            for callback in self._on_open:
                callback()


class NoSchemaSource:
    """Schema source of processes that know every schema they will meet."""

    async def find(self, *unknown: UnknownSchema) -> bool:  # noqa: ARG002  # the port's shape
        """Return False."""
        return False


class NoTracer:
    """Tracer that does nothing."""

    def handling(self, record: Record, *, group: str = "") -> AbstractContextManager[None]:  # noqa: ARG002  # same
        """Change nothing."""
        return _UNCHANGED

    def headers(self) -> tuple[Header, ...]:
        """Return no headers."""
        return ()


class NoConsumerMeter:
    """Metrics that are not counted."""

    def _ignore(self, *_: object, **__: object) -> None:
        """Ignore all arguments."""

    handled = in_flight = waiting = dead_lettered = lost = batch_skipped = log_truncated = lag = _ignore
    paused = rebalanced = commit_failed = retried = _ignore


class NoShardHooks:
    """Hooks for groups whose members keep no state between messages."""

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        """Return at once."""

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        """Return at once."""


def ignore_caught_up(partition: TopicPartition, as_of: float) -> None:
    """Ignore how far the group has come."""


async def no_given_up_effects(record: Record, failure: GivenUp) -> Effects:  # noqa: ARG001  # the port's shape
    """Return no effects beside the dead letter."""
    return NO_EFFECTS


def shards_of(partitions: frozenset[TopicPartition]) -> frozenset[int]:
    """Return the shard numbers of partitions of co-partitioned topics."""
    return frozenset(partition.partition for partition in partitions)

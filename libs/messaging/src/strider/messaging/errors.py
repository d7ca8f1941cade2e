"""Errors that no message causes: infrastructure, ownership of shards, startup.

    InfrastructureError
    ├── Unavailable        a dependency does not respond: pause, retry for ever, not ready
    ├── ShardFenced        another process owns this shard now: stop writing, release it
    ├── PartitionNotOwned  a commit for a partition that was reassigned: harmless, counted
    ├── UnreadRange        offsets that were not and cannot be read: a loss event names the range
    │   ├── OffsetLost     the log starts past the committed offset
    │   └── BatchTooLarge  a record batch exceeds its bound when it is decompressed
    ├── OffsetMissing      the group has no committed offset: `strider topics apply` was not run
    └── StartRefused       a fact that only a person can change (partition count, settings)

A bad message is not here (`strider.contracts.errors`), and a site that times out is no error at
all but an outcome. Adapters map every library error of their kind to one of these, so that
`except Exception` is needed in the consumer loop alone.
"""

from __future__ import annotations


class InfrastructureError(Exception):
    """Root of the errors of infrastructure and startup."""


class Unavailable(InfrastructureError):
    """A dependency did not respond; `dependency` is its name in readiness (kafka, redis, postgres …)."""

    def __init__(self, dependency: str, detail: str) -> None:
        super().__init__(f"{dependency} is unavailable: {detail}")
        self.dependency = dependency
        self.detail = detail


class ShardFenced(InfrastructureError):
    """The broker refused a write because a newer owner has taken the shard."""

    def __init__(self, shard: int) -> None:
        super().__init__(f"shard {shard} has a newer owner")
        self.shard = shard


class PartitionNotOwned(InfrastructureError):
    """A commit was refused: the group has assigned the partitions to another member."""


class UnreadRange(InfrastructureError):
    """Offsets `first` to `last` of a partition cannot be read; reading continues at `resume_at`."""

    def __init__(self, detail: str, topic: str, partition: int, *, first: int, last: int) -> None:
        super().__init__(f"{topic}[{partition}]: {detail}")
        self.topic = topic
        self.partition = partition
        self.first = first
        self.last = last

    @property
    def resume_at(self) -> int:
        """Return the offset at which reading continues."""
        return self.last + 1

    @property
    def messages(self) -> int:
        """Return how many offsets the range has; compaction and markers leave fewer messages."""
        return max(0, self.last + 1 - self.first)


class OffsetLost(UnreadRange):
    """Retention or a deleted topic removed messages that were never read."""

    def __init__(self, topic: str, partition: int, *, wanted: int, available: int) -> None:
        detail = f"offsets {wanted} to {available - 1} are gone unread"
        super().__init__(detail, topic, partition, first=wanted, last=available - 1)


class BatchTooLarge(UnreadRange):
    """A record batch is larger than its bound when it is decompressed; it still stands in the log."""

    def __init__(
        self,
        topic: str,
        partition: int,
        *,
        first: int,
        last: int,
        codec: str,
        compressed_bytes: int,
        limit_bytes: int,
    ) -> None:
        detail = (
            f"offsets {first} to {last} are skipped unread: "
            f"their batch of {compressed_bytes} bytes ({codec}) "
            f"takes more than {limit_bytes} bytes when it is decompressed (STRIDER_MAX_DECOMPRESSED_BATCH_MB)"
        )
        super().__init__(detail, topic, partition, first=first, last=last)
        self.codec = codec
        self.compressed_bytes = compressed_bytes
        self.limit_bytes = limit_bytes


class OffsetMissing(InfrastructureError):
    """A group without a committed offset, for a partition of a topic that it must not skip."""

    def __init__(self, group: str, topic: str, partition: int) -> None:
        super().__init__(
            f"group {group} has no committed offset for {topic}[{partition}]; run: strider topics apply"
        )
        self.group = group
        self.topic = topic
        self.partition = partition


class StartRefused(InfrastructureError):
    """The process must not start like this; the message says what to change."""

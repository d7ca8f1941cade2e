"""Errors that no message causes: infrastructure, ownership of shards, startup.

    InfrastructureError
    ├── Unavailable        a dependency does not respond: pause, retry for ever, not ready
    │   └── PartitionUnavailable   one partition cannot be read now: the others continue
    ├── ShardFenced        another process owns this shard now: stop writing, release it
    ├── PartitionNotOwned  a commit for a partition that was reassigned: harmless, counted
    ├── UnreadRange        offsets that were not and cannot be read: a loss event names the range
    │   ├── OffsetLost     the log starts past the committed offset
    │   ├── LogTruncated   the log ends before the committed offset: it has lost its tail
    │   └── UnreadBatch    a record batch that is skipped; it still stands in the log
    │       ├── BatchTooLarge    it exceeds the bound of bytes when it is decompressed
    │       ├── TooManyRecords   it has more records than a public topic takes in a batch
    │       └── BatchUnreadable  it has the right checksum, and its records cannot be parsed
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


class PartitionUnavailable(Unavailable):
    """One partition cannot be read at the moment; the others can."""

    def __init__(self, topic: str, partition: int, detail: str) -> None:
        super().__init__("kafka", f"{topic}[{partition}]: {detail}")
        self.topic = topic
        self.partition = partition


class ShardFenced(InfrastructureError):
    """The broker refused a write because a newer owner has taken the shard."""

    def __init__(self, shard: int) -> None:
        super().__init__(f"shard {shard} has a newer owner")
        self.shard = shard


class PartitionNotOwned(InfrastructureError):
    """A commit was refused: the group has assigned the partitions to another member."""


class UnreadRange(InfrastructureError):
    """Offsets `first` to `last` of a partition cannot be read; reading continues at `resume_at`."""

    def __init__(
        self, detail: str, topic: str, partition: int, *, first: int, last: int, resume_at: int | None = None
    ) -> None:
        super().__init__(f"{topic}[{partition}]: {detail}")
        self.topic = topic
        self.partition = partition
        self.first = first
        self.last = last
        self.resume_at = last + 1 if resume_at is None else resume_at

    @property
    def messages(self) -> int:
        """Return how many offsets the range has; compaction and markers leave fewer messages."""
        return max(0, self.last + 1 - self.first)


class OffsetLost(UnreadRange):
    """Retention or a deleted topic removed messages that were never read."""

    def __init__(self, topic: str, partition: int, *, wanted: int, available: int) -> None:
        detail = f"offsets {wanted} to {available - 1} are gone unread"
        super().__init__(detail, topic, partition, first=wanted, last=available - 1)


class LogTruncated(UnreadRange):
    """A log ends before an offset up to which it was read: a broker lost its tail, or the topic is another.

    What stood from `resume_at` on is gone. Messages written there since are new, and are read.
    """

    def __init__(self, topic: str, partition: int, *, wanted: int, end: int, resume_at: int) -> None:
        detail = (
            f"the log was read up to offset {wanted - 1} and ends at {end} now: "
            f"what stood from {resume_at} to {wanted - 1} is gone; reading continues at {resume_at}"
        )
        super().__init__(detail, topic, partition, first=resume_at, last=wanted - 1, resume_at=resume_at)
        self.end = end


class UnreadBatch(UnreadRange):
    """A record batch is skipped unread; it still stands in the log. `why` completes "their batch …"."""

    def __init__(
        self,
        topic: str,
        partition: int,
        *,
        first: int,
        last: int,
        codec: str,
        compressed_bytes: int,
        why: str,
    ) -> None:
        detail = (
            f"offsets {first} to {last} are skipped unread: "
            f"their batch of {compressed_bytes} bytes ({codec}) {why}"
        )
        super().__init__(detail, topic, partition, first=first, last=last)
        self.codec = codec
        self.compressed_bytes = compressed_bytes
        self.why = why


class BatchTooLarge(UnreadBatch):
    """A record batch is larger than its bound when it is decompressed."""


class TooManyRecords(UnreadBatch):
    """A record batch has more records than a batch of a public topic may have."""


class BatchUnreadable(UnreadBatch):
    """A record batch arrived as it was written, and is no sequence of records."""


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

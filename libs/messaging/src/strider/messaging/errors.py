"""Errors that no message causes: infrastructure, ownership of shards, startup.

    InfrastructureError
    ├── Unavailable        a dependency does not respond: pause, retry for ever, not ready
    ├── ShardFenced        another process owns this shard now: stop writing, release it
    ├── PartitionNotOwned  a commit for a partition that was reassigned: harmless, counted
    ├── OffsetLost         the log starts past the committed offset: a loss event names the range
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


class OffsetLost(InfrastructureError):
    """Retention or a deleted topic removed messages that were never read."""

    def __init__(self, topic: str, partition: int, *, wanted: int, available: int) -> None:
        super().__init__(f"{topic}[{partition}]: offsets {wanted} to {available - 1} are gone unread")
        self.topic = topic
        self.partition = partition
        self.wanted = wanted
        self.available = available


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

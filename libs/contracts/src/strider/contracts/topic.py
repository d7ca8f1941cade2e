"""Model of a topic registry entry: consumers, key, shard and headers of a topic.

The entries are generated from `schemas/topics/*.yaml` into `generated/topics.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, Protocol, Self, TypeVar


class Event(Protocol):
    """A generated event class: a frozen dataclass with an Avro schema."""

    SCHEMA_NAME: ClassVar[str]
    """File name under `schemas/avro` without extension, with version: `page-fetched.v1`."""

    def to_record(self) -> dict[str, Any]:
        """Return the values as Avro writes them."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the event from values as Avro has read them."""


E = TypeVar("E")

ANYONE: Final = "anyone"
"""Writer of a public topic: every user that the broker knows."""


@dataclass(frozen=True, slots=True)
class TopicReader:
    """One way in which a service consumes a topic."""

    service: str
    group: str | None = None
    """Its consumer group; None where it consumes without a group."""
    mode: str = "group"
    """`group`, or without one: `table` (latest by key, to the end) or `whole` (every instance reads all)."""
    sharded: bool = False
    """Whether the group's partitions are assigned by shard, together with its other sharded topics."""
    gates: str = "none"
    """Effect of its lag: `release` (holds back all requests), `shard` (those of that shard), `raw_seeds`
    (seeds of senders who are not owners), `completion` (ends of runs) or `none`.
    """
    initial: str = "earliest"
    """Where a group without a committed offset begins; `topics apply` commits it."""
    planned: bool = False
    """Whether no code consumes it in this way yet."""


@dataclass(frozen=True, slots=True)
class Topic(Generic[E]):
    """One topic, as declared in its YAML file."""

    name: str
    value: type[E]
    schema_name: str
    description: str
    partitioner: str
    """`key` (Kafka's hash of it), `shard` (see `shard_of`) or `explicit` (the writer chooses the partition).
    """
    cleanup: str
    """`delete` or `compact`."""
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    """Names of the services, without planned ones; `read_by` has the details, planned ones included."""
    max_bytes: int
    partitions: int | None = None
    """Fixed number of partitions; None means the number of shards."""
    compression: str = "zstd"
    accepts_json: bool = False
    profile: str = "core"
    """`core`, or `example` for topics that only the examples use."""
    config: Mapping[str, str] = field(default_factory=dict)
    key_of: Callable[[E], bytes | None] = lambda _event: None
    shard_of: Callable[[E, int], int] | None = None
    """For topics partitioned by shard: shard of an event, given the number of shards."""
    headers_of: Callable[[E], tuple[tuple[str, bytes], ...]] = lambda _event: ()
    read_by: tuple[TopicReader, ...] = ()
    transactional: bool = False
    """Whether only a shard's owner writes it, in transactions."""
    key_name: str = ""
    """Description of the key for documents: the field, or fields joined by `/`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of this topic with their descriptions; common headers are not included."""
    planned_writers: tuple[str, ...] = ()
    """Names of the services that are to write it; no code of theirs does yet."""

    @property
    def is_public(self) -> bool:
        """Whether anyone may write it; readers then wait for no transaction: they read uncommitted."""
        return ANYONE in self.writers

"""Specification of a consumer loop: group, subscriptions, settings, ports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from strider.messaging.effects import Subscription
from strider.messaging.ports import Clock, GroupSpec, Randomness, SchemaSource
from strider.runtime.publishing.dead_letter_breaker import DeadLetterBreakerLimits
from strider.runtime.publishing.dead_letters import DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher

from .ports import (
    ConsumerMeter,
    NoConsumerMeter,
    NoSchemaSource,
    NoShardHooks,
    NoTracer,
    OnCaughtUp,
    OnGivenUp,
    ReadGate,
    ShardHooks,
    Tracer,
    ignore_caught_up,
    no_given_up_effects,
)
from .start_order import ClaimOf

MIB = 1024 * 1024

MAX_PUBLIC_BATCH_RECORDS = 10_000
"""Records of a batch on a public topic: what librdkafka puts into one by default."""


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Settings of one consumer loop."""

    concurrency: int = 64
    """Handlers that run at a time."""
    max_started: int = 0
    """Messages that were started and are not done, with those that wait for acknowledgements; 0: no limit."""
    buffer_messages: int = 2_000
    """Messages read and not done, over all partitions; beyond it nothing more is read."""
    buffer_bytes: int = 64 * MIB
    """The same in bytes of keys, values and headers. One poll may exceed it by 16 MiB and one message."""
    max_redelivery_span: int = 10_000
    """Messages of one partition from its first incomplete one on, which a crash redelivers."""
    poll_records: int = 500
    poll_seconds: float = 0.5
    """Longest wait for new messages; a stop is noticed within it."""
    keepalive_seconds: float = 0.5
    """How often a loop that may not read polls all the same, to stay a member."""
    handler_timeout_seconds: float = 30.0
    """For one call of a handler."""
    commit_interval_seconds: float = 0.5
    revoke_timeout_seconds: float = 10.0
    """How long revoked partitions wait for the messages in flight."""
    stop_timeout_seconds: float = 25.0
    lag_interval_seconds: float = 5.0
    breaker: DeadLetterBreakerLimits = field(default_factory=DeadLetterBreakerLimits)


@dataclass(frozen=True, slots=True)
class ConsumerPorts:
    """Dependencies of a consumer loop, besides bus and codec."""

    clock: Clock
    chance: Randomness
    publisher: EventPublisher
    dead_letters: DeadLetterWriter
    schemas: SchemaSource = field(default_factory=NoSchemaSource)
    shards: ShardHooks = field(default_factory=NoShardHooks)
    tracer: Tracer = field(default_factory=NoTracer)
    meter: ConsumerMeter = field(default_factory=NoConsumerMeter)
    on_given_up: OnGivenUp = no_given_up_effects
    on_caught_up: OnCaughtUp = ignore_caught_up
    claim_of: ClaimOf | None = None
    """If set, messages are started by shares of the workers, and not as they come."""
    read_gate: ReadGate = field(default_factory=ReadGate)


AsyncStep: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """One consumer loop: a group, its subscriptions and callbacks."""

    group: GroupSpec
    subscriptions: tuple[Subscription, ...]
    settings: ConsumerSettings = field(default_factory=ConsumerSettings)
    shards: ShardHooks = field(default_factory=NoShardHooks)
    on_given_up: OnGivenUp = no_given_up_effects
    on_caught_up: OnCaughtUp = ignore_caught_up
    claim_of: ClaimOf | None = None
    read_gate: ReadGate = field(default_factory=ReadGate)


def consume(
    group: str,
    *subscriptions: Subscription,
    settings: ConsumerSettings | None = None,
    shards: ShardHooks | None = None,
    on_given_up: OnGivenUp = no_given_up_effects,
    on_caught_up: OnCaughtUp = ignore_caught_up,
    claim_of: ClaimOf | None = None,
    read_gate: ReadGate | None = None,
) -> ConsumerSpec:
    """Return the consumer of a group, sharded or not as the declarations of its topics say."""
    readers = [reader for each in subscriptions for reader in each.topic.read_by if reader.group == group]
    if len(readers) != len(subscriptions):
        named = ", ".join(each.topic.name for each in subscriptions)
        raise ValueError(f"not every topic of {named} declares {group} as a consumer group")
    if len({reader.sharded for reader in readers}) != 1:
        raise ValueError(f"{group} must read either all of its topics by shard or none")
    if len({each.is_public for each in subscriptions}) != 1:
        raise ValueError(f"{group} must read either public topics only or none")
    is_public = subscriptions[0].is_public
    return ConsumerSpec(
        GroupSpec(
            group,
            tuple(each.topic.name for each in subscriptions),
            sharded=readers[0].sharded,
            # Else one open transaction of a stranger would hold what all others send.
            read_committed=not is_public,
            max_batch_records=MAX_PUBLIC_BATCH_RECORDS if is_public else None,
        ),
        subscriptions,
        settings=settings or ConsumerSettings(),
        shards=shards or NoShardHooks(),
        on_given_up=on_given_up,
        on_caught_up=on_caught_up,
        claim_of=claim_of,
        read_gate=read_gate or ReadGate(),
    )

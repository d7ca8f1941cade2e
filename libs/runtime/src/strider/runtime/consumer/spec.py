"""How a consumer loop behaves, and what it is given to work with."""

from __future__ import annotations

from dataclasses import dataclass, field

from strider.messaging.ports import Clock, Randomness, SchemaSource
from strider.politeness.retry_policy import INFRASTRUCTURE_RETRY
from strider.runtime.publishing.dead_letter_breaker import DeadLetterBreakerLimits
from strider.runtime.publishing.dead_letters import DeadLetterWriter
from strider.runtime.publishing.publisher import EventPublisher
from strider.runtime.retry import RetryPolicy

from .ports import (
    ConsumerMeter,
    NoConsumerMeter,
    NoSchemaSource,
    NoShardHooks,
    NoTracer,
    OnCaughtUp,
    OnGivenUp,
    ShardHooks,
    Tracer,
    ignore_caught_up,
    say_nothing,
)

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Knobs of one consumer loop."""

    concurrency: int = 64
    """Handlers that run at a time."""
    buffer_messages: int = 2_000
    """Messages read and not done, over all partitions; beyond it nothing more is read."""
    buffer_bytes: int = 64 * MIB
    """The same in bytes of keys and values. One poll may go over it by one message of the largest size."""
    max_redelivery_span: int = 10_000
    """Messages of one partition from its first open one on: what would come again after a crash."""
    poll_records: int = 500
    poll_seconds: float = 0.5
    """Longest wait for new messages; a stop is noticed within it."""
    keepalive_seconds: float = 0.5
    """How often a loop that may not read asks all the same, to stay a member."""
    handler_timeout_seconds: float = 30.0
    """For one call of a handler."""
    commit_interval_seconds: float = 0.5
    revoke_timeout_seconds: float = 10.0
    """How long partitions that are taken away wait for what is in hand."""
    stop_timeout_seconds: float = 25.0
    lag_interval_seconds: float = 5.0
    retry_policy: RetryPolicy = INFRASTRUCTURE_RETRY
    """Waits between tries while infrastructure is down; must be endless."""
    breaker: DeadLetterBreakerLimits = field(default_factory=DeadLetterBreakerLimits)


@dataclass(frozen=True, slots=True)
class ConsumerPorts:
    """What a consumer loop works with, besides bus and codec."""

    clock: Clock
    chance: Randomness
    publisher: EventPublisher
    dead_letters: DeadLetterWriter
    schemas: SchemaSource = field(default_factory=NoSchemaSource)
    shards: ShardHooks = field(default_factory=NoShardHooks)
    tracer: Tracer = field(default_factory=NoTracer)
    meter: ConsumerMeter = field(default_factory=NoConsumerMeter)
    on_given_up: OnGivenUp = say_nothing
    on_caught_up: OnCaughtUp = ignore_caught_up

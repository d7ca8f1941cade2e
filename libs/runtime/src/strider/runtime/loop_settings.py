"""How a consumer loop behaves, and what it is given to work with."""

from __future__ import annotations

from dataclasses import dataclass, field

from strider.politeness.retry_policy import INFRASTRUCTURE_RETRY

from .deadletters import DeadLetters
from .flood import FloodLimits
from .loop_ports import (
    CaughtUp,
    GivenUp,
    Meter,
    NoMeter,
    NoSchemas,
    NoShards,
    NoTrace,
    SchemaSource,
    ShardHooks,
    Trace,
    note_nothing,
    say_nothing,
)
from .ports import Chance, Clock
from .retry import Ladder
from .speaking import Speaker

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Knobs of one consumer loop."""

    concurrency: int = 64
    """Handlers that run at a time."""
    window_messages: int = 2_000
    """Messages read and not done, over all partitions; beyond it nothing more is read."""
    window_bytes: int = 64 * MIB
    """The same in bytes of keys and values. One poll may go over it by one message of the largest size."""
    span_messages: int = 10_000
    """Messages of one partition from its first open one on: what would come again after a crash."""
    poll_records: int = 500
    poll_seconds: float = 0.5
    """Longest wait for new messages; a stop is noticed within it."""
    keepalive_seconds: float = 0.5
    """How often a loop that may not read asks all the same, to stay a member."""
    deadline_seconds: float = 30.0
    """For one call of a handler."""
    commit_interval_seconds: float = 0.5
    revoke_grace_seconds: float = 10.0
    """How long partitions that are taken away wait for what is in hand."""
    stop_grace_seconds: float = 25.0
    lag_interval_seconds: float = 5.0
    ladder: Ladder = INFRASTRUCTURE_RETRY
    """Waits between tries while infrastructure is down; must be endless."""
    flood: FloodLimits = field(default_factory=FloodLimits)


@dataclass(frozen=True, slots=True)
class LoopPorts:
    """What a consumer loop works with, besides bus and codec."""

    clock: Clock
    chance: Chance
    speaker: Speaker
    dead_letters: DeadLetters
    schemas: SchemaSource = field(default_factory=NoSchemas)
    shards: ShardHooks = field(default_factory=NoShards)
    trace: Trace = field(default_factory=NoTrace)
    meter: Meter = field(default_factory=NoMeter)
    on_given_up: GivenUp = say_nothing
    on_caught_up: CaughtUp = note_nothing

"""What a service is made of, in the words of its `__main__`: what it gets, and what it answers.

`build` gets a `Process` (settings, bus, clock and all that is there once) and answers a `Wiring`:
what is consumed by whom, what is written, what it depends on. Wiring happens once, by constructor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.messaging.ports import Bus, Clock, Randomness
from strider.runtime.consumer.ports import DeadLetterObjectStore
from strider.runtime.consumer.spec import AsyncStep, ConsumerSpec
from strider.runtime.observability.job_logs import JobLogSink
from strider.runtime.observability.metrics import Metrics
from strider.runtime.observability.tracing import MessageTracer
from strider.runtime.settings.base import ServiceSettings

from .heartbeat import Heartbeat
from .readiness import Dependency, Readiness

S = TypeVar("S", bound=ServiceSettings)


@dataclass(frozen=True, slots=True)
class ServiceContext(Generic[S]):
    """What there is once in a process, for adapters and topologies to be built with."""

    name: str
    settings: S
    bus: Bus
    codec: Codec
    clock: Clock
    chance: Randomness
    metrics: Metrics
    heartbeat: Heartbeat
    readiness: Readiness
    traces: MessageTracer


@dataclass(frozen=True, slots=True)
class ServiceDefinition:
    """What a service consists of."""

    consumers: tuple[ConsumerSpec, ...] = ()
    produces: Sequence[Topic[Any]] = ()
    """Every topic that it writes; dead letters and schemas go without saying."""
    dead_letters: Topic[Any] | None = None
    """Where messages go that cannot be handled; needed by whoever consumes."""
    dependencies: tuple[Dependency, ...] = ()
    """What it needs besides the broker, and how to ask after it."""
    connect: tuple[AsyncStep, ...] = ()
    """Opens stores, in this order; may raise Unavailable, and is then tried again until it works."""
    background: tuple[AsyncStep, ...] = ()
    """Work besides the consumers. None of it may end while the process runs."""
    on_stop: tuple[Callable[[], None], ...] = ()
    """Called when the process is asked to stop, before its consumers are: to cut short what takes long."""
    close: tuple[AsyncStep, ...] = ()
    """Closes stores, in this order, after the last message is done with."""
    objects: DeadLetterObjectStore | None = None
    """Where large dead letters go."""
    job_logs: JobLogSink | None = None
    """Who keeps the log lines of jobs."""


BuildService: TypeAlias = Callable[[ServiceContext[S]], ServiceDefinition]

"""Service definition: what `build` gets, and what it returns.

`build` gets a `ServiceContext` (settings, bus, clock and everything that exists once) and returns a
`ServiceDefinition`: consumers, written topics, dependencies. Wiring happens once, by constructor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.messaging.ports import Bus, Clock, Randomness
from strider.runtime.consumer.ports import DeadLetterBodyStore
from strider.runtime.consumer.spec import AsyncStep, ConsumerSpec
from strider.runtime.observability.job_logs import JobLogSink
from strider.runtime.observability.metrics import Metrics
from strider.runtime.observability.tracing import MessageTracer
from strider.runtime.settings.base import ServiceSettings

from .health import Dependency, Readiness
from .heartbeat import Heartbeat

S = TypeVar("S", bound=ServiceSettings)


@dataclass(frozen=True, slots=True)
class ServiceContext(Generic[S]):
    """Everything that exists once in a process, for building adapters and handlers."""

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
    """Parts of a service."""

    consumers: tuple[ConsumerSpec, ...] = ()
    produces: Sequence[Topic[Any]] = ()
    """Every topic that it writes, except dead letters and schemas."""
    dead_letters: Topic[Any] | None = None
    """Topic for messages that cannot be handled; required for services that consume."""
    dependencies: tuple[Dependency, ...] = ()
    """Dependencies besides the broker, with their probes."""
    connect: tuple[AsyncStep, ...] = ()
    """Opens stores, in this order; may raise Unavailable, and is then called again until it works."""
    background: tuple[AsyncStep, ...] = ()
    """Work besides the consumers. None of it may end while the process runs."""
    on_stop: tuple[Callable[[], None], ...] = ()
    """Called when the process is asked to stop, before its consumers are: to cut short what takes long."""
    close: tuple[AsyncStep, ...] = ()
    """Closes stores, in this order, after the last message is done."""
    objects: DeadLetterBodyStore | None = None
    """Object store for large dead letters; closed by the process, after the steps of `close`."""
    job_logs: JobLogSink | None = None
    """Sink for the log lines of jobs."""


BuildService: TypeAlias = Callable[[ServiceContext[S]], ServiceDefinition]

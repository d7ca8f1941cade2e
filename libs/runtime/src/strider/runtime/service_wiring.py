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

from .logs_jobs import JobLogSink
from .loop_ports import ObjectStore
from .metrics import Metrics
from .ports import Bus, Chance, Clock
from .readiness import Dependency, Readiness
from .service_consumption import Consumption, Step
from .settings import ServiceSettings
from .tracing import Traces
from .watchdog_heartbeat import Heartbeat

S = TypeVar("S", bound=ServiceSettings)


@dataclass(frozen=True, slots=True)
class Process(Generic[S]):
    """What there is once in a process, for adapters and topologies to be built with."""

    name: str
    settings: S
    bus: Bus
    codec: Codec
    clock: Clock
    chance: Chance
    metrics: Metrics
    heartbeat: Heartbeat
    readiness: Readiness
    traces: Traces


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a service consists of."""

    consumes: tuple[Consumption, ...] = ()
    produces: Sequence[Topic[Any]] = ()
    """Every topic that it writes; dead letters and schemas go without saying."""
    dead_letters: Topic[Any] | None = None
    """Where messages go that cannot be handled; needed by whoever consumes."""
    dependencies: tuple[Dependency, ...] = ()
    """What it needs besides the broker, and how to ask after it."""
    connect: tuple[Step, ...] = ()
    """Opens stores, in this order; may raise Unavailable, and is then tried again until it works."""
    background: tuple[Step, ...] = ()
    """Work besides the consumers. None of it may end while the process runs."""
    on_stop: tuple[Callable[[], None], ...] = ()
    """Called when the process is asked to stop, before its consumers are: to cut short what takes long."""
    close: tuple[Step, ...] = ()
    """Closes stores, in this order, after the last message is done with."""
    objects: ObjectStore | None = None
    """Where large dead letters go."""
    job_logs: JobLogSink | None = None
    """Who keeps the log lines of jobs."""


Build: TypeAlias = Callable[[Process[S]], Wiring]

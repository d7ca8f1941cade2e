"""Startup of a process in phases, each logged once with its duration.

logs → telemetry → health → adapters → checks → schemas → consumers. The health server comes early, so that a
process that waits for its broker can report it. Everything that a phase opens is registered for closing, so
that an end in the middle of the startup leaves nothing open.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any, Final, Generic, TextIO, TypeVar

from strider.contracts import Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.ports import Bus, Clock, Randomness
from strider.politeness.retry_policy import RetryPolicy
from strider.runtime.clocks import SystemClock, SystemRandomness
from strider.runtime.observability import log_events
from strider.runtime.observability import metrics as declared
from strider.runtime.observability.job_logs import JobLogCapture
from strider.runtime.observability.logging import configure_logs, logger
from strider.runtime.observability.metrics import Metrics
from strider.runtime.observability.tracing import MessageTracer, open_tracer
from strider.runtime.retry import Backoff
from strider.runtime.settings.base import secret_values
from strider.runtime.settings.loader import LoadedSettings
from strider.runtime.version import strider_version

from .consumers import ServiceConsumers, all_topics
from .definition import BuildService, S, ServiceContext, ServiceDefinition
from .dependency_limit import limit_dependency_outage
from .exit_codes import ExitCode
from .health import Dependency, HealthServer, Readiness
from .heartbeat import Heartbeat
from .supervision import CloseStack, TaskSupervisor
from .watchdog import Watchdog, resident_bytes
from .watchdog_target import ServiceWatchdogTarget

T = TypeVar("T")


STARTUP_RETRY_POLICY: Final = RetryPolicy(
    retries=inf, first_seconds=0.25, factor=2, cap_seconds=4, jitter_seconds=0.5, deadline_seconds=inf
)
"""Waits for dependencies at the startup: shorter than while running, nothing else is held up by them."""

_log = logger("service")


class StartupRetry:
    """Retries work until its dependency is available, reporting meanwhile what it waits for."""

    def __init__(self, readiness: Readiness, *, clock: Clock, chance: Randomness) -> None:
        self._readiness = readiness
        self._clock = clock
        self._chance = chance

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run some work; repeat it with growing waits, for ever, while a dependency is unavailable."""
        missed: set[str] = set()

        def report(error: Unavailable) -> None:
            is_first = not missed
            missed.add(error.dependency)
            if self._readiness.record(error.dependency, ok=False, detail=error.detail) or is_first:
                _log.emit(log_events.DEPENDENCY_AWAITED, part=error.dependency, why=error.detail)
            self._readiness.step = f"waiting for {error.dependency}"

        backoff = Backoff(STARTUP_RETRY_POLICY, clock=self._clock, chance=self._chance)
        done = await backoff.until_available(work, on_failure=report)
        self._readiness.step = ""
        for part in missed:
            self._readiness.record(part, ok=True)
        return done


async def check_partition_counts(bus: Bus, topics: Iterable[Topic[Any]], *, shards: int) -> None:
    """Compare partition counts with the declared ones: a key would else lead to the wrong shard."""
    for topic in topics:
        wanted = topic.partitions or shards
        found = await bus.partition_count(topic.name)
        if found is None:
            raise Unavailable("kafka", f"topic {topic.name} does not exist; run: strider topics apply")
        if found != wanted:
            source = "declared" if topic.partitions else "set by STRIDER_SHARDS"
            raise StartRefused(
                f"topic {topic.name} has {found} partitions on the broker, but {wanted} are {source}; "
                "the count is fixed for the life of the topics"
            )


_log = logger("service")


@dataclass(frozen=True, slots=True)
class RunningService:
    """A running process, and what has to be called when it stops."""

    consumers: ServiceConsumers
    watchdog: Watchdog
    target: ServiceWatchdogTarget
    on_stop: tuple[Callable[[], None], ...] = ()

    def stop(self) -> None:
        """Let consumers finish the messages in flight; a process that ends need not be watched."""
        self.watchdog.stop()
        for callback in self.on_stop:
            callback()
        self.consumers.stop()


class ServiceStartup(Generic[S]):
    """The startup of one process."""

    def __init__(
        self,
        name: str,
        loaded: LoadedSettings[S],
        build: BuildService[S],
        *,
        make_bus: Callable[[S], Bus],
        stream: TextIO,
        has_no_color: bool = False,
        exit_now: Callable[[int], Any] = os._exit,
    ) -> None:
        self._name = name
        self._settings: S = loaded.settings
        self._origins = loaded.origins
        self._build = build
        self._make_bus = make_bus
        self._stream = stream
        self._no_color = has_no_color
        self.exit_now = exit_now
        self._clock = SystemClock()
        self._chance = SystemRandomness()
        self._capture: JobLogCapture | None = None
        self._metrics = Metrics(with_process=True)
        self._heartbeat = Heartbeat(self._clock)
        self.readiness = Readiness(self._clock)
        self.tasks = TaskSupervisor(lambda error: self.on_exit(exit_code_for(error)))
        self.closers = CloseStack()
        self.shutdown_seconds = loaded.settings.run.grace_seconds
        self.running: RunningService | None = None
        self.on_exit: Callable[[ExitCode], None] = lambda _code: None

    async def run(self) -> RunningService:
        """Run the phases."""
        with self._phase("logs"):
            self._configure_logs()
        with self._phase("telemetry"):
            traces = self._open_telemetry()
        with self._phase("health"):
            await self._start_health_server()
        self._limit_outages()
        with self._phase("adapters"):
            context = self._new_context(traces)
            definition = await self._connect(context)
        with self._phase("checks"):
            await self._check_dependencies(context, definition)
        with self._phase("consumers"):
            self.running = await self._start_consumers(context, definition)
        return self.running

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        began = self._clock.monotonic()
        self.readiness.step = name
        yield
        self.readiness.step = ""
        _log.emit(
            log_events.STARTUP_PHASE_COMPLETED, phase=name, seconds=round(self._clock.monotonic() - began, 3)
        )

    def _limit_outages(self) -> None:
        """End where a dependency is away for too long, also during the startup; by default never."""
        limit_seconds = self._settings.run.exit_after_seconds
        if limit_seconds > 0:
            work = limit_dependency_outage(
                self.readiness,
                limit_seconds=limit_seconds,
                clock=self._clock,
                on_exit=self.on_exit,
            )
            self.tasks.start("limit outages", work)

    def _configure_logs(self) -> None:
        logs = self._settings.logs
        configure_logs(
            self._name,
            stream=self._stream,
            level=logs.level,
            console=logs.format == "console",
            colors=self._stream.isatty() and not self._no_color,
            secrets=secret_values(self._settings),
            capture=lambda event: self._capture(event) if self._capture else None,
        )
        chosen = sorted(variable for variable, origin in self._origins.items() if origin != "default")
        _log.emit(
            log_events.SERVICE_STARTING,
            version=strider_version(),
            python=platform.python_version(),
            settings_from=chosen,
        )

    def _open_telemetry(self) -> MessageTracer:
        telemetry = self._settings.telemetry
        self._metrics.set(declared.BUILD, self._name, strider_version(), value=1)
        traces = open_tracer(
            self._name,
            endpoint=telemetry.otlp_endpoint.get_secret_value(),
            sample=telemetry.trace_sample,
            on_lost=lambda spans: self._metrics.count(declared.SPANS_LOST, amount=spans),
        )
        self.closers.add("traces", lambda: asyncio.to_thread(traces.close))
        return traces

    async def _start_health_server(self) -> None:
        server = HealthServer(
            service=self._name,
            readiness=self.readiness,
            metrics=self._metrics.render,
            details=lambda: {"heartbeat": self._heartbeat.report()},
        )
        health = self._settings.health
        port = await server.start(health.host, health.port)
        self.closers.add("health", server.close)
        _log.emit(
            log_events.HEALTH_SERVER_STARTED,
            url=f"http://{health.host}:{port}",
            paths="/livez /readyz /metrics",
        )

    def _new_context(self, traces: MessageTracer) -> ServiceContext[S]:
        bus = self._make_bus(self._settings)
        self.closers.add("bus", bus.close)
        return ServiceContext(
            name=self._name,
            settings=self._settings,
            bus=bus,
            codec=Codec(SchemaStore.bundled()),
            clock=self._clock,
            chance=self._chance,
            metrics=self._metrics,
            heartbeat=self._heartbeat,
            readiness=self.readiness,
            traces=traces,
        )

    async def _connect(self, context: ServiceContext[S]) -> ServiceDefinition:
        definition = self._build(context)
        if definition.objects is not None:
            self.closers.add("objects", definition.objects.close)
        for number, close in enumerate(reversed(definition.close)):
            self.closers.add(f"adapter {len(definition.close) - number}", close)
        for dependency in (*definition.dependencies, Dependency("kafka", context.bus.ping)):
            self.readiness.register(dependency.name, is_vital=dependency.is_vital)
        for connect in definition.connect:
            await self._retry().run(connect)
        return definition

    async def _check_dependencies(self, context: ServiceContext[S], definition: ServiceDefinition) -> None:
        retry = self._retry()
        for dependency in (each for each in definition.dependencies if each.is_vital):
            await retry.run(dependency.ping)
            self.readiness.record(dependency.name, ok=True)
        await retry.run(context.bus.ping)
        topics = all_topics(definition)
        shards = self._settings.run.shards
        await retry.run(lambda: check_partition_counts(context.bus, topics, shards=shards))
        self.readiness.record("kafka", ok=True)

    async def _start_consumers(
        self, context: ServiceContext[S], definition: ServiceDefinition
    ) -> RunningService:
        consumers = ServiceConsumers(context, definition, version=strider_version())
        self.closers.add("publisher", consumers.close)
        await self._retry().run(consumers.declare_schemas)
        self.readiness.watch_pauses(consumers.pauses, exempt=consumers.exempt_pauses)
        self._start_job_logs(definition)
        target = ServiceWatchdogTarget(
            clock=self._clock,
            heartbeat=self._heartbeat,
            readiness=self.readiness,
            metrics=self._metrics,
            dependencies=(*definition.dependencies, Dependency("kafka", context.bus.ping)),
            consumers=consumers.watched,
            stop=self.on_exit,
            shutdown_seconds=self.shutdown_seconds,
            exit_now=self.exit_now,
        )
        for name, work in consumers.coroutines():
            self.tasks.start(name, work, is_consumer=True)
        for step in definition.background:
            self.tasks.start(getattr(step, "__qualname__", "background"), _await_step(step))
        self.tasks.start("turn", target.tick())
        self.tasks.start("probe dependencies", target.probe_dependencies())
        return RunningService(consumers, self._watch(target), target, definition.on_stop)

    def _watch(self, target: ServiceWatchdogTarget) -> Watchdog:
        run = self._settings.run
        watchdog = Watchdog(
            target,
            self._heartbeat,
            monotonic=self._clock.monotonic,
            threshold_seconds=run.stall_threshold_seconds,
            memory_limit_bytes=run.memory_limit_mb * 1024 * 1024,
            resident_bytes=resident_bytes,
            on_stall=lambda kind: self._metrics.count(declared.STALLS, kind),
        )
        watchdog.start()
        return watchdog

    def _start_job_logs(self, definition: ServiceDefinition) -> None:
        sink = definition.job_logs
        if sink is None:
            return
        capture = JobLogCapture(
            clock=self._clock,
            on_dropped=lambda lines: self._metrics.count(declared.JOB_LOG_DROPPED, amount=lines),
        )
        self._capture = capture
        self.tasks.start("job logs", capture.run(sink))
        self.closers.add("job logs", lambda: capture.drain(sink))

    def _retry(self) -> StartupRetry:
        return StartupRetry(self.readiness, clock=self._clock, chance=self._chance)


async def _await_step(step: Callable[[], Any]) -> None:
    await step()


def exit_code_for(error: BaseException | None) -> ExitCode:
    """Return the exit code for a task that has died: what only a person can change is no crash."""
    return ExitCode.REFUSED if isinstance(error, StartRefused) else ExitCode.FAILED

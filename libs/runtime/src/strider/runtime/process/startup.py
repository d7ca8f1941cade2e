"""How a process comes to run, in phases: each is told once, with the time that it took.

logs → telemetry → health → adapters → checks → schemas → consumers. The health server comes early,
so that a process that waits for its broker can say so. Whatever a phase opens is noted with how to
close it, so that an end in the middle of the start leaves nothing open.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TextIO

from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.messaging.errors import StartRefused
from strider.messaging.ports import Bus
from strider.runtime.clocks import SystemClock, SystemRandomness
from strider.runtime.observability import metrics as declared
from strider.runtime.observability.job_logs import JobLogCapture
from strider.runtime.observability.logging import configure_logs, logger
from strider.runtime.observability.metrics import Metrics
from strider.runtime.observability.tracing import MessageTracer, open_tracer
from strider.runtime.settings.base import secret_values
from strider.runtime.settings.loader import LoadedSettings
from strider.runtime.version import strider_version

from .consumers import ServiceConsumers, all_topics
from .definition import BuildService, S, ServiceContext, ServiceDefinition
from .exit_codes import ExitCode
from .health import HealthServer
from .heartbeat import Heartbeat
from .readiness import Dependency, Readiness
from .start_checks import StartupRetry, check_partition_counts
from .supervision import CloseStack, TaskSupervisor
from .watchdog import Watchdog, resident_bytes
from .watchdog_target import ServiceWatchdogTarget

_log = logger("service")


@dataclass(frozen=True, slots=True)
class RunningService:
    """A process that runs: what must be told when it is to stop."""

    consumers: ServiceConsumers
    watchdog: Watchdog
    vitals: ServiceWatchdogTarget
    on_stop: tuple[Callable[[], None], ...] = ()

    def stop(self) -> None:
        """Let consumers finish what they have in hand; a process that ends need not be watched."""
        self.watchdog.stop()
        for tell in self.on_stop:
            tell()
        self.consumers.stop()


class ServiceStartup(Generic[S]):
    """The start of one process."""

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
        """Go through the phases."""
        with self._phase("logs"):
            self._tell()
        with self._phase("telemetry"):
            traces = self._open_telemetry()
        with self._phase("health"):
            await self._start_health_server()
        with self._phase("adapters"):
            process = self._process(traces)
            wiring = await self._wire(process)
        with self._phase("checks"):
            await self._check(process, wiring)
        with self._phase("consumers"):
            self.running = await self._consume(process, wiring)
        return self.running

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        began = self._clock.monotonic()
        self.readiness.step = name
        yield
        self.readiness.step = ""
        _log.info("Startup phase completed", phase=name, seconds=round(self._clock.monotonic() - began, 3))

    def _tell(self) -> None:
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
        _log.info(
            "Starting", version=strider_version(), python=platform.python_version(), settings_from=chosen
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
        _log.info("Listening", url=f"http://{health.host}:{port}", paths="/livez /readyz /metrics")

    def _process(self, traces: MessageTracer) -> ServiceContext[S]:
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

    async def _wire(self, process: ServiceContext[S]) -> ServiceDefinition:
        wiring = self._build(process)
        for number, close in enumerate(reversed(wiring.close)):
            self.closers.add(f"adapter {len(wiring.close) - number}", close)
        for dependency in (*wiring.dependencies, Dependency("kafka", process.bus.ping)):
            self.readiness.register(dependency.name, is_vital=dependency.is_vital)
        for connect in wiring.connect:
            await self._patience().run(connect)
        return wiring

    async def _check(self, process: ServiceContext[S], wiring: ServiceDefinition) -> None:
        patience = self._patience()
        for dependency in (each for each in wiring.dependencies if each.is_vital):
            await patience.run(dependency.ping)
            self.readiness.record(dependency.name, ok=True)
        await patience.run(process.bus.ping)
        topics = all_topics(wiring)
        shards = self._settings.run.shards
        await patience.run(lambda: check_partition_counts(process.bus, topics, shards=shards))
        self.readiness.record("kafka", ok=True)

    async def _consume(self, process: ServiceContext[S], wiring: ServiceDefinition) -> RunningService:
        consumers = ServiceConsumers(process, wiring, version=strider_version())
        self.closers.add("speaker", consumers.close)
        await self._patience().run(consumers.declare_schemas)
        self.readiness.watch_pauses(consumers.pauses, exempt=consumers.exempt_pauses)
        self._start_job_logs(wiring)
        vitals = ServiceWatchdogTarget(
            clock=self._clock,
            heartbeat=self._heartbeat,
            readiness=self.readiness,
            metrics=self._metrics,
            dependencies=(*wiring.dependencies, Dependency("kafka", process.bus.ping)),
            wards=consumers.wards,
            stop=self.on_exit,
            shutdown_seconds=self.shutdown_seconds,
            exit_now=self.exit_now,
        )
        for name, work in consumers.coroutines():
            self.tasks.start(name, work, is_consumer=True)
        for step in wiring.background:
            self.tasks.start(getattr(step, "__qualname__", "background"), _ended(step))
        self.tasks.start("turn", vitals.tick())
        self.tasks.start("probe dependencies", vitals.probe_dependencies())
        return RunningService(consumers, self._watch(vitals), vitals, wiring.on_stop)

    def _watch(self, vitals: ServiceWatchdogTarget) -> Watchdog:
        run = self._settings.run
        watchdog = Watchdog(
            vitals,
            self._heartbeat,
            monotonic=self._clock.monotonic,
            threshold_seconds=run.stall_threshold_seconds,
            memory_limit_bytes=run.memory_limit_mb * 1024 * 1024,
            resident_bytes=resident_bytes,
            on_stall=lambda kind: self._metrics.count(declared.STALLS, kind),
        )
        watchdog.start()
        return watchdog

    def _start_job_logs(self, wiring: ServiceDefinition) -> None:
        sink = wiring.job_logs
        if sink is None:
            return
        capture = JobLogCapture(
            clock=self._clock,
            on_dropped=lambda lines: self._metrics.count(declared.JOB_LOG_DROPPED, amount=lines),
        )
        self._capture = capture
        self.tasks.start("job logs", capture.run(sink))
        self.closers.add("job logs", lambda: capture.drain(sink))

    def _patience(self) -> StartupRetry:
        return StartupRetry(self.readiness, clock=self._clock, chance=self._chance)


async def _ended(step: Callable[[], Any]) -> None:
    await step()


def exit_code_for(error: BaseException | None) -> ExitCode:
    """Say how a process ends whose task has died: what only a person can change is no crash."""
    return ExitCode.REFUSED if isinstance(error, StartRefused) else ExitCode.FAILED

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

from . import metrics as declared
from .clocks import SystemChance, SystemClock
from .errors import StartRefused
from .exits import ExitCode
from .health import HealthServer
from .logs import configure_logs, logger
from .logs_jobs import JobLogCapture
from .metrics import Metrics
from .own_version import own_version
from .ports import Bus
from .readiness import Dependency, Readiness
from .service_checks import Patience, check_partitions
from .service_consumers import Consumers, topics_of
from .service_patient import Vitals
from .service_supervision import Closing, Supervision
from .service_wiring import Build, Process, S, Wiring
from .settings import secrets_of
from .settings_sources import Loaded
from .tracing import Traces, open_traces
from .watchdog import Watchdog, resident_bytes
from .watchdog_heartbeat import Heartbeat

_log = logger("service")


@dataclass(frozen=True, slots=True)
class Running:
    """A process that runs: what must be told when it is to stop."""

    consumers: Consumers
    watchdog: Watchdog
    vitals: Vitals
    on_stop: tuple[Callable[[], None], ...] = ()

    def stop(self) -> None:
        """Let consumers finish what they have in hand; a process that ends need not be watched."""
        self.watchdog.stop()
        for tell in self.on_stop:
            tell()
        self.consumers.stop()


class Start(Generic[S]):
    """The start of one process."""

    def __init__(
        self,
        name: str,
        loaded: Loaded[S],
        build: Build[S],
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
        self._chance = SystemChance()
        self._capture: JobLogCapture | None = None
        self._metrics = Metrics(with_process=True)
        self._heartbeat = Heartbeat(self._clock)
        self.readiness = Readiness(self._clock)
        self.tasks = Supervision(lambda error: self.on_end(code_of(error)))
        self.closing = Closing()
        self.grace_seconds = loaded.settings.run.grace_seconds
        self.running: Running | None = None
        self.on_end: Callable[[ExitCode], None] = lambda _code: None

    async def run(self) -> Running:
        """Go through the phases."""
        with self._phase("logs"):
            self._tell()
        with self._phase("telemetry"):
            traces = self._count_and_trace()
        with self._phase("health"):
            await self._answer_probes()
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
        _log.info("Phase Done", phase=name, seconds=round(self._clock.monotonic() - began, 3))

    def _tell(self) -> None:
        logs = self._settings.logs
        configure_logs(
            self._name,
            stream=self._stream,
            level=logs.level,
            console=logs.format == "console",
            colors=self._stream.isatty() and not self._no_color,
            secrets=secrets_of(self._settings),
            capture=lambda event: self._capture(event) if self._capture else None,
        )
        chosen = sorted(variable for variable, origin in self._origins.items() if origin != "default")
        _log.info("Starting", version=own_version(), python=platform.python_version(), settings_from=chosen)

    def _count_and_trace(self) -> Traces:
        telemetry = self._settings.telemetry
        self._metrics.set(declared.BUILD, self._name, own_version(), value=1)
        traces = open_traces(
            self._name,
            endpoint=telemetry.otlp_endpoint.get_secret_value(),
            sample=telemetry.trace_sample,
            on_lost=lambda spans: self._metrics.count(declared.SPANS_LOST, amount=spans),
        )
        self.closing.add("traces", lambda: asyncio.to_thread(traces.close))
        return traces

    async def _answer_probes(self) -> None:
        server = HealthServer(
            service=self._name,
            readiness=self.readiness,
            metrics=self._metrics.render,
            details=lambda: {"heartbeat": self._heartbeat.report()},
        )
        health = self._settings.health
        port = await server.start(health.host, health.port)
        self.closing.add("health", server.close)
        _log.info("Listening", url=f"http://{health.host}:{port}", paths="/livez /readyz /metrics")

    def _process(self, traces: Traces) -> Process[S]:
        bus = self._make_bus(self._settings)
        self.closing.add("bus", bus.close)
        return Process(
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

    async def _wire(self, process: Process[S]) -> Wiring:
        wiring = self._build(process)
        for number, close in enumerate(reversed(wiring.close)):
            self.closing.add(f"adapter {len(wiring.close) - number}", close)
        for dependency in (*wiring.dependencies, Dependency("kafka", process.bus.ping)):
            self.readiness.expect(dependency.part, is_vital=dependency.is_vital)
        for connect in wiring.connect:
            await self._patience().until_done(connect)
        return wiring

    async def _check(self, process: Process[S], wiring: Wiring) -> None:
        patience = self._patience()
        for dependency in (each for each in wiring.dependencies if each.is_vital):
            await patience.until_done(dependency.ping)
            self.readiness.record(dependency.part, ok=True)
        await patience.until_done(process.bus.ping)
        topics = topics_of(wiring)
        shards = self._settings.run.shards
        await patience.until_done(lambda: check_partitions(process.bus, topics, shards=shards))
        self.readiness.record("kafka", ok=True)

    async def _consume(self, process: Process[S], wiring: Wiring) -> Running:
        consumers = Consumers(process, wiring, version=own_version())
        self.closing.add("speaker", consumers.close)
        await self._patience().until_done(consumers.declare_schemas)
        self.readiness.watch_pauses(consumers.pauses, excusing=consumers.excuses)
        self._keep_job_logs(wiring)
        vitals = Vitals(
            clock=self._clock,
            heartbeat=self._heartbeat,
            readiness=self.readiness,
            metrics=self._metrics,
            dependencies=(*wiring.dependencies, Dependency("kafka", process.bus.ping)),
            wards=consumers.wards,
            stop=self.on_end,
            grace_seconds=self.grace_seconds,
            exit_now=self.exit_now,
        )
        for name, work in consumers.works():
            self.tasks.start(name, work, is_consumer=True)
        for step in wiring.background:
            self.tasks.start(getattr(step, "__qualname__", "background"), _ended(step))
        self.tasks.start("turn", vitals.turn())
        self.tasks.start("probe dependencies", vitals.probe_dependencies())
        return Running(consumers, self._watch(vitals), vitals, wiring.on_stop)

    def _watch(self, vitals: Vitals) -> Watchdog:
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

    def _keep_job_logs(self, wiring: Wiring) -> None:
        sink = wiring.job_logs
        if sink is None:
            return
        capture = JobLogCapture(
            clock=self._clock,
            on_dropped=lambda lines: self._metrics.count(declared.JOB_LOG_DROPPED, amount=lines),
        )
        self._capture = capture
        self.tasks.start("job logs", capture.run(sink))
        self.closing.add("job logs", lambda: capture.drain(sink))

    def _patience(self) -> Patience:
        return Patience(self.readiness, clock=self._clock, chance=self._chance)


async def _ended(step: Callable[[], Any]) -> None:
    await step()


def code_of(error: BaseException | None) -> ExitCode:
    """Say how a process ends whose task has died: what only a person can change is no crash."""
    return ExitCode.REFUSED if isinstance(error, StartRefused) else ExitCode.FAILED

"""The supervisor: keeps the stack running and writes its state.

It applies the desired state that the commands write, writes the actual one to `stack.json`, and stops
everything it started on SIGTERM. It may be killed at any moment: its processes continue, and the next
supervisor takes them over. Between servers and services it creates topics and migrates the database; both are
idempotent, so they run at every start, and again when they fail.
"""

from __future__ import annotations

import asyncio
import os
import signal
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from strider.contracts import TOPICS
from strider.messaging.errors import InfrastructureError
from strider.messaging.topics import apply_topics as apply
from strider.storage.errors import StoreFailure
from strider.storage.migrations import upgrade

from .directories import StackDirectory
from .errors import DeclarationConflict, StackNotReady
from .logs import rotate
from .plan.endpoints import common_settings, kafka_connection, mask_secrets, page_bytes
from .plan.stack_plan import StackPlan
from .process.child import ChildProcess
from .process.identity import identify
from .process.monitor import ManagedProcess, ProcessMonitor
from .stack_state import (
    DEGRADED,
    DONE,
    EXTERNAL,
    FAILING,
    READY,
    REFUSED,
    RESTARTING,
    SERVERS,
    SETTLED,
    STARTING,
    STOPPED,
    STOPPING,
    WAITING,
    DesiredState,
    ProcessStatus,
    StackState,
    read_desired_state,
    write_state,
)

EXAMPLE: Final = "example"


async def apply_topics(servers: str, *, examples: bool, environment: Mapping[str, str]) -> None:
    """Create missing topics; DeclarationConflict names those that differ from their declaration."""
    topics = [topic for topic in TOPICS.values() if examples or topic.profile != EXAMPLE]
    try:
        connection = kafka_connection(servers, environment)
        settings = common_settings(environment)
        limit = page_bytes(settings, is_local_stack=True)
        report = await apply(connection, topics, shards=settings.run.shards, page_bytes=limit)
    except InfrastructureError as failure:
        raise StackNotReady("topics", str(failure)) from failure
    if report.plan.refused:
        conflicts = "; ".join(f"{refused.topic} {refused.why}" for refused in report.plan.refused)
        raise DeclarationConflict("topics", conflicts)


async def apply_migrations(dsn: str) -> None:
    """Migrate the tables to the newest revision; StackNotReady says what was refused."""
    try:
        await upgrade(dsn)
    except (InfrastructureError, StoreFailure) as failure:
        raise StackNotReady("migrations", str(failure)) from failure


TICK_SECONDS: Final = 0.1
ROTATE_SECONDS: Final = 5.0
STEP_RETRY_SECONDS: Final = 2.0


class StackSupervisor:
    """One run of the stack."""

    def __init__(self, home: StackDirectory, plan: StackPlan, *, desired: DesiredState) -> None:
        self._home = home
        self._plan = plan
        self._desired = desired
        self._monitors: dict[str, ProcessMonitor] = {}
        self._steps: dict[str, ProcessStatus] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stop = asyncio.Event()
        self._retry_requested = asyncio.Event()
        self._changed = True
        self._was_ready = False
        self._written: tuple[int, int, int] | None = None
        self._since = _now()
        self._services_may_start = asyncio.Event()

    async def run(self, adopted: Mapping[str, ChildProcess]) -> None:
        """Start everything, keep it running, and stop it when signalled."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._retry_all)
        try:
            self._start_servers(adopted)
            self._start_steps()
            self._start_services()
            await self._watch_loop()
        finally:
            await self._stop_all()

    async def _watch_loop(self) -> None:
        rotate_at = 0.0
        while not self._stop.is_set():
            if not self._home.supervisor_lock.exists():
                _log(f"{self._home.root} was removed: without it no command would find this stack again")
                return
            desired = read_desired_state(self._home.desired_state)
            if desired is not None and desired.number != self._desired.number:
                await self._apply_change(desired)
            self._publish()
            now = asyncio.get_running_loop().time()
            if now >= rotate_at:
                rotate_at = now + ROTATE_SECONDS
                await asyncio.to_thread(self._rotate_logs)
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self._stop.wait()
            except TimeoutError:
                continue

    def _start_servers(self, adopted: Mapping[str, ChildProcess]) -> None:
        for name in self._plan.wanted_servers(self._desired):
            if name not in self._monitors:
                part = self._plan.build_server(name, keep_ports=name in adopted)
                self._start_monitor(part, kind="server", adopted=adopted.get(name))

    def _start_steps(self) -> None:
        endpoints, examples = self._plan.endpoints(self._desired), self._wants_examples()
        kafka, postgres = endpoints["kafka"], endpoints["postgres"]
        steps: dict[str, tuple[str, Callable[[], Awaitable[None]]]] = {}
        if kafka:
            steps["topics"] = (
                "kafka",
                lambda: apply_topics(kafka, examples=examples, environment=self._plan.environment),
            )
        if postgres:
            steps["migrations"] = ("postgres", lambda: apply_migrations(postgres))
        for name, (part, work) in steps.items():
            self._steps[name] = ProcessStatus(name, "step", WAITING, _now())
            self._tasks[name] = asyncio.create_task(self._run_step(name, part, work))
            self._tasks[name].add_done_callback(partial(self._on_task_done, name))
        self._tasks["steps"] = asyncio.create_task(self._allow_services(tuple(steps)))

    async def _run_step(self, name: str, part: str, work: Callable[[], Awaitable[None]]) -> None:
        if monitor := self._monitors.get(part):
            await monitor.is_ready.wait()
        self._set_step_state(name, STARTING)
        while True:
            try:
                await work()
            except DeclarationConflict as failure:
                self._set_step_state(name, REFUSED, failure.reason)
                await self._retry_requested.wait()
            except StackNotReady as failure:
                self._set_step_state(name, RESTARTING, failure.reason)
                await asyncio.sleep(STEP_RETRY_SECONDS)
            else:
                return self._set_step_state(name, DONE)

    async def _allow_services(self, steps: tuple[str, ...]) -> None:
        await asyncio.gather(*(self._tasks[name] for name in steps))
        await asyncio.gather(
            *(each.is_ready.wait() for each in self._monitors.values() if each.status.kind == "server")
        )
        self._services_may_start.set()

    def _start_services(self) -> None:
        for name, unit in self._plan.service_processes(self._desired).items():
            if name not in self._monitors:
                self._start_monitor(unit, kind="service", after=self._services_may_start)

    async def _apply_change(self, desired: DesiredState) -> None:
        had_examples = self._wants_examples()
        self._desired = desired
        wanted = self._plan.service_processes(desired).keys() | set(self._plan.wanted_servers(desired))
        await self._stop_monitors([name for name in self._monitors if name not in wanted])
        missing = [name for name in self._plan.wanted_servers(desired) if name not in self._monitors]
        if missing or had_examples != self._wants_examples():
            self._services_may_start.clear()
            self._start_servers({})
            self._start_steps()
        self._start_services()
        self._changed = True

    def _wants_examples(self) -> bool:
        desired = self._desired
        return any(kind.example and desired.copies(kind.name, example=True) for kind in self._plan.services)

    def _start_monitor(
        self,
        unit: ManagedProcess,
        *,
        kind: str,
        adopted: ChildProcess | None = None,
        after: asyncio.Event | None = None,
    ) -> None:
        name = unit.name
        monitor = ProcessMonitor(
            unit,
            kind=kind,
            log=self._home.log(name),
            pid_file=self._home.pid_file(name),
            on_change=self._mark_changed,
            adopted=adopted,
            start_after=after,
        )
        self._monitors[name] = monitor
        self._tasks[name] = asyncio.create_task(monitor.run())
        self._tasks[name].add_done_callback(partial(self._on_task_done, name))
        self._changed = True

    async def _stop_all(self) -> None:
        """Stop services first, while the servers still accept their last work."""
        for name in ("steps", *self._steps):
            await self._cancel(name)
        await self._stop_monitors(
            [name for name, each in self._monitors.items() if each.status.kind == "service"]
        )
        await self._stop_monitors(list(self._monitors))
        self._publish(state=STOPPED)

    async def _stop_monitors(self, names: list[str]) -> None:
        for name in names:
            await self._cancel(name)
        stopping = [asyncio.create_task(self._monitors[name].stop()) for name in names]
        while stopping:
            self._publish(state=STOPPING if self._stop.is_set() else None)
            _, pending = await asyncio.wait(stopping, timeout=TICK_SECONDS)
            stopping = list(pending)
        for name in names:
            del self._monitors[name]
        self._changed = True

    async def _cancel(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _retry_all(self) -> None:
        again, self._retry_requested = self._retry_requested, asyncio.Event()
        again.set()
        for monitor in self._monitors.values():
            monitor.retry_now()

    def _mark_changed(self) -> None:
        self._changed = True

    def _set_step_state(self, name: str, state: str, reason: str = "") -> None:
        self._steps[name] = replace(self._steps[name], state=state, since=_now(), reason=reason)
        self._changed = True

    def _on_task_done(self, name: str, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (failure := task.exception()) is None:
            return
        traceback.print_exception(failure)
        reason = f"{type(failure).__name__}: {failure} (see: strider logs supervisor)"
        if name in self._steps:
            self._set_step_state(name, FAILING, reason)
        elif monitor := self._monitors.get(name):
            monitor.mark_failing(reason)

    def _rotate_logs(self) -> None:
        for log in (self._home.root / "logs").glob("*.log"):
            rotate(log)

    def _publish(self, *, state: str | None = None) -> None:
        if not self._changed and state is None and self._written == _file_stamp(self._home.state):
            return
        if not self._home.supervisor_lock.exists():
            return  # the directory was removed on purpose: do not create it again
        self._changed = False
        named = [
            ProcessStatus(name, "server", EXTERNAL, self._since, address=mask_secrets(address))
            for name, address in self._plan.external.items()
            if name in SERVERS
        ]
        kept = [
            replace(each.status, address=mask_secrets(each.status.address))
            for each in self._monitors.values()
        ]
        lines = (*named, *kept, *self._steps.values())
        if all(each.state in SETTLED for each in lines):
            self._was_ready = True
        usual = DEGRADED if self._was_ready else STARTING
        whole = READY if all(each.state in SETTLED for each in lines) else usual
        state_to_write = StackState(
            state=state or whole,
            since=self._since,
            supervisor=identify(os.getpid()),
            endpoints=self._plan.endpoints(self._desired),
            ports=self._plan.ports,
            processes=() if state == STOPPED else lines,
            desired_number=self._desired.number,
            allows_private=self._plan.allows_private,
            setting_digests=self._plan.setting_digests,
        )
        try:
            write_state(self._home.state, state_to_write)
            self._written = _file_stamp(self._home.state)
        except OSError as failure:
            # A full disk must not stop the servers; the next change tries again.
            self._changed = True
            _log(f"cannot write {self._home.state}: {failure}")


def _file_stamp(path: Path) -> tuple[int, int, int] | None:
    """Return a stamp by which a change of the file is noticed without reading it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _log(line: str) -> None:
    print(f"{_now()} {line}", flush=True)  # noqa: T201  # its standard output is its log file


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""Keeps a stack running, and says how it does.

It follows the wish that the commands leave, writes how everything is to `stack.json`, and ends
with everything it started on SIGTERM. It may be killed at any moment: what it started lives on, and
the next one takes it over.
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

from .bootstrap import apply_migrations, apply_topics
from .directories import Home
from .errors import NotReady, Refused
from .logs import rotate
from .plan.desired_state import PARTS, Wish, read_wish
from .plan.stack_plan import Composition
from .process.child import Child
from .process.identity import identify
from .process.monitor import Keeper, Unit
from .stack_state import (
    DEGRADED,
    DONE,
    EXTERNAL,
    FAILING,
    READY,
    REFUSED,
    RESTARTING,
    SETTLED,
    STARTING,
    STOPPED,
    STOPPING,
    WAITING,
    ProcessStatus,
    StackState,
    write_state,
)

TICK_SECONDS: Final = 0.1
ROTATE_SECONDS: Final = 5.0
STEP_PAUSE_SECONDS: Final = 2.0


class Supervisor:
    """One life of the stack."""

    def __init__(self, home: Home, composition: Composition, *, wish: Wish) -> None:
        self._home = home
        self._composition = composition
        self._wish = wish
        self._keepers: dict[str, Keeper] = {}
        self._steps: dict[str, ProcessStatus] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stop = asyncio.Event()
        self._again = asyncio.Event()
        self._changed = True
        self._was_ready = False
        self._written: tuple[int, int, int] | None = None
        self._since = _now()
        self._services_may_start = asyncio.Event()

    async def run(self, adopted: Mapping[str, Child]) -> None:
        """Start everything, keep it running, and end it when asked to."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._try_again)
        try:
            self._start_parts(adopted)
            self._start_steps()
            self._follow_wish()
            await self._turn()
        finally:
            await self._end()

    async def _turn(self) -> None:
        rotate_at = 0.0
        while not self._stop.is_set():
            if not self._home.supervisor_lock.exists():
                _log(f"{self._home.root} was removed: without it no command would ever find this stack again")
                return
            wish = read_wish(self._home.wish)
            if wish is not None and wish.number != self._wish.number:
                await self._change(wish)
            self._publish()
            now = asyncio.get_running_loop().time()
            if now >= rotate_at:
                rotate_at = now + ROTATE_SECONDS
                await asyncio.to_thread(self._rotate)
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self._stop.wait()
            except TimeoutError:
                continue

    def _start_parts(self, adopted: Mapping[str, Child]) -> None:
        for name in self._composition.wanted_parts(self._wish):
            if name not in self._keepers:
                part = self._composition.build_part(name, keep_ports=name in adopted)
                self._keep(part, kind="part", adopted=adopted.get(name))

    def _start_steps(self) -> None:
        endpoints, examples = self._composition.endpoints(self._wish), self._wants_examples()
        kafka, postgres = endpoints["kafka"], endpoints["postgres"]
        steps: dict[str, tuple[str, Callable[[], Awaitable[None]]]] = {}
        if kafka:
            steps["topics"] = (
                "kafka",
                lambda: apply_topics(kafka, examples=examples, environment=self._composition.environment),
            )
        if postgres:
            steps["migrations"] = ("postgres", lambda: apply_migrations(postgres))
        for name, (part, work) in steps.items():
            self._steps[name] = ProcessStatus(name, "step", WAITING, _now())
            self._tasks[name] = asyncio.create_task(self._take_step(name, part, work))
            self._tasks[name].add_done_callback(partial(self._tell_of_bug, name))
        self._tasks["steps"] = asyncio.create_task(self._open_for_services(tuple(steps)))

    async def _take_step(self, name: str, part: str, work: Callable[[], Awaitable[None]]) -> None:
        if keeper := self._keepers.get(part):
            await keeper.is_ready.wait()
        self._tell_step(name, STARTING)
        while True:
            try:
                await work()
            except Refused as failure:
                self._tell_step(name, REFUSED, failure.reason)
                await self._again.wait()
            except NotReady as failure:
                self._tell_step(name, RESTARTING, failure.reason)
                await asyncio.sleep(STEP_PAUSE_SECONDS)
            else:
                return self._tell_step(name, DONE)

    async def _open_for_services(self, steps: tuple[str, ...]) -> None:
        await asyncio.gather(*(self._tasks[name] for name in steps))
        await asyncio.gather(
            *(each.is_ready.wait() for each in self._keepers.values() if each.status.kind == "part")
        )
        self._services_may_start.set()

    def _follow_wish(self) -> None:
        for name, unit in self._composition.units(self._wish).items():
            if name not in self._keepers:
                self._keep(unit, kind="service", after=self._services_may_start)

    async def _change(self, wish: Wish) -> None:
        had_examples = self._wants_examples()
        self._wish = wish
        wanted = self._composition.units(wish).keys() | set(self._composition.wanted_parts(wish))
        await self._end_some([name for name in self._keepers if name not in wanted])
        missing = [name for name in self._composition.wanted_parts(wish) if name not in self._keepers]
        if missing or had_examples != self._wants_examples():
            self._services_may_start.clear()
            self._start_parts({})
            self._start_steps()
        self._follow_wish()
        self._changed = True

    def _wants_examples(self) -> bool:
        wish = self._wish
        return any(
            kind.example and wish.copies(kind.name, example=True) for kind in self._composition.services
        )

    def _keep(
        self, unit: Unit, *, kind: str, adopted: Child | None = None, after: asyncio.Event | None = None
    ) -> None:
        name = unit.name
        keeper = Keeper(
            unit,
            kind=kind,
            log=self._home.log(name),
            number=self._home.number(name),
            changed=self._note,
            adopted=adopted,
            after=after,
        )
        self._keepers[name] = keeper
        self._tasks[name] = asyncio.create_task(keeper.run())
        self._tasks[name].add_done_callback(partial(self._tell_of_bug, name))
        self._changed = True

    async def _end(self) -> None:
        """Services first, while the servers still take what they have in hand."""
        for name in ("steps", *self._steps):
            await self._cancel(name)
        await self._end_some([name for name, each in self._keepers.items() if each.status.kind == "service"])
        await self._end_some(list(self._keepers))
        self._publish(state=STOPPED)

    async def _end_some(self, names: list[str]) -> None:
        for name in names:
            await self._cancel(name)
        stopping = [asyncio.create_task(self._keepers[name].stop()) for name in names]
        while stopping:
            self._publish(state=STOPPING if self._stop.is_set() else None)
            _, pending = await asyncio.wait(stopping, timeout=TICK_SECONDS)
            stopping = list(pending)
        for name in names:
            del self._keepers[name]
        self._changed = True

    async def _cancel(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _try_again(self) -> None:
        again, self._again = self._again, asyncio.Event()
        again.set()
        for keeper in self._keepers.values():
            keeper.try_again()

    def _note(self) -> None:
        self._changed = True

    def _tell_step(self, name: str, state: str, reason: str = "") -> None:
        self._steps[name] = replace(self._steps[name], state=state, since=_now(), reason=reason)
        self._changed = True

    def _tell_of_bug(self, name: str, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (failure := task.exception()) is None:
            return
        traceback.print_exception(failure)
        reason = f"{type(failure).__name__}: {failure} (see: strider logs supervisor)"
        if name in self._steps:
            self._tell_step(name, FAILING, reason)
        elif keeper := self._keepers.get(name):
            keeper.give_up(reason)

    def _rotate(self) -> None:
        for log in (self._home.root / "logs").glob("*.log"):
            rotate(log)

    def _publish(self, *, state: str | None = None) -> None:
        if not self._changed and state is None and self._written == _mark(self._home.state):
            return
        if not self._home.supervisor_lock.exists():
            return  # whoever removed it does not want it back
        self._changed = False
        named = [
            ProcessStatus(name, "part", EXTERNAL, self._since, address=_without_secret(address))
            for name, address in self._composition.named.items()
            if name in PARTS
        ]
        kept = [
            replace(each.status, address=_without_secret(each.status.address))
            for each in self._keepers.values()
        ]
        lines = (*named, *kept, *self._steps.values())
        if all(each.state in SETTLED for each in lines):
            self._was_ready = True
        usual = DEGRADED if self._was_ready else STARTING
        whole = READY if all(each.state in SETTLED for each in lines) else usual
        told = StackState(
            state=state or whole,
            since=self._since,
            supervisor=identify(os.getpid()),
            endpoints=self._composition.endpoints(self._wish),
            ports=self._composition.ports,
            processes=() if state == STOPPED else lines,
            wish=self._wish.number,
            allows_private=self._composition.allows_private,
        )
        try:
            write_state(self._home.state, told)
            self._written = _mark(self._home.state)
        except OSError as failure:
            # A full disk must not end the servers; the next change tries again.
            self._changed = True
            _log(f"cannot write {self._home.state}: {failure}")


def _mark(path: Path) -> tuple[int, int, int] | None:
    """Tell a file from what anybody else makes of it, without reading it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _without_secret(address: str) -> str:
    before, at, after = address.rpartition("@")
    scheme, slashes, _ = before.partition("://")
    return f"{scheme}{slashes}…@{after}" if at else address


def _log(line: str) -> None:
    print(f"{_now()} {line}", flush=True)  # noqa: T201  # its standard output is its log file


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""The commands `strider up`, `down` and `status`, without their output.

A command writes the desired state under a lock; the supervisor does the work. So two commands at once, an
interrupted command, and a killed supervisor are all the same case.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from .directories import StackDirectory, hold_lock, is_locked, lock_holder
from .errors import StackFailure, StackNotReady
from .plan.endpoints import check_reachable, common_settings, external_endpoints
from .plan.stack_keys import configured_keys
from .process.child import PRIVATE_UMASK, ChildProcess, last_log_lines, open_private
from .process.identity import is_alive
from .process.orphans import end_orphans, find_orphans, remove_pid_files
from .process.os_user import choose_os_user
from .servers.binaries import find_java, find_postgres, find_valkey
from .servers.kafka_jars import cache_directory, ensure_jars
from .stack_state import (
    FAILED,
    FAILING,
    READY,
    REFUSED,
    SERVERS,
    SETTLED,
    STOPPED,
    DesiredState,
    ProcessStatus,
    StackState,
    merge,
    read_desired_state,
    read_state,
    write_desired_state,
    write_state,
)

POLL_SECONDS: Final = 0.1
COMMAND_LOCK_SECONDS: Final = 150.0
"""An earlier command may be downloading 45 MB."""
SUPERVISOR_START_SECONDS: Final = 45.0
"""Time until a new supervisor holds its lock; on a busy machine even Python starts slowly."""
SUPERVISOR_STOP_SECONDS: Final = 60.0
"""More than the stop timeouts of all services and then of all servers."""


class StackStopped(StackFailure):
    """The stack was stopped, or gave up, while a command waited for it."""


@dataclass(frozen=True, slots=True)
class StartOptions:
    """Options of `strider up`."""

    only: tuple[str, ...] | None = None
    examples: bool = False
    scale: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class StackStart:
    """Result of `start_stack`."""

    was_running: bool
    has_changed: bool
    desired: DesiredState
    has_contact: bool = True
    """Whether crawled sites get a contact address; without it only loopback is crawled."""


def start_stack(
    home: StackDirectory,
    environment: Mapping[str, str],
    *,
    options: StartOptions,
    report: Callable[[str], None],
) -> StackStart:
    """Write the desired state and ensure that a supervisor runs; do not wait for readiness."""
    home.create()
    with hold_lock(home.command_lock, wait_seconds=COMMAND_LOCK_SECONDS):
        running = is_locked(home.supervisor_lock)
        kept = read_desired_state(home.desired_state)
        # The desired state ends with an orderly stop, and outlives a killed supervisor.
        old = kept if running or not has_stopped(read_state(home.state)) else None
        base = old or DesiredState(number=kept.number + 1 if kept else 1, only=options.only)
        desired = merge(base, only=options.only, examples=options.examples, scale=options.scale or {})
        settings = common_settings(environment)
        configured_keys(environment)
        prepare(desired, environment, report=report)
        if old is None or desired != old:
            write_desired_state(home.desired_state, desired)
        if running:
            _request_retry(home)
        else:
            _start_supervisor(home, environment)
    return StackStart(running, desired != old, desired, has_contact=running or bool(settings.crawl.contact))


def prepare(desired: DesiredState, environment: Mapping[str, str], *, report: Callable[[str], None]) -> None:
    """Find or download all that the servers need, so that missing parts are reported at once."""
    named = external_endpoints(environment)
    check_reachable(named, environment)
    wanted = [name for name in SERVERS if desired.wants_server(name) and name not in named]
    if "postgres" in wanted:
        find_postgres()
        choose_os_user()
    if "redis" in wanted:
        find_valkey()
    if "kafka" in wanted:
        find_java()
        ensure_jars(cache_directory(environment), environment=environment, report=report)


def wait_ready(
    home: StackDirectory, *, desired: DesiredState, seconds: float, on_change: Callable[[StackState], None]
) -> StackState:
    """Wait until everything desired is ready; StackNotReady names what is not."""
    until = time.monotonic() + seconds
    last: StackState | None = None
    while True:
        # In this order: the last state of a supervisor is read after its end is seen.
        alive = is_locked(home.supervisor_lock)
        state = read_state(home.state)
        if state is not None and state != last and _is_current(state, desired):
            last = state
            on_change(state)
        if last is not None and last.state == READY:
            return last
        if last is not None and any(each.state in (FAILING, REFUSED) for each in last.processes):
            raise StackNotReady("the stack", _describe_unsettled(last))
        if not alive:
            raise StackStopped(_stop_reason(home, state))
        if time.monotonic() >= until:
            raise StackNotReady("the stack", f"after {seconds:.0f} s, {_describe_unsettled(last)}")
        time.sleep(POLL_SECONDS)


def stop_stack(home: StackDirectory, *, wipe: bool = False) -> tuple[ProcessStatus, ...] | None:
    """Stop what this stack started; return what was stopped, or None where nothing ran."""
    if not home.root.exists():
        return None
    home.create()
    with hold_lock(home.command_lock, wait_seconds=COMMAND_LOCK_SECONDS):
        before = read_state(home.state)
        ended = _stop_supervisor(home)
        orphans = find_orphans(home, read_state(home.state))
        end_orphans(orphans)
        remove_pid_files(home)
        _write_stopped(home)
        if wipe:
            _wipe(home)
    if not ended and not orphans:
        return None
    lines = before.processes if before else ()
    return tuple(each for each in lines if each.pid and (ended or each.name in orphans))


def has_stopped(state: StackState | None) -> bool:
    """Whether the last run of the stack ended in order, or there was none."""
    return state is None or state.state in (STOPPED, FAILED)


def _is_current(state: StackState, desired: DesiredState) -> bool:
    """Whether the state is a living supervisor's, and of this desired state or a newer one."""
    return (
        state.supervisor is not None and is_alive(state.supervisor) and state.desired_number >= desired.number
    )


def _start_supervisor(home: StackDirectory, environment: Mapping[str, str]) -> None:
    log = home.log("supervisor")
    with open_private(log, append=True) as file:
        started = subprocess.Popen(  # noqa: S603  # this Python and a module of ours
            (sys.executable, "-P", "-m", "strider.localstack", "--home", str(home.root)),
            cwd=home.root,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=PRIVATE_UMASK,
        )
    until = time.monotonic() + SUPERVISOR_START_SECONDS
    while not is_locked(home.supervisor_lock):
        if started.poll() is not None or time.monotonic() >= until:
            raise StackStopped(f"the supervisor did not start: {last_log_lines(log) or 'its log is empty'}")
        time.sleep(POLL_SECONDS)


def _request_retry(home: StackDirectory) -> None:
    """Request a retry of failed processes."""
    state = read_state(home.state)
    if state and state.supervisor and any(each.state not in SETTLED for each in state.processes):
        ChildProcess(state.supervisor).signal(signal.SIGHUP)


def _stop_supervisor(home: StackDirectory) -> bool:
    if not is_locked(home.supervisor_lock):
        return False
    until = time.monotonic() + SUPERVISOR_STOP_SECONDS
    while is_locked(home.supervisor_lock):
        if (identity := lock_holder(home.supervisor_lock)) is not None:
            supervisor = ChildProcess(identity)
            supervisor.signal(signal.SIGTERM if time.monotonic() < until else signal.SIGKILL)
            supervisor.wait(max(until - time.monotonic(), POLL_SECONDS))
        elif time.monotonic() >= until:
            raise StackNotReady("the supervisor", f"holds {home.supervisor_lock} and cannot be identified")
        # A supervisor that has just started has not written its pid yet.
        time.sleep(POLL_SECONDS)
    return True


def _write_stopped(home: StackDirectory) -> None:
    """Write what a killed supervisor could not: that the stack is stopped."""
    state = read_state(home.state)
    if state is None or has_stopped(state):
        return
    since = datetime.now(UTC).isoformat(timespec="milliseconds")
    # All processes have ended, and a full disk does not change that; `status` checks processes itself.
    with suppress(OSError):
        write_state(
            home.state, StackState(STOPPED, since, ports=state.ports, desired_number=state.desired_number)
        )


def _wipe(home: StackDirectory) -> None:
    """Remove data, logs and state, also data that is only linked to."""
    for place in (home.root / "data").iterdir():
        if place.is_symlink():
            shutil.rmtree(place.resolve(), ignore_errors=True)
    for folder in ("data", "logs"):
        shutil.rmtree(home.root / folder, ignore_errors=True)
    home.state.unlink(missing_ok=True)
    home.desired_state.unlink(missing_ok=True)


def _stop_reason(home: StackDirectory, state: StackState | None) -> str:
    if state and state.message:
        return state.message
    if state and state.state == STOPPED:
        return "the stack was stopped meanwhile"
    return f"the supervisor ended: {last_log_lines(home.log('supervisor')) or 'its log is empty'}"


def _describe_unsettled(state: StackState | None) -> str:
    lines = [each for each in state.processes if each.state not in SETTLED] if state else []
    reasons = (
        f"{each.name} is {each.state}" + (f" ({each.reason})" if each.reason else "") for each in lines
    )
    return "; ".join(reasons) or "it has no state yet"

"""Takeover of the processes that a killed supervisor left running.

They are found by its last state (pid and start of each), and where it died before it could write, by their
pid files. Servers are taken over as they run, so that a killed supervisor costs no restart of Kafka; services
are stopped, because they must run with the current code and settings, and lose nothing by it.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from strider.localstack.directories import StackDirectory
from strider.localstack.stack_state import (
    DEGRADED,
    DONE,
    EXTERNAL,
    NOT_READY,
    SERVERS,
    STOPPED,
    ProcessStatus,
    StackState,
)

from .child import ChildProcess, read_pid_file, stop_all
from .identity import ProcessIdentity, is_alive

PID_SUFFIX = ".pid"
STOP_SIGNALS: Mapping[str, int] = {"postgres": signal.SIGINT}
"""PostgreSQL waits for its clients on SIGTERM, and disconnects them on SIGINT."""
STOP_TIMEOUT_SECONDS = 20.0


def find_orphans(home: StackDirectory, state: StackState | None) -> dict[str, ChildProcess]:
    """Return living processes of this stack, by name. Call it only while no supervisor runs."""
    found: dict[str, ChildProcess] = {}
    for path in sorted((home.root / "run").glob(f"*{PID_SUFFIX}")):
        if identity := read_pid_file(path):
            found[path.name.removesuffix(PID_SUFFIX)] = ChildProcess(identity)
    for status in state.processes if state else ():
        if status.identity and is_alive(status.identity):
            found[status.name] = ChildProcess(status.identity)
    return found


def end_orphans(orphans: Mapping[str, ChildProcess]) -> None:
    """Stop them: services first, while the servers still accept their last work."""
    for are_parts in (False, True):
        stop_all(
            (child, STOP_SIGNALS.get(name, signal.SIGTERM), STOP_TIMEOUT_SECONDS)
            for name, child in orphans.items()
            if (name in SERVERS) is are_parts
        )


def surviving_state(state: StackState) -> StackState:
    """Return what of a state is still true without its supervisor; ended processes are stopped."""
    processes = tuple(_surviving_status(each) for each in state.processes)
    if not any(each.pid for each in processes):
        return replace(state, supervisor=None, processes=processes, endpoints=dict.fromkeys(state.endpoints))
    ended = {each.name for each in processes if each.state == STOPPED}
    endpoints = {name: None if name in ended else address for name, address in state.endpoints.items()}
    return replace(state, supervisor=None, processes=processes, endpoints=endpoints)


def state_from_pid_files(home: StackDirectory) -> StackState | None:
    """Return what runs without a supervisor and a readable state; None where nothing does."""
    since = datetime.now(UTC).isoformat(timespec="milliseconds")
    found = sorted(find_orphans(home, None).items())
    lines = tuple(_status_of_orphan(name, child.identity, since=since) for name, child in found)
    return StackState(DEGRADED, since, processes=lines) if lines else None


def _status_of_orphan(name: str, identity: ProcessIdentity, *, since: str) -> ProcessStatus:
    kind = "server" if name in SERVERS else "service"
    reason = "found by its pid file; the state of the stack cannot be read"
    return ProcessStatus(name, kind, NOT_READY, since, identity.pid, identity.started, reason=reason)


def _surviving_status(status: ProcessStatus) -> ProcessStatus:
    if status.state in (EXTERNAL, DONE) or (status.identity and is_alive(status.identity)):
        return status
    return replace(status, state=STOPPED, pid=None, started=None, reason="")


def remove_pid_files(home: StackDirectory) -> None:
    """Remove the pid files, after their processes have ended."""
    for path in (home.root / "run").glob(f"*{PID_SUFFIX}"):
        path.unlink(missing_ok=True)

"""What a supervisor that was killed has left behind: its processes live on, writing to their logs.

They are found by what it wrote of them (number and start of each), and where it died before it
could write, by the file that each process wrote its own number to. Servers are taken over as they
run, so that a killed supervisor costs no restart of Kafka; services are ended, because they must
run with the code and the settings of now, and lose nothing by it.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from strider.localstack.directories import Home
from strider.localstack.plan.desired_state import PARTS
from strider.localstack.stack_state import (
    DEGRADED,
    DONE,
    EXTERNAL,
    NOT_READY,
    STOPPED,
    ProcessStatus,
    StackState,
)

from .child import Child, read_number, stop_all
from .identity import ProcessIdentity, is_alive

SUFFIX = ".pid"
STOP_SIGNALS: Mapping[str, int] = {"postgres": signal.SIGINT}
"""PostgreSQL waits for its clients on SIGTERM, and ends them on SIGINT."""
GRACE_SECONDS = 20.0


def find_orphans(home: Home, state: StackState | None) -> dict[str, Child]:
    """Living processes of this stack, by name. Only to be asked while no supervisor lives."""
    found: dict[str, Child] = {}
    for path in sorted((home.root / "run").glob(f"*{SUFFIX}")):
        if identity := read_number(path):
            found[path.name.removesuffix(SUFFIX)] = Child(identity)
    for status in state.processes if state else ():
        if status.identity and is_alive(status.identity):
            found[status.name] = Child(status.identity)
    return found


def end_orphans(orphans: Mapping[str, Child]) -> None:
    """End them: services first, while the servers still take what they have in hand."""
    for are_parts in (False, True):
        stop_all(
            (child, STOP_SIGNALS.get(name, signal.SIGTERM), GRACE_SECONDS)
            for name, child in orphans.items()
            if (name in PARTS) is are_parts
        )


def what_is_left(state: StackState) -> StackState:
    """Say what of a state is still true once its supervisor has gone: what has ended, and is nowhere."""
    processes = tuple(_as_found(each) for each in state.processes)
    if not any(each.pid for each in processes):
        return replace(state, supervisor=None, processes=processes, endpoints=dict.fromkeys(state.endpoints))
    ended = {each.name for each in processes if each.state == STOPPED}
    endpoints = {name: None if name in ended else address for name, address in state.endpoints.items()}
    return replace(state, supervisor=None, processes=processes, endpoints=endpoints)


def what_is_found(home: Home) -> StackState | None:
    """Say what runs without a supervisor and without a state that can be read; None where nothing does."""
    since = datetime.now(UTC).isoformat(timespec="milliseconds")
    found = sorted(find_orphans(home, None).items())
    lines = tuple(_told_of(name, child.identity, since=since) for name, child in found)
    return StackState(DEGRADED, since, processes=lines) if lines else None


def _told_of(name: str, identity: ProcessIdentity, *, since: str) -> ProcessStatus:
    kind = "part" if name in PARTS else "service"
    reason = "found by its number file; the state of the stack cannot be read"
    return ProcessStatus(name, kind, NOT_READY, since, identity.pid, identity.started, reason=reason)


def _as_found(status: ProcessStatus) -> ProcessStatus:
    if status.state in (EXTERNAL, DONE) or (status.identity and is_alive(status.identity)):
        return status
    return replace(status, state=STOPPED, pid=None, started=None, reason="")


def forget(home: Home) -> None:
    """Remove the number files, after their processes have ended."""
    for path in (home.root / "run").glob(f"*{SUFFIX}"):
        path.unlink(missing_ok=True)

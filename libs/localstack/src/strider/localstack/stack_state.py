"""What the stack says of itself, as it lies in `stack.json`.

The supervisor is its only writer while it lives; every command reads it. A file that cannot be
read as such counts as no file: nothing in it is worth more than the data of the parts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from .process.identity import ProcessIdentity

VERSION: Final = 1

WAITING: Final = "waiting"
STARTING: Final = "starting"
READY: Final = "ready"
NOT_READY: Final = "not-ready"
RESTARTING: Final = "restarting"
FAILING: Final = "failing"
REFUSED: Final = "refused"
STOPPING: Final = "stopping"
STOPPED: Final = "stopped"
EXTERNAL: Final = "external"
DONE: Final = "done"

PROCESS_STATES: Final[Mapping[str, str]] = {
    WAITING: "waits for a part that must be there first",
    STARTING: "runs, and has not answered yet",
    READY: "runs and answers",
    NOT_READY: "runs, and says that it cannot work now",
    RESTARTING: "ended by itself; is started again in a moment",
    FAILING: "ended several times in a row; is started again, with longer and longer pauses",
    REFUSED: "does not start with these settings; is not started again before the next `strider up`",
    STOPPING: "was asked to end",
    STOPPED: "does not run",
    EXTERNAL: "a server that the environment names; not ours to start or stop",
    DONE: "a step of the start, finished",
}
"""Every word that `state` can be."""

FAILED: Final = "failed"
DEGRADED: Final = "degraded"

WHOLE: Final[Mapping[str, str]] = {
    STARTING: "something does not answer yet",
    READY: "everything answers",
    DEGRADED: "everything answered once, and something does not now",
    STOPPING: "was asked to end",
    STOPPED: "ended in order",
    FAILED: "gave up at the start; the message says why",
}
"""Every word that the state of the whole stack can be, as the supervisor says it."""

SETTLED: Final = frozenset({READY, EXTERNAL, DONE})
"""What `strider up` waits for."""


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One line of `strider status`."""

    name: str
    kind: str
    """`part`, `step` or `service`."""
    state: str
    since: str
    pid: int | None = None
    started: str | None = None
    """The system's word for the start of that process: with the number it names one process only."""
    restarts: int = 0
    reason: str = ""
    address: str = ""

    @property
    def identity(self) -> ProcessIdentity | None:
        """The process, for whoever wants to signal it."""
        return None if self.pid is None or self.started is None else ProcessIdentity(self.pid, self.started)


@dataclass(frozen=True, slots=True)
class StackState:
    """The whole of `stack.json`."""

    state: str
    since: str
    supervisor: ProcessIdentity | None = None
    message: str = ""
    endpoints: Mapping[str, str | None] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    processes: tuple[ProcessStatus, ...] = ()
    desired_number: int = 0
    """Number of the wish that this state answers."""
    allows_private: bool = False
    """Whether its services crawl private addresses, which whoever sends seeds wants to know."""

    def process(self, name: str) -> ProcessStatus | None:
        """Find the line of that name."""
        return next((status for status in self.processes if status.name == name), None)


def write_state(path: Path, state: StackState) -> None:
    """Replace the file as a whole; only its owner may read it, for a password stands in it."""
    write_json(path, {"version": VERSION, **asdict(state)})


def read_state(path: Path) -> StackState | None:
    """Read the state as it was written last; None where there is none, or none that makes sense."""
    fields = read_json(path)
    if fields is None or fields.pop("version", None) != VERSION:
        return None
    try:
        supervisor = fields.pop("supervisor")
        processes = tuple(ProcessStatus(**each) for each in fields.pop("processes"))
        return StackState(
            **fields,
            supervisor=ProcessIdentity(**supervisor) if supervisor else None,
            processes=processes,
        )
    except (TypeError, KeyError, AttributeError):
        return None


def write_json(path: Path, fields: Mapping[str, Any]) -> None:
    """Write beside the file and move it there, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(fields, file, indent=1)
        file.write("\n")
    unfinished.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """Read the object in the file; None where there is none."""
    try:
        fields = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return fields if isinstance(fields, dict) else None

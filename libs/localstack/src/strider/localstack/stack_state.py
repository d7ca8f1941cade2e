"""The state of the stack in `stack.json`, and its desired state.

The desired state is written by `strider up`. The actual one has one writer, the supervisor; every command
reads it. An unreadable file counts as none: nothing in it is worth more than the data of the servers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from .process.identity import ProcessIdentity

SERVERS: Final = ("kafka", "postgres", "redis")
MAX_COPIES: Final = 64


class InvalidDesiredState(ValueError):  # named as in strider.runtime
    """The command line names an unknown server or service, or an invalid number."""


@dataclass(frozen=True, slots=True)
class DesiredState:
    """Desired servers and services, and the number of copies of each."""

    number: int = 0
    """Grows with every change, so that states of the supervisor can be matched to it."""
    only: tuple[str, ...] | None = None
    """Names of servers and services; None means all."""
    examples: bool = False
    scale: Mapping[str, int] = field(default_factory=dict)

    def wants_server(self, name: str) -> bool:
        """Whether this server belongs to the stack."""
        return self.only is None or name in self.only

    def copies(self, service: str, *, example: bool) -> int:
        """Return how many copies of a service are desired."""
        if service in self.scale:
            return self.scale[service]
        if self.only is not None:
            return int(service in self.only)
        return int(not example or self.examples)


def merge(
    old: DesiredState, *, only: tuple[str, ...] | None, examples: bool, scale: Mapping[str, int]
) -> DesiredState:
    """Return the desired state after one more `up`: it adds to what runs; only a scale removes."""
    wider = None if only is None or old.only is None else tuple(sorted({*old.only, *only}))
    merged = replace(old, only=wider, examples=old.examples or examples, scale={**old.scale, **scale})
    return merged if merged == old else replace(merged, number=old.number + 1)


class UnknownPart(InvalidDesiredState):
    """A server or service that does not exist."""

    def __init__(self, name: str, known: Collection[str]) -> None:
        self.name, self.known = name, sorted(known)
        super().__init__(f"unknown name {name}; known are: {', '.join(self.known) or 'none'}")


def parse_only(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the names in `kafka,postgres`, each of which must exist."""
    names = tuple(sorted({name.strip() for name in text.split(",") if name.strip()}))
    _require_known(names, known)
    return names


def parse_scale(options: Sequence[str], services: Collection[str]) -> dict[str, int]:
    """Return the number of copies for each service in `fetcher=2`."""
    scale = {}
    for word in options:
        name, _, count = word.partition("=")
        _require_known((name,), services)
        if not count.isdecimal() or int(count) > MAX_COPIES:
            raise InvalidDesiredState(f"--scale {word}: expected NAME=N, N from 0 to {MAX_COPIES}")
        scale[name] = int(count)
    return scale


def _require_known(names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownPart(name, known)


def write_desired_state(path: Path, desired: DesiredState) -> None:
    """Write the file for the supervisor."""
    write_json(path, asdict(desired))


def read_desired_state(path: Path) -> DesiredState | None:
    """Return the state that was written last; None where there is no valid one."""
    fields = read_json(path)
    if fields is None:
        return None
    try:
        only = fields.pop("only")
        return DesiredState(**fields, only=None if only is None else tuple(only))
    except (TypeError, KeyError):
        return None


VERSION: Final = 1
_DESIRED_KEY: Final = "wish"
"""Key of `desired_number` in the file."""

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
    WAITING: "waits for a part that must be ready first",
    STARTING: "runs, and has not responded yet",
    READY: "runs and responds",
    NOT_READY: "runs, and reports that it cannot work now",
    RESTARTING: "ended by itself; is started again in a moment",
    FAILING: "ended several times in a row; is started again, with longer and longer pauses",
    REFUSED: "does not start with these settings; is not started again before the next `strider up`",
    STOPPING: "was asked to stop and has not ended yet",
    STOPPED: "does not run",
    EXTERNAL: "a server that the environment names; not started or stopped from here",
    DONE: "a step of the start, finished",
}
"""Every value of a process's `state`."""

FAILED: Final = "failed"
"""State of the stack: gave up at the start; the message says why."""

DEGRADED: Final = "degraded"
"""State of the stack: everything answered once, and something does not now."""

SETTLED: Final = frozenset({READY, EXTERNAL, DONE})
"""States that `strider up` waits for."""


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One line of `strider status`."""

    name: str
    kind: str
    """`server`, `step` or `service`."""
    state: str
    since: str
    pid: int | None = None
    started: str | None = None
    """Start time in the system's form: together with the pid it identifies one process."""
    restarts: int = 0
    reason: str = ""
    address: str = ""

    @property
    def identity(self) -> ProcessIdentity | None:
        """Identity of the process, to signal it."""
        return None if self.pid is None or self.started is None else ProcessIdentity(self.pid, self.started)


@dataclass(frozen=True, slots=True)
class StackState:
    """Content of `stack.json`."""

    state: str
    since: str
    supervisor: ProcessIdentity | None = None
    message: str = ""
    endpoints: Mapping[str, str | None] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    processes: tuple[ProcessStatus, ...] = ()
    desired_number: int = 0
    """Number of the desired state that this state follows."""
    allows_private: bool = False
    """Whether its services crawl private addresses, which matters to senders of seeds."""
    setting_digests: Mapping[str, str] | None = None
    """Variables with which it was started, each with a digest of its value; None where they are unknown."""

    def process(self, name: str) -> ProcessStatus | None:
        """Return the status of a process."""
        return next((status for status in self.processes if status.name == name), None)

    def changed_settings(self, digests: Mapping[str, str]) -> tuple[str, ...]:
        """Return the variables whose values differ from those of the start."""
        if (old := self.setting_digests) is None:
            return ()
        return tuple(
            sorted(name for name in old.keys() | digests.keys() if old.get(name) != digests.get(name))
        )


def write_state(path: Path, state: StackState) -> None:
    """Replace the file atomically; only its owner may read it, because it contains a password."""
    fields = asdict(state)
    # The key is older than the name of the field.
    fields[_DESIRED_KEY] = fields.pop("desired_number")
    write_json(path, {"version": VERSION, **fields})


def read_state(path: Path) -> StackState | None:
    """Return the state that was written last; None where there is no valid one."""
    fields = read_json(path)
    if fields is None or fields.pop("version", None) != VERSION:
        return None
    try:
        supervisor = fields.pop("supervisor")
        processes = tuple(ProcessStatus(**each) for each in fields.pop("processes"))
        fields["desired_number"] = fields.pop(_DESIRED_KEY, 0)
        return StackState(
            **fields,
            supervisor=ProcessIdentity(**supervisor) if supervisor else None,
            processes=processes,
        )
    except (TypeError, KeyError, AttributeError):
        return None


def write_json(path: Path, fields: Mapping[str, Any]) -> None:
    """Write a temporary file and rename it, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(fields, file, indent=1)
        file.write("\n")
    unfinished.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the object in the file; None where there is none."""
    try:
        fields = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return fields if isinstance(fields, dict) else None

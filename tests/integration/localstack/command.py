"""The strider command as a person runs it: a process of its own, in a directory of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from strider.localstack.commands import stop_stack
from strider.localstack.directories import StackDirectory, find_stack_directory, is_locked
from strider.localstack.plan.endpoints import VARIABLES
from strider.localstack.process.identity import ProcessIdentity, is_alive
from strider.localstack.stack_state import READY, ProcessStatus, StackState, read_state
from tests.figures import FILE_VARIABLE

OF_OTHERS = {*VARIABLES.values(), "STRIDER_HOME", FILE_VARIABLE}


SMALL = ("--only", "kafka,postgres,redis,echo,tally")
"""Every server, and as services only those that start in no time."""


@dataclass(frozen=True, slots=True)
class Command:
    """`strider` in this directory, with nothing of the machine's own settings but what is given."""

    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    python: tuple[str, ...] = (sys.executable,)

    def run(self, *words: str, seconds: float = 150) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            (*self.python, "-P", "-m", "strider.cli", *words),
            cwd=self.directory,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            (*self.python, "-P", "-m", "strider.cli", *words),
            cwd=self.directory,
            env=self.variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def must(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, f"strider {' '.join(words)}: {done.stdout}{done.stderr}{self.logs()}"
        return done.stdout

    def status(self, *words: str) -> dict[str, Any]:
        done = self.run("status", "--json", *words)
        assert done.stdout, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def state(self) -> StackState:
        """What `status` is made of, without the second that a command takes to start."""
        found = read_state(self.home.state)
        assert found is not None, self.logs()
        return found

    def process(self, name: str) -> ProcessStatus:
        found = self.state().process(name)
        assert found is not None, f"no {name} in {self.state()}"
        return found

    def is_ready(self) -> bool:
        return self.state().state == READY and is_locked(self.home.supervisor_lock)

    def pids(self) -> dict[str, int]:
        return {each.name: each.pid for each in self.state().processes if each.pid}

    def living(self) -> list[str]:
        """Names of the processes that were ever told of, and that still run."""
        return [each.name for each in self.state().processes if each.identity and is_alive(each.identity)]

    def supervisor(self) -> ProcessIdentity:
        found = self.state().supervisor
        assert found is not None
        return found

    @property
    def home(self) -> StackDirectory:
        return find_stack_directory(self.variables(), self.directory)

    def logs(self) -> str:
        folder = self.directory / ".strider" / "logs"
        return "".join(f"\n== {log.name}\n{log.read_text()[-1500:]}" for log in folder.glob("*.log"))

    def readable_by_others(self) -> dict[str, str]:
        """Files and folders of the stack that another account could read or write, with their modes.

        What lies below a folder that others cannot enter is listed as well.
        """
        places = [self.home.root / name for name in ("data", "logs", "run")]
        found = [place for each in places for place in (each, *each.rglob("*"))]
        modes = {place: place.stat().st_mode for place in found if not place.is_symlink()}
        return {str(place): oct(mode & 0o777) for place, mode in modes.items() if mode & 0o066}

    def variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in OF_OTHERS}
        return {**kept, "NO_COLOR": "1", "COLUMNS": "300", **self.environment}


@contextmanager
def a_stack(directory: Path, *words: str, **environment: str) -> Iterator[Command]:
    """A stack of its own, brought up with these words, and gone at the end."""
    command = Command(directory, environment)
    try:
        command.must("up", *words)
        yield command
    finally:
        # What the command does, without a process of its own: that it works is shown where it is meant.
        stop_stack(command.home, wipe=True)


def wait_for(condition: Callable[[], bool], *, seconds: float = 90) -> bool:
    until = monotonic() + seconds
    while not condition():
        if monotonic() >= until:
            return False
        sleep(0.05)
    return True

"""Where a stack keeps what is its own: `.strider/` of the project, or what STRIDER_HOME names."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from .errors import SetupFailure, StackBusy
from .process.identity import ProcessIdentity, identify, is_alive

FOLDER: Final = ".strider"
STATE: Final = "stack.json"
LOOK_AGAIN_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class StackDirectory:
    """The directory of one stack, by the names of what lies in it."""

    root: Path

    @property
    def state(self) -> Path:
        """Endpoints and processes, as the supervisor wrote them last."""
        return self.root / STATE

    @property
    def desired_state(self) -> Path:
        """What is to run, as the commands wrote it last."""
        return self.root / "run" / "wish.json"

    @property
    def command_lock(self) -> Path:
        """Held by `up` and `down` while they decide."""
        return self.root / "run" / "command.lock"

    @property
    def supervisor_lock(self) -> Path:
        """Held by the supervisor for its whole life; the system lets go of it however the life ends."""
        return self.root / "run" / "supervisor.lock"

    def data(self, name: str) -> Path:
        """Where the data of a part is."""
        return self.root / "data" / name

    def log(self, name: str) -> Path:
        """Log file of a process."""
        return self.root / "logs" / f"{name}.log"

    def pid_file(self, name: str) -> Path:
        """File with the process number of a process."""
        return self.root / "run" / f"{name}.pid"

    def create(self) -> None:
        """Make its directories; SetupFailure when they are somebody else's."""
        try:
            for folder in ("data", "logs", "run"):
                (self.root / folder).mkdir(parents=True, exist_ok=True)
            owner = self.root.stat().st_uid
        except OSError as failure:
            raise SetupFailure(
                f"{self.root} cannot be made ({failure.strerror})",
                remedy="make room or get the right to write there, or name another place by STRIDER_HOME",
            ) from failure
        if owner != os.geteuid() or not os.access(self.root / "run", os.W_OK):
            raise SetupFailure(
                f"{self.root} belongs to user number {owner}, and this is user number {os.geteuid()}",
                remedy="start it as that user, or name another place by STRIDER_HOME",
            )


def find_stack_directory(environment: Mapping[str, str], directory: Path) -> StackDirectory:
    """Find the stack of this directory: STRIDER_HOME, else the nearest one upwards, else a new one here."""
    if named := environment.get("STRIDER_HOME"):
        return StackDirectory(Path(named).expanduser().absolute())
    for place in (directory, *directory.parents):
        if (place / FOLDER / STATE).is_file():
            return StackDirectory(place / FOLDER)
    return StackDirectory(directory / FOLDER)


@contextmanager
def hold_lock(lock: Path, *, wait_seconds: float = 0.0) -> Iterator[None]:
    """Hold a lock file, with our name in it; Busy when somebody else holds it to the end of the wait."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + wait_seconds
    with lock.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise StackBusy("another strider command is at work on this stack; wait for it") from None
            time.sleep(LOOK_AGAIN_SECONDS)
        _write_holder(file)
        yield


def _write_holder(file: TextIO) -> None:
    if (ours := identify(os.getpid())) is not None:
        file.truncate(0)
        file.write(f"{ours.pid} {ours.started}\n")
        file.flush()


def lock_holder(lock: Path) -> ProcessIdentity | None:
    """Say which living process signed the lock last; None where it has not said its name (yet)."""
    try:
        pid, _, started = lock.read_text("utf-8").strip().partition(" ")
        signed = ProcessIdentity(int(pid), started)
    except (OSError, ValueError):
        return None
    return signed if is_alive(signed) else None


def is_locked(lock: Path) -> bool:
    """Whether a living process holds the lock."""
    if not lock.exists():
        return False
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False

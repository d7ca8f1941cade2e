"""The stack's directory and locks: `.strider/` of the project, or STRIDER_HOME."""

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
from .process.child import PRIVATE_DIRECTORY_MODE, PRIVATE_MODE, make_private_directory
from .process.identity import ProcessIdentity, identify, is_alive

FOLDER: Final = ".strider"
STATE: Final = "stack.json"
LOCK_POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class StackDirectory:
    """The directory of one stack, and the paths in it."""

    root: Path

    @property
    def state(self) -> Path:
        """Endpoints and processes, as the supervisor wrote them last."""
        return self.root / STATE

    @property
    def desired_state(self) -> Path:
        """The desired state, as the commands wrote it last."""
        return self.root / "run" / "wish.json"

    @property
    def command_lock(self) -> Path:
        """Lock of `up` and `down` while they decide."""
        return self.root / "run" / "command.lock"

    @property
    def supervisor_lock(self) -> Path:
        """Lock of the supervisor while it runs; the system releases it at any end."""
        return self.root / "run" / "supervisor.lock"

    def data(self, name: str) -> Path:
        """Return the data directory of a server."""
        return self.root / "data" / name

    def log(self, name: str) -> Path:
        """Return the log file of a process."""
        return self.root / "logs" / f"{name}.log"

    def pid_file(self, name: str) -> Path:
        """Return the pid file of a process."""
        return self.root / "run" / f"{name}.pid"

    def create(self) -> None:
        """Create the directories; SetupFailure where they belong to another user."""
        try:
            for folder in ("data", "logs", "run"):
                (self.root / folder).mkdir(parents=True, exist_ok=True)
            owner = self.root.stat().st_uid
            if owner == os.geteuid():
                self._close_to_others()
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

    def _close_to_others(self) -> None:
        for folder in ("logs", "run"):
            make_private_directory(self.root / folder)
        # As root, PostgreSQL runs as another user, who has to reach its own folder in it.
        (self.root / "data").chmod(0o711 if owner_is_root() else PRIVATE_DIRECTORY_MODE)


def owner_is_root() -> bool:
    """Whether this process may act as any user."""
    return os.geteuid() == 0


def find_stack_directory(environment: Mapping[str, str], directory: Path) -> StackDirectory:
    """Return the stack of a directory: STRIDER_HOME, else the nearest one upwards, else a new one here."""
    if named := environment.get("STRIDER_HOME"):
        return StackDirectory(Path(named).expanduser().absolute())
    for place in (directory, *directory.parents):
        if (place / FOLDER / STATE).is_file():
            return StackDirectory(place / FOLDER)
    return StackDirectory(directory / FOLDER)


@contextmanager
def hold_lock(lock: Path, *, wait_seconds: float = 0.0) -> Iterator[None]:
    """Hold a lock file with our pid in it; StackBusy when another process holds it until the deadline."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + wait_seconds
    with os.fdopen(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_MODE), "a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise StackBusy("another strider command is at work on this stack; wait for it") from None
            time.sleep(LOCK_POLL_SECONDS)
        _write_holder(file)
        yield


def _write_holder(file: TextIO) -> None:
    if (ours := identify(os.getpid())) is not None:
        file.truncate(0)
        file.write(f"{ours.pid} {ours.started}\n")
        file.flush()


def lock_holder(lock: Path) -> ProcessIdentity | None:
    """Return the living process that wrote its pid last; None where there is none yet."""
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

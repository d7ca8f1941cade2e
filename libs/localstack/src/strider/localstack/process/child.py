"""Start and stop of a process, with pid file and log.

A child writes directly to its log file and leads a session of its own, so that it survives its parent's death
and can be taken over. Its pid is on disk before its program runs: the shell that becomes the program writes
it first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Final

from strider.localstack.errors import SetupFailure

from .identity import ProcessIdentity, identify, is_alive, send_signal, start_time_seconds
from .os_user import OsUser

WRITE_PID_THEN_EXEC: Final = 'echo $$; exec "$@" >&2'
"""The shell keeps its pid when it becomes the program, so the written pid stays right.

Its standard output is the pid file and its standard error the log: so the program's user needs no right to
open either.
"""
START_TIME_TOLERANCE_SECONDS: Final = 2.0
EXIT_POLL_SECONDS: Final = 0.02
PRIVATE_MODE: Final = 0o600
PRIVATE_DIRECTORY_MODE: Final = 0o700
PRIVATE_UMASK: Final = 0o077
"""Of everything that is started: crawl specs carry tokens, and data and logs carry pages."""
KILL_TIMEOUT_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """Specification of a process to start."""

    name: str
    command: tuple[str, ...]
    directory: Path
    log: Path
    pid_file: Path
    """File for its pid."""
    environment: Mapping[str, str] = field(default_factory=dict)
    os_user: OsUser | None = None
    stop_signal: int = signal.SIGTERM
    stop_timeout_seconds: float = 15.0


class ChildProcess:
    """A process of ours: started here, or taken over from a parent that is gone."""

    def __init__(self, identity: ProcessIdentity, opened: subprocess.Popen[bytes] | None = None) -> None:
        self.identity = identity
        self._popen = opened

    @property
    def exit_code(self) -> int | None:
        """Its exit status, where it is known: only the parent gets it."""
        return None if self._popen is None else self._popen.poll()

    def is_alive(self) -> bool:
        """Whether it still runs; reaps its exit status when it does not."""
        if self._popen is not None:
            return self._popen.poll() is None
        return is_alive(self.identity)

    def signal(self, signal_number: int, *, group: bool = False) -> bool:
        """Send a signal, if it still runs."""
        return self.is_alive() and send_signal(self.identity, signal_number, group=group)

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended; False when it still runs at the deadline."""
        until = time.monotonic() + seconds
        while self.is_alive():
            if time.monotonic() >= until:
                return False
            time.sleep(EXIT_POLL_SECONDS)
        return True

    def stop(self, signal_number: int, *, timeout_seconds: float) -> None:
        """Stop it with a signal; after the timeout kill it and all that it started."""
        self.signal(signal_number)
        if not self.wait(timeout_seconds):
            self.kill()

    def kill(self) -> None:
        """Kill it and its process group."""
        self.signal(signal.SIGKILL, group=True)
        self.wait(KILL_TIMEOUT_SECONDS)


def make_private_directory(path: Path) -> None:
    """Create a directory for its owner only; one that exists is closed to others."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(PRIVATE_DIRECTORY_MODE)


def open_private(path: Path, *, append: bool = False) -> FileIO:
    """Open a file for unbuffered writing; a new one is readable for its owner only."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC)
    return FileIO(os.open(path, flags, PRIVATE_MODE), "ab" if append else "wb")


def start_process(spec: LaunchSpec) -> ChildProcess:
    """Start the process; its pid is in `spec.pid_file` before its program runs."""
    for path in (spec.log, spec.pid_file):
        path.parent.mkdir(parents=True, exist_ok=True)
    options = spec.os_user.subprocess_options() if spec.os_user else {}
    try:
        with open_private(spec.log, append=True) as log, open_private(spec.pid_file) as pid_file:
            # The command is a list of ours; the shell reads nothing in it but words.
            opened = subprocess.Popen(  # noqa: S603  # see above
                ("/bin/sh", "-c", WRITE_PID_THEN_EXEC, "sh", *spec.command),
                cwd=spec.directory,
                env=dict(spec.environment),
                stdin=subprocess.DEVNULL,
                stdout=pid_file,
                stderr=log,
                start_new_session=True,
                umask=PRIVATE_UMASK,
                **options,
            )
    except OSError as failure:
        raise SetupFailure(
            f"{spec.name} cannot be started ({failure.strerror}: {failure.filename})",
            remedy=f"check that {spec.directory} is yours and that its disk has space",
        ) from failure
    identity = identify(opened.pid) or ProcessIdentity(opened.pid, "gone")
    return ChildProcess(identity, opened)


def read_pid_file(path: Path) -> ProcessIdentity | None:
    """Return the process that wrote this file, if it still runs.

    A later process with the same pid has another start time: ours started when the file was written. Where
    the system has no start times, no process is taken for ours.
    """
    try:
        pid = int(path.read_text())
        written = path.stat().st_mtime
    except (FileNotFoundError, ValueError):
        return None
    identity = identify(pid)
    began = start_time_seconds(pid) if identity else None
    if began is None or abs(began - written) > START_TIME_TOLERANCE_SECONDS:
        return None
    return identity


def stop_all(children: Iterable[tuple[ChildProcess, int, float]]) -> None:
    """Signal all of them, then wait for each within its own timeout."""
    waiting = list(children)
    for child, number, _ in waiting:
        child.signal(number)
    began = time.monotonic()
    for child, _, timeout_seconds in waiting:
        if not child.wait(max(timeout_seconds - (time.monotonic() - began), 0)):
            child.kill()


def last_log_lines(log: Path, *, lines: int = 1, bytes_at_most: int = 8192) -> str:
    """Return the last lines of a log, for messages."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - bytes_at_most, 0))
        return "\n".join(file.read().decode("utf-8", "replace").strip().splitlines()[-lines:])
    return ""

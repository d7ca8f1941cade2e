"""How a process is started and ended, whichever it is.

A child writes straight to its log file and leads a session of its own, so that it survives the
death of whoever started it and can be taken over. Its number is on disk before its program runs:
the shell that becomes the program writes it first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from strider.localstack.errors import SetupFailure

from .identity import ProcessIdentity, identify, is_alive, send_signal, start_time_seconds
from .os_user import OsUser

WRITE_PID_THEN_EXEC: Final = 'echo $$; exec "$@" >&2'
"""The shell keeps its number when it becomes the program, so what it wrote stays true.

Its standard output is the number's file and its standard error the log: that needs no right to open
either, which the program's account may not have.
"""
START_TIME_TOLERANCE_SECONDS: Final = 2.0
LOOK_AGAIN_SECONDS: Final = 0.02
KILL_TIMEOUT_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """One process, as it is to be started."""

    name: str
    command: tuple[str, ...]
    directory: Path
    log: Path
    pid_file: Path
    """Where its process number is written."""
    environment: Mapping[str, str] = field(default_factory=dict)
    os_user: OsUser | None = None
    stop_signal: int = signal.SIGTERM
    stop_timeout_seconds: float = 15.0


class ChildProcess:
    """A process of ours: started here, or taken over from a starter that is gone."""

    def __init__(self, identity: ProcessIdentity, opened: subprocess.Popen[bytes] | None = None) -> None:
        self.identity = identity
        self._opened = opened

    @property
    def exit_code(self) -> int | None:
        """Its exit status, where it is known: nobody but the parent is told."""
        return None if self._opened is None else self._opened.poll()

    def is_alive(self) -> bool:
        """Whether it still runs; also takes its exit status when it does not."""
        if self._opened is not None:
            return self._opened.poll() is None
        return is_alive(self.identity)

    def signal(self, signal_number: int, *, group: bool = False) -> bool:
        """Signal it, if it still runs."""
        return self.is_alive() and send_signal(self.identity, signal_number, group=group)

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended; False when it runs on at the deadline."""
        until = time.monotonic() + seconds
        while self.is_alive():
            if time.monotonic() >= until:
                return False
            time.sleep(LOOK_AGAIN_SECONDS)
        return True

    def stop(self, signal_number: int, *, timeout_seconds: float) -> None:
        """Ask it to end, wait for the grace, then end it and all that it started."""
        self.signal(signal_number)
        if not self.wait(timeout_seconds):
            self.kill()

    def kill(self) -> None:
        """End it and its group at once, as the power would."""
        self.signal(signal.SIGKILL, group=True)
        self.wait(KILL_TIMEOUT_SECONDS)


def start_process(spec: LaunchSpec) -> ChildProcess:
    """Start the process; its number is in `launch.number` before its program does anything."""
    for path in (spec.log, spec.pid_file):
        path.parent.mkdir(parents=True, exist_ok=True)
    options = spec.os_user.subprocess_options() if spec.os_user else {}
    try:
        with spec.log.open("ab", buffering=0) as log, spec.pid_file.open("wb", buffering=0) as number:
            # The command is a list of ours; nothing in it is read by the shell as anything but words.
            opened = subprocess.Popen(  # noqa: S603  # see above
                ("/bin/sh", "-c", WRITE_PID_THEN_EXEC, "sh", *spec.command),
                cwd=spec.directory,
                env=dict(spec.environment),
                stdin=subprocess.DEVNULL,
                stdout=number,
                stderr=log,
                start_new_session=True,
                **options,
            )
    except OSError as failure:
        raise SetupFailure(
            f"{spec.name} cannot be started ({failure.strerror}: {failure.filename})",
            remedy=f"see that {spec.directory} is yours and that there is room on its disk",
        ) from failure
    identity = identify(opened.pid) or ProcessIdentity(opened.pid, "gone")
    return ChildProcess(identity, opened)


def read_pid_file(path: Path) -> ProcessIdentity | None:
    """Find the process that wrote this file, if it still runs.

    A later process with the same number is told apart by its start: ours began when the file was
    written. Where the system does not tell when a process began, nobody is believed to be ours.
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
    """Ask all of them to end at once, then see each to its end within its own grace."""
    waiting = list(children)
    for child, number, _ in waiting:
        child.signal(number)
    began = time.monotonic()
    for child, _, grace_seconds in waiting:
        if not child.wait(max(grace_seconds - (time.monotonic() - began), 0)):
            child.kill()


def last_log_lines(log: Path, *, lines: int = 1, bytes_at_most: int = 8192) -> str:
    """Read the last lines of a log, for messages."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - bytes_at_most, 0))
        return "\n".join(file.read().decode("utf-8", "replace").strip().splitlines()[-lines:])
    return ""

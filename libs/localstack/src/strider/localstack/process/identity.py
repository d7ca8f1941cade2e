"""Process identity: pid and start time, because pids are reused.

This package signals a process only after both were compared, so a reused pid is never hit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
STAT_STATE: Final = 0
STAT_STARTED: Final = 19
"""Positions in /proc/<pid>/stat after the program's name, which may contain blanks and brackets."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process, and no later one with the same pid."""

    pid: int
    started: str
    """Start time in the system's form: compared, never interpreted."""


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of a running process; None where it has ended or is a zombie."""
    started = _start_ticks_linux(pid) if sys.platform == "linux" else _start_time_from_ps(pid)
    return None if started is None else ProcessIdentity(pid, started)


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether exactly this process still runs."""
    return identify(identity.pid) == identity


def send_signal(identity: ProcessIdentity, signal_number: int, *, group: bool = False) -> bool:
    """Signal the process (or the group that it leads) if it is still the same one."""
    if not is_alive(identity):
        return False
    try:
        if group and os.getpgid(identity.pid) == identity.pid:
            os.killpg(identity.pid, signal_number)
        else:
            os.kill(identity.pid, signal_number)
    except ProcessLookupError:
        return False
    return True


def start_time_seconds(pid: int) -> float | None:
    """Return the start time in seconds since 1970; None where the system has none."""
    started = _start_ticks_linux(pid) if sys.platform == "linux" else None
    if started is None:
        return None
    ticks = int(started.rsplit(":", 1)[1]) / os.sysconf("SC_CLK_TCK")
    uptime = float((PROC / "uptime").read_text().split()[0])
    return time.time() - uptime + ticks


def _start_ticks_linux(pid: int) -> str | None:
    try:
        stat = (PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(b")")[2].split()
    if fields[STAT_STATE] in (b"Z", b"X"):
        return None
    # Ticks count from the boot, so the boot id belongs to the identity.
    boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{fields[STAT_STARTED].decode()}"


def _start_time_from_ps(pid: int) -> str | None:
    # An absolute path and a number: nothing here can be injected.
    result = subprocess.run(  # noqa: S603  # an absolute path and a number
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C"},
    )
    state, _, started = result.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else started.strip()

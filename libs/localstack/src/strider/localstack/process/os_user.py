"""The operating system user for PostgreSQL, which refuses to run as root.

An ordinary user runs it as themselves. Root runs it as `nobody`; where that user cannot access the programs
or the data directory, the programs are copied and the data is placed elsewhere.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from strider.localstack.errors import SetupFailure

UNPRIVILEGED: Final = ("nobody", "daemon")
SHARED_ROOT: Final = Path("/var/lib/strider")
"""Root's place for what the unprivileged user must access, when the stack's own place is closed to it."""


@dataclass(frozen=True, slots=True)
class OsUser:
    """A user and group to run a process as."""

    name: str
    uid: int
    gid: int

    def subprocess_options(self) -> dict[str, Any]:
        """Return the options for `subprocess`."""
        return {"user": self.uid, "group": self.gid, "extra_groups": ()}


def choose_os_user() -> OsUser | None:
    """Return the user for programs that refuse root; None for an ordinary user."""
    if os.geteuid() != 0:
        _require_user_name(os.geteuid())
        return None
    for name in UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return OsUser(name, entry.pw_uid, entry.pw_gid)
    raise SetupFailure(
        "PostgreSQL does not run as root and this machine has no user named nobody",
        remedy="start the stack as an ordinary user, or name a server of yours by POSTGRES_DSN",
    )


def _require_user_name(uid: int) -> None:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise SetupFailure(
            f"PostgreSQL needs a user name and user number {uid} has none on this machine",
            remedy="add the user to /etc/passwd, or name a server of yours by POSTGRES_DSN",
        ) from None


def can_access(user: OsUser, path: Path, *, writing: bool = False) -> bool:
    """Whether the user can access this path: tried, not derived from permission bits."""
    command = ["/bin/sh", "-c", f'test -{"w" if writing else "r"} "$0"', str(path)]
    result = subprocess.run(  # noqa: S603  # a fixed shell line; the path is an argument of it
        command, check=False, cwd="/", stderr=subprocess.DEVNULL, **user.subprocess_options()
    )
    return result.returncode == 0


def give_directory(path: Path, user: OsUser) -> None:
    """Create a directory that belongs to the user alone."""
    path.mkdir(parents=True, exist_ok=True)
    os.chown(path, user.uid, user.gid)
    path.chmod(0o700)


def shared_directory(name: str) -> Path:
    """Create a directory of that name which every user can access."""
    place = SHARED_ROOT / name
    place.mkdir(parents=True, exist_ok=True)
    for folder in (SHARED_ROOT, place):
        folder.chmod(0o755)
    return place


def accessible_programs(programs: Path, user: OsUser, *, probe: Path) -> Path:
    """Return the programs where the user can run them, else a copy that it can."""
    if can_access(user, programs / probe):
        return programs
    stamp = int((programs / probe).stat().st_mtime)
    copy = shared_directory("programs") / f"{programs.name}-{stamp}"
    if not copy.exists():
        unfinished = copy.with_name(f"{copy.name}.{os.getpid()}")
        shutil.copytree(programs, unfinished, symlinks=True)
        try:
            unfinished.rename(copy)
        except OSError:
            # Another process finished the same copy first.
            shutil.rmtree(unfinished)
    return copy

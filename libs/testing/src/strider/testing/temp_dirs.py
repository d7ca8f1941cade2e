"""Directories of real servers in tests, and their cleanup after a killed test run.

A server outlives its parent, so a killed test run leaves servers behind. The next run on the same machine
finds their directories, sees that their owner is gone, and removes both.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from strider.localstack.process.child import ChildProcess, read_pid_file
from strider.localstack.process.identity import ProcessIdentity, identify, is_alive

PREFIX: Final = "strider-test-"
OWNER: Final = "owner.json"


@contextmanager
def temp_server_directory(parent: Path | None = None) -> Iterator[Path]:
    """Create a directory that other users can pass through, which pytest's own ones forbid."""
    around = parent or Path(tempfile.gettempdir())
    remove_abandoned(around)
    place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=around))
    place.chmod(0o755)
    if me := identify(os.getpid()):
        (place / OWNER).write_text(json.dumps(asdict(me)))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def remove_abandoned(around: Path) -> list[Path]:
    """Kill the servers of test runs that are gone, and remove their directories."""
    abandoned = [place for place in around.glob(f"{PREFIX}*") if _is_abandoned(place)]
    for place in abandoned:
        for number in (*place.glob("*.pid"), *place.glob("*/*.pid")):
            if server := read_pid_file(number):
                ChildProcess(server).kill()
        shutil.rmtree(place, ignore_errors=True)
    return abandoned


def _is_abandoned(place: Path) -> bool:
    """Whether its owner is recorded, of this user, and gone; a directory without a record is kept."""
    with suppress(OSError, ValueError, TypeError):
        if place.stat().st_uid == os.geteuid():
            return not is_alive(ProcessIdentity(**json.loads((place / OWNER).read_text())))
    return False

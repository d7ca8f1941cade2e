"""Checks of this machine: the local stack, the object store, free disk space, the clock."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from strider.localstack.directories import find_stack_directory, is_locked
from strider.localstack.plan.endpoints import read_endpoints, running_stack
from strider.localstack.servers.kafka_jars import cache_directory
from strider.localstack.stack_state import PROCESS_STATES, SETTLED, STARTING, WAITING
from strider.messaging.errors import InfrastructureError
from strider.runtime.clocks import SystemClock
from strider.storage.errors import StoreFailure
from strider.storage.objects import ObjectOptions, open_object_store

from .checks import Check, CheckFinding, CheckStatus

AREA: Final = "reachability"

DISK_WARNING_BYTES: Final = 2 * 1024**3
"""Free space from which on a larger crawl may fill the disk."""
DISK_FAULT_BYTES: Final = 200 * 1024**2
"""Free space from which on servers of the local stack stop."""
EARLIEST_YEAR: Final = 2025
"""A clock before this year was never set."""

PENDING_STATES: Final = frozenset({STARTING, WAITING})
FAULTY_STATES: Final = frozenset(PROCESS_STATES) - SETTLED - PENDING_STATES

PROBE: Final = b"strider doctor"


def machine_checks(
    environment: Mapping[str, str], directory: Path, *, deadline_seconds: float
) -> Iterator[Check]:
    """Return the checks."""
    seconds = max(0.5, deadline_seconds * 0.7)
    yield Check(AREA, "object-store", lambda: _check_objects(environment, directory, seconds))
    yield Check(AREA, "local-stack", lambda: _check_stack(environment, directory))
    yield Check(AREA, "disk", lambda: _check_disks(environment, directory))
    yield Check(AREA, "clock", _check_clock)


def _finding(name: str, status: CheckStatus, detail: str, remedy: str = "") -> CheckFinding:
    return CheckFinding(AREA, name, status, detail, remedy)


def _check_objects(environment: Mapping[str, str], directory: Path, seconds: float) -> Sequence[CheckFinding]:
    """Write to the object store: a file that is deleted, or an object that retention deletes."""
    name, url = "object-store", read_endpoints(environment, directory).get("objects", "")
    if not url:
        remedy = "set OBJECT_STORE_URL to keep bodies and long texts"
        return [_finding(name, CheckStatus.WARNING, "no address is configured", remedy)]
    shown = url.rpartition("@")[2] if "@" in url else url
    try:
        address = urlsplit(url)
        if address.scheme == "file":
            folder = Path(unquote(address.path))
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as file:
                file.write(PROBE)
        else:
            asyncio.run(_put_object(url, seconds))
    except (InfrastructureError, StoreFailure, OSError, ValueError) as failure:
        return [_finding(name, CheckStatus.FAULT, f"not writable: {failure}", "correct OBJECT_STORE_URL")]
    return [_finding(name, CheckStatus.OK, f"writable: {shown}")]


async def _put_object(url: str, seconds: float) -> None:
    objects = open_object_store(ObjectOptions(url, timeout_seconds=seconds), clock=SystemClock())
    try:
        async with asyncio.timeout(seconds):
            await objects.get(await objects.put(PROBE))
    finally:
        await objects.close()


def _check_stack(environment: Mapping[str, str], directory: Path) -> Sequence[CheckFinding]:
    name, home = "local-stack", find_stack_directory(environment, directory)
    stack = running_stack(environment, directory)
    if stack is None:
        return [_finding(name, CheckStatus.OK, "not running")]
    if not is_locked(home.supervisor_lock):
        detail = "the supervisor has died, and left processes"
        return [_finding(name, CheckStatus.FAULT, detail, "strider up adopts them, strider down stops them")]
    for status, wrong in ((CheckStatus.FAULT, FAULTY_STATES), (CheckStatus.WARNING, PENDING_STATES)):
        if found := [each for each in stack.processes if each.state in wrong]:
            detail = "; ".join(f"{each.name}: {each.state} {each.reason}".rstrip() for each in found)
            return [_finding(name, status, detail, "strider status, strider logs NAME")]
    return [_finding(name, CheckStatus.OK, "every process and step is ready")]


def _check_disks(environment: Mapping[str, str], directory: Path) -> Sequence[CheckFinding]:
    """Check the free space of the folders that strider writes to, once per file system."""
    folders = {
        "local stack": find_stack_directory(environment, directory).root,
        "downloads": cache_directory(environment),
        "temporary files": Path(tempfile.gettempdir()),
    }
    found: dict[int, CheckFinding] = {}
    for what, folder in folders.items():
        existing = _existing(folder)
        device = existing.stat().st_dev
        if device not in found:
            found[device] = _disk_finding(what, existing)
    return list(found.values())


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _disk_finding(what: str, folder: Path) -> CheckFinding:
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1024**3:.1f} GiB free for {what} ({folder})"
    if not os.access(folder, os.W_OK):
        return _finding("disk", CheckStatus.WARNING, f"{folder} is not writable ({what})", "change its owner")
    if free < DISK_FAULT_BYTES:
        return _finding("disk", CheckStatus.FAULT, detail, "free disk space")
    if free < DISK_WARNING_BYTES:
        return _finding("disk", CheckStatus.WARNING, detail, "free disk space before a large crawl")
    return _finding("disk", CheckStatus.OK, detail)


def _check_clock() -> Sequence[CheckFinding]:
    now = datetime.now(UTC)
    if now.year < EARLIEST_YEAR:
        return [
            _finding("clock", CheckStatus.FAULT, f"this machine: {now:%Y-%m-%d %H:%M} UTC", "set the clock")
        ]
    return [_finding("clock", CheckStatus.OK, f"this machine: {now:%Y-%m-%d %H:%M} UTC")]

"""Log files of the stack: rotation, reading and following.

The processes append to their files directly, so a full file is copied and truncated, not renamed. A line that
is written in that very moment may be lost; that is the price for a supervisor whose death affects no process.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .process.child import PRIVATE_MODE

MAX_LOG_BYTES: Final = 10_000_000
KEPT_FILES: Final = 3
FOLLOW_POLL_SECONDS: Final = 0.2
CHUNK_BYTES: Final = 65536


def rotate(log: Path, *, full_bytes: int = MAX_LOG_BYTES, kept: int = KEPT_FILES) -> bool:
    """Copy a full file to `.1`, shift older ones, and truncate it; return whether it was full."""
    try:
        if log.stat().st_size < full_bytes:
            return False
    except FileNotFoundError:
        return False
    for number in range(kept - 1, 0, -1):
        with suppress(FileNotFoundError):
            log.with_name(f"{log.name}.{number}").replace(log.with_name(f"{log.name}.{number + 1}"))
    copy = log.with_name(f"{log.name}.1")
    copy.touch(PRIVATE_MODE)
    shutil.copyfile(log, copy)
    with log.open("r+b") as file:
        file.truncate(0)
    return True


@dataclass(frozen=True, slots=True)
class LogFileLine:
    """One line and the process that wrote it."""

    name: str
    text: str


def last_lines(logs: Mapping[str, Path], count: int) -> Iterator[LogFileLine]:
    """Yield the last lines of each file, one file after the other."""
    for name, log in logs.items():
        for text in _read_last(log, count):
            yield LogFileLine(name, text)


def follow(
    find: Callable[[], Mapping[str, Path]], *, is_over: Callable[[], bool] = lambda: False
) -> Iterator[LogFileLine]:
    """Yield lines as they are written, of existing and new files, until `is_over`."""
    positions = {name: _size(log) for name, log in find().items()}
    rests: dict[str, bytes] = {}
    while True:
        over, found = is_over(), False
        for name, log in find().items():
            size = _size(log)
            at = positions.get(name, 0)
            # A file that became shorter was truncated: read it from its beginning.
            at = 0 if size < at else at
            if size > at:
                found = True
                chunk = _read(log, at, min(size - at, CHUNK_BYTES))
                positions[name] = at + len(chunk)
                whole, _, rests[name] = (rests.get(name, b"") + chunk).rpartition(b"\n")
                yield from (LogFileLine(name, _text(line)) for line in whole.splitlines())
            else:
                positions[name] = at
        if over and not found:
            return
        if not found:
            time.sleep(FOLLOW_POLL_SECONDS)


def format_line(text: str) -> str:
    """Return a structured line as readable text; any other line unchanged."""
    if not text.startswith("{"):
        return text
    try:
        fields: dict[str, Any] = json.loads(text)
        event = fields.pop("event")
    except (ValueError, KeyError):
        return text
    moment = str(fields.pop("timestamp", fields.pop("ts", "")))
    level = str(fields.pop("level", "info"))
    fields.pop("service", None)
    rest = " ".join(f"{name}={_value(value)}" for name, value in fields.items())
    return f"{moment[11:23]} {level:<7} {event} {rest}".strip()


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read_last(log: Path, count: int) -> Iterable[str]:
    if count <= 0:
        return []
    data = _read(log, max(_size(log) - CHUNK_BYTES * 16, 0), CHUNK_BYTES * 16)
    return [_text(line) for line in data.splitlines()[-count:]]


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except FileNotFoundError:
        return 0


def _read(log: Path, at: int, count: int) -> bytes:
    try:
        with log.open("rb") as file:
            file.seek(at)
            return file.read(count)
    except FileNotFoundError:
        return b""


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")

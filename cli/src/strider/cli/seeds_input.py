"""Lines as they come: from arguments, a file or a pipe, without holding more than a few of them.

A pipe may bring a million lines, or one a minute; so it is read in a thread of its own, which nobody
waits for when the command ends.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import CancelledError
from functools import partial
from threading import Thread
from typing import BinaryIO, Final

from .seeds_lines import Bad, Line

CHUNK_BYTES: Final = 64 * 1024
CHUNKS_AHEAD: Final = 4

MAX_LINE_BYTES: Final = 64 * 1024
"""A seed with all that may stand in it."""


async def lines_of(arguments: Sequence[str], stream: BinaryIO | None, name: str) -> AsyncIterator[Line | Bad]:
    """Give the arguments, then what stands in a stream."""
    for number, text in enumerate(arguments, 1):
        yield Line(f"argument {number}", text.strip())
    if stream is None:
        return
    number, rest, is_too_long = 0, b"", False
    async for chunk in _chunks_of(stream):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            if not is_too_long and (read := _line_of(line, f"{name}:{number}")) is not None:
                yield read
            is_too_long = False
        if len(rest) > MAX_LINE_BYTES:
            if not is_too_long:
                yield Bad(f"{name}:{number + 1}", f"longer than {MAX_LINE_BYTES} bytes")
            rest, is_too_long = b"", True
    if not is_too_long and (last := _line_of(rest, f"{name}:{number + 1}")) is not None:
        yield last


def _line_of(raw: bytes, place: str) -> Line | Bad | None:
    """Read one line; None for what is blank or a remark."""
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as failure:
        return Bad(place, f"no UTF-8 at byte {failure.start}")
    return Line(place, text) if text and not text.startswith("#") else None


async def _chunks_of(stream: BinaryIO) -> AsyncIterator[bytes]:
    """Read what is there, as soon as it is there. Ends with the stream; raises its OSError."""
    queue: asyncio.Queue[bytes | OSError] = asyncio.Queue(CHUNKS_AHEAD)
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            for part in _parts_of(stream):
                asyncio.run_coroutine_threadsafe(queue.put(part), loop).result()
        except (RuntimeError, CancelledError):
            return  # the command has ended, and its loop with it

    Thread(target=read, name="seeds", daemon=True).start()
    while (part := await queue.get()) != b"":
        if isinstance(part, OSError):
            raise part
        yield part


def _parts_of(stream: BinaryIO) -> Iterator[bytes | OSError]:
    """Give what can be read, then nothing, or the failure."""
    try:
        # Past the stream's own buffer, whose lock a thread that still waits would hold at the exit.
        number = stream.fileno()
    except OSError:  # a stream in memory
        yield from iter(partial(stream.read, CHUNK_BYTES), b"")
        yield b""
        return
    try:
        yield from iter(partial(os.read, number, CHUNK_BYTES), b"")
    except OSError as failure:
        yield failure
    else:
        yield b""

"""Input lines from arguments, a file or a pipe, of which only a few are in memory.

A pipe may bring a million lines, or one a minute; so it is read in a daemon thread, which does not delay
the end of the command.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import CancelledError
from functools import partial
from threading import Thread
from typing import BinaryIO, Final

from .reader import BadLine, InputLine

CHUNK_BYTES: Final = 64 * 1024
CHUNKS_AHEAD: Final = 4

MAX_LINE_BYTES: Final = 64 * 1024
"""Room for a seed with all of its fields."""


async def parse_url_list(
    arguments: Sequence[str], stream: BinaryIO | None, name: str
) -> AsyncIterator[InputLine | BadLine]:
    """Return the arguments, then the lines of a stream."""
    for number, text in enumerate(arguments, 1):
        yield InputLine(f"argument {number}", text.strip())
    if stream is None:
        return
    number, rest, is_too_long = 0, b"", False
    async for chunk in _read_chunks(stream):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            if not is_too_long and (read := _parse_line(line, f"{name}:{number}")) is not None:
                yield read
            is_too_long = False
        if len(rest) > MAX_LINE_BYTES:
            if not is_too_long:
                yield BadLine(f"{name}:{number + 1}", f"longer than {MAX_LINE_BYTES} bytes")
            rest, is_too_long = b"", True
    if not is_too_long and (last := _parse_line(rest, f"{name}:{number + 1}")) is not None:
        yield last


def _parse_line(raw: bytes, place: str) -> InputLine | BadLine | None:
    """Parse one line; None for a blank line or a comment."""
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as failure:
        return BadLine(place, f"not UTF-8 at byte {failure.start}")
    return InputLine(place, text) if text and not text.startswith("#") else None


async def _read_chunks(stream: BinaryIO) -> AsyncIterator[bytes]:
    """Read what is available, as soon as it is. Ends with the stream; raises its OSError."""
    queue: asyncio.Queue[bytes | OSError] = asyncio.Queue(CHUNKS_AHEAD)
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            for part in _read_parts(stream):
                asyncio.run_coroutine_threadsafe(queue.put(part), loop).result()
        except (RuntimeError, CancelledError):
            return  # the command has ended, and its loop with it

    Thread(target=read, name="seeds", daemon=True).start()
    while (part := await queue.get()) != b"":
        if isinstance(part, OSError):
            raise part
        yield part


def _read_parts(stream: BinaryIO) -> Iterator[bytes | OSError]:
    """Return what can be read, then b"", or the failure."""
    try:
        # Without the stream's own buffer, whose lock a waiting thread would hold at exit.
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

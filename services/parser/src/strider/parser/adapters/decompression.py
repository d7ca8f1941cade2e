"""Undoes one content encoding, taking what was sent in pieces and giving what comes out in portions.

gzip and deflate through isal, brotli through its own library, zstd through that of Python 3.14, which all
stop wherever a portion is full. Stops at a limit, and where more than a megabyte has come out at a ratio that
only a bomb has. Knows nothing of what the bytes mean.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

import brotli
from isal import isal_zlib

from strider.parser.core.document.content_type_sniffing import GZIP_MAGIC, ZSTD_MAGIC

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BOMB_RATIO: Final = 100
BOMB_EXEMPT_BYTES: Final = 1024 * 1024
"""Up to here a ratio says nothing: a megabyte of spaces is nobody's attack."""

OUTPUT_CHUNK_BYTES: Final = 256 * 1024
INPUT_CHUNK_BYTES: Final = 64 * 1024
"""Of what was sent, at a time: whatever is not used of it is copied with each portion."""

MAX_WINDOW_LOG: Final = 23
"""How far back zstd may reach, 8 MB (RFC 9659): whoever undoes it holds so much, and a hundred bytes may ask
for two thousand MB."""

LONGEST_MAGIC_BYTES: Final = len(ZSTD_MAGIC)
"""What the longest of them has."""

_SKIPPABLE_FRAMES: Final = frozenset(bytes((number, 0x2A, 0x4D, 0x18)) for number in range(0x50, 0x60))
"""Frames that hold something else than the content (RFC 8878)."""
_GZIP_OR_ZLIB_BITS: Final = 47
_RAW_BITS: Final = -15
_DEFLATED: Final = 8
_ZLIB_CHECK: Final = 31

_ISAL_ERROR: Final[Any] = isal_zlib.error
"""The library's types call it an instance."""

OutputChunks = Generator[bytes, None, bool]
"""Portions, of which none is empty, and at the end whether they are the whole of it."""


class DecompressionBomb(Exception):
    """More came out than may."""


class Broken(Exception):
    """What was encoded is no such encoding."""


class ExpansionLimit:
    """What has gone into an encoding and what has come out of it; raises Bomb where that cannot be."""

    def __init__(self, max_bytes: int, *, input_bytes: int | None = None) -> None:
        """`sent` is the size of all that goes in, where it is known; else what has gone in so far counts."""
        self.max_bytes = max_bytes
        self._is_input_size_known = input_bytes is not None
        self.input_bytes = input_bytes or 0
        self.output_bytes = 0

    def add_input(self, size: int) -> None:
        """Add what goes in."""
        if not self._is_input_size_known:
            self.input_bytes += size

    def add_output(self, size: int) -> None:
        """Add what comes out."""
        self.output_bytes += size
        self.check(self.output_bytes)

    def check(self, size: int) -> None:
        """Say whether so much may come out."""
        if size > self.max_bytes:
            raise DecompressionBomb(f"more than {self.max_bytes} bytes out of {self.input_bytes}")
        if size > BOMB_EXEMPT_BYTES and size > BOMB_RATIO * self.input_bytes:
            raise DecompressionBomb(f"more than {BOMB_RATIO} bytes for each of {self.input_bytes}")


def input_chunks(body: bytes) -> Iterator[bytes]:
    """Give a body a little at a time."""
    return (body[at : at + INPUT_CHUNK_BYTES] for at in range(0, len(body), INPUT_CHUNK_BYTES))


def decompress_gzip(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Undo gzip, of one member or several, or zlib."""
    return _inflated(source, scales, _GZIP_OR_ZLIB_BITS)


def decompress_raw_deflate(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Undo deflate without a head."""
    return _inflated(source, scales, _RAW_BITS)


def decompress_deflate(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Undo deflate, which is zlib by the standard and raw by habit: the first two bytes tell."""
    head = _read_at_least(len(GZIP_MAGIC), b"", source)
    is_zlib = head[:1] and head[0] % 16 == _DEFLATED and int.from_bytes(head[:2], "big") % _ZLIB_CHECK == 0
    bits = _GZIP_OR_ZLIB_BITS if is_zlib or head.startswith(GZIP_MAGIC) else _RAW_BITS
    return (yield from _inflated(_before(head, source), scales, bits))


def _inflated(source: Iterator[bytes], scales: ExpansionLimit, bits: int) -> OutputChunks:
    data = b""
    while True:
        stream = isal_zlib.decompressobj(bits)
        while not stream.eof:
            if not (data := data or next(source, b"")):
                if not scales.output_bytes:
                    raise Broken("it ends before anything comes out")
                return False
            try:
                while (portion := stream.decompress(data, OUTPUT_CHUNK_BYTES)) or stream.unconsumed_tail:
                    scales.add_output(len(portion))
                    if portion:
                        yield portion
                    data = stream.unconsumed_tail
            except _ISAL_ERROR as failure:
                if scales.output_bytes:
                    return False
                raise Broken(str(failure)) from failure
            data = b""
        data = _read_at_least(len(GZIP_MAGIC), stream.unused_data, source)
        if bits == _RAW_BITS or not data.startswith(GZIP_MAGIC):
            return True  # padding after the end is not ours to judge


def decompress_brotli(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Undo brotli."""
    stream = brotli.Decompressor()
    for data in source:
        given = data
        try:
            # What is not asked for stays within: asked again, with nothing more, it gives the rest.
            while portion := stream.process(given, output_buffer_limit=OUTPUT_CHUNK_BYTES):
                scales.add_output(len(portion))
                yield portion
                given = b""
                if stream.is_finished():
                    return True
        except brotli.error as failure:
            raise Broken(str(failure)) from failure
    if not scales.output_bytes:
        raise Broken("it ends before anything comes out")
    return bool(stream.is_finished())


def decompress_zstd(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Undo zstd, of one frame or several."""
    data = next(source, b"")
    while True:
        stream = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG})
        while not stream.eof:
            if stream.needs_input and not data and not (data := next(source, b"")):
                if not scales.output_bytes:
                    raise Broken("it ends before anything comes out")
                return False
            try:
                portion = stream.decompress(data, OUTPUT_CHUNK_BYTES)
            except zstd.ZstdError as failure:
                if scales.output_bytes:
                    return False
                raise Broken(str(failure)) from failure
            data = b""
            if portion:
                scales.add_output(len(portion))
                yield portion
        data = _read_at_least(LONGEST_MAGIC_BYTES, stream.unused_data, source)
        if data[:LONGEST_MAGIC_BYTES] != ZSTD_MAGIC and data[:LONGEST_MAGIC_BYTES] not in _SKIPPABLE_FRAMES:
            return True  # padding after the end is not ours to judge


def _read_at_least(size: int, data: bytes, source: Iterator[bytes]) -> bytes:
    """Take more until a beginning can be told by it, or there is no more."""
    while len(data) < size and (more := next(source, b"")):
        data = bytes(data) + bytes(more)
    return data


def _before(head: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from source


STREAMED: Final[dict[str, Callable[[Iterator[bytes], ExpansionLimit], OutputChunks]]] = {
    "gzip": decompress_gzip,
    "x-gzip": decompress_gzip,
    "deflate": decompress_deflate,
    "br": decompress_brotli,
    "zstd": decompress_zstd,
}

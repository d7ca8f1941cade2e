"""Decompress gzip, deflate, brotli and zstd in chunks, with a limit on size and ratio.

gzip and deflate use isal, brotli its own library, zstd that of Python 3.14; all of these stop wherever an
output chunk is full. Stops at the size limit, and above one megabyte at a ratio that only a decompression
bomb has. Knows nothing of what the bytes mean.
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
"""The ratio is not checked up to here: a megabyte of spaces is harmless."""

OUTPUT_CHUNK_BYTES: Final = 256 * 1024
INPUT_CHUNK_BYTES: Final = 64 * 1024
"""Input that is passed at a time: what is not used of it is copied with each output chunk."""

MAX_WINDOW_LOG: Final = 23
"""Largest zstd window, 8 MB (RFC 9659): a decoder has to hold it, and a hundred bytes may ask for 2,000 MB.
"""

LONGEST_MAGIC_BYTES: Final = len(ZSTD_MAGIC)
"""Length of the longest magic number."""

_SKIPPABLE_FRAMES: Final = frozenset(bytes((number, 0x2A, 0x4D, 0x18)) for number in range(0x50, 0x60))
"""Frames that do not hold content (RFC 8878)."""
_GZIP_OR_ZLIB_BITS: Final = 47
_RAW_BITS: Final = -15
_ZLIB_METHOD: Final = 8
_ZLIB_CHECK_DIVISOR: Final = 31

_ISAL_ERROR: Final[Any] = isal_zlib.error
"""The library's type stubs declare the class as an instance."""

OutputChunks = Generator[bytes, None, bool]
"""Yields non-empty chunks and returns whether these are the whole content."""


class DecompressionBomb(Exception):
    """The output is larger than allowed."""


class CorruptEncoding(Exception):
    """The input is not in this encoding."""


class ExpansionLimit:
    """Counts input and output of a decoder; raises DecompressionBomb above the limits."""

    def __init__(self, max_bytes: int, *, input_bytes: int | None = None) -> None:
        """`input_bytes` is the size of the whole input where it is known; else the input so far counts."""
        self.max_bytes = max_bytes
        self._is_input_size_known = input_bytes is not None
        self.input_bytes = input_bytes or 0
        self.output_bytes = 0

    def add_input(self, size: int) -> None:
        """Count input."""
        if not self._is_input_size_known:
            self.input_bytes += size

    def add_output(self, size: int) -> None:
        """Count output."""
        self.output_bytes += size
        self.check(self.output_bytes)

    def check(self, size: int) -> None:
        """Raise DecompressionBomb where an output of this size is not allowed."""
        if size > self.max_bytes:
            raise DecompressionBomb(f"more than {self.max_bytes} bytes out of {self.input_bytes}")
        if size > BOMB_EXEMPT_BYTES and size > BOMB_RATIO * self.input_bytes:
            raise DecompressionBomb(f"more than {BOMB_RATIO} bytes for each of {self.input_bytes}")


def input_chunks(body: bytes) -> Iterator[bytes]:
    """Return a body in chunks."""
    return (body[at : at + INPUT_CHUNK_BYTES] for at in range(0, len(body), INPUT_CHUNK_BYTES))


def decompress_gzip(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Decode gzip with one or several members, or zlib."""
    return _inflate(source, scales, _GZIP_OR_ZLIB_BITS)


def decompress_raw_deflate(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Decode deflate without a zlib header."""
    return _inflate(source, scales, _RAW_BITS)


def decompress_deflate(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Decode deflate: zlib by the standard, raw in practice; the first two bytes decide."""
    head = _read_at_least(len(GZIP_MAGIC), b"", source)
    is_zlib = (
        head[:1]
        and head[0] % 16 == _ZLIB_METHOD
        and int.from_bytes(head[:2], "big") % _ZLIB_CHECK_DIVISOR == 0
    )
    bits = _GZIP_OR_ZLIB_BITS if is_zlib or head.startswith(GZIP_MAGIC) else _RAW_BITS
    return (yield from _inflate(_prepend(head, source), scales, bits))


def _inflate(source: Iterator[bytes], scales: ExpansionLimit, bits: int) -> OutputChunks:
    data = b""
    while True:
        stream = isal_zlib.decompressobj(bits)
        while not stream.eof:
            if not (data := data or next(source, b"")):
                if not scales.output_bytes:
                    raise CorruptEncoding("it ends before anything comes out")
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
                raise CorruptEncoding(str(failure)) from failure
            data = b""
        data = _read_at_least(len(GZIP_MAGIC), stream.unused_data, source)
        if bits == _RAW_BITS or not data.startswith(GZIP_MAGIC):
            return True  # padding after the end is ignored


def decompress_brotli(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Decode brotli."""
    stream = brotli.Decompressor()
    for data in source:
        given = data
        try:
            # Output beyond the limit stays inside: the next call without input returns the rest.
            while portion := stream.process(given, output_buffer_limit=OUTPUT_CHUNK_BYTES):
                scales.add_output(len(portion))
                yield portion
                given = b""
                if stream.is_finished():
                    return True
        except brotli.error as failure:
            raise CorruptEncoding(str(failure)) from failure
    if not scales.output_bytes:
        raise CorruptEncoding("it ends before anything comes out")
    return bool(stream.is_finished())


def decompress_zstd(source: Iterator[bytes], scales: ExpansionLimit) -> OutputChunks:
    """Decode zstd with one or several frames."""
    data = next(source, b"")
    while True:
        stream = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG})
        while not stream.eof:
            if stream.needs_input and not data and not (data := next(source, b"")):
                if not scales.output_bytes:
                    raise CorruptEncoding("it ends before anything comes out")
                return False
            try:
                portion = stream.decompress(data, OUTPUT_CHUNK_BYTES)
            except zstd.ZstdError as failure:
                if scales.output_bytes:
                    return False
                raise CorruptEncoding(str(failure)) from failure
            data = b""
            if portion:
                scales.add_output(len(portion))
                yield portion
        data = _read_at_least(LONGEST_MAGIC_BYTES, stream.unused_data, source)
        if data[:LONGEST_MAGIC_BYTES] != ZSTD_MAGIC and data[:LONGEST_MAGIC_BYTES] not in _SKIPPABLE_FRAMES:
            return True  # padding after the end is ignored


def _read_at_least(size: int, data: bytes, source: Iterator[bytes]) -> bytes:
    """Read until the data has this size, or the source ends."""
    while len(data) < size and (more := next(source, b"")):
        data = bytes(data) + bytes(more)
    return data


def _prepend(head: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from source


DECOMPRESSORS: Final[dict[str, Callable[[Iterator[bytes], ExpansionLimit], OutputChunks]]] = {
    "gzip": decompress_gzip,
    "x-gzip": decompress_gzip,
    "deflate": decompress_deflate,
    "br": decompress_brotli,
    "zstd": decompress_zstd,
}

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
BOMB_FREE_BYTES: Final = 1024 * 1024
"""Up to here a ratio says nothing: a megabyte of spaces is nobody's attack."""

PORTION_BYTES: Final = 256 * 1024
TAKEN_BYTES: Final = 64 * 1024
"""Of what was sent, at a time: whatever is not used of it is copied with each portion."""

MAX_WINDOW_LOG: Final = 23
"""How far back zstd may reach, 8 MB (RFC 9659): whoever undoes it holds so much, and a hundred bytes may ask
for two thousand MB."""

MAGIC_BYTES: Final = len(ZSTD_MAGIC)
"""What the longest of them has."""

_SKIPPED: Final = frozenset(bytes((number, 0x2A, 0x4D, 0x18)) for number in range(0x50, 0x60))
"""Frames that hold something else than the content (RFC 8878)."""
_GZIP_OR_ZLIB_BITS: Final = 47
_RAW_BITS: Final = -15
_DEFLATED: Final = 8
_ZLIB_CHECK: Final = 31

_ISAL_ERROR: Final[Any] = isal_zlib.error
"""The library's types call it an instance."""

Portioned = Generator[bytes, None, bool]
"""Portions, of which none is empty, and at the end whether they are the whole of it."""


class Bomb(Exception):
    """More came out than may."""


class Broken(Exception):
    """What was encoded is no such encoding."""


class Scales:
    """What has gone into an encoding and what has come out of it; raises Bomb where that cannot be."""

    def __init__(self, max_bytes: int, *, sent: int | None = None) -> None:
        """`sent` is the size of all that goes in, where it is known; else what has gone in so far counts."""
        self.max_bytes = max_bytes
        self._is_known = sent is not None
        self.sent = sent or 0
        self.total = 0

    def took(self, size: int) -> None:
        """Add what goes in."""
        if not self._is_known:
            self.sent += size

    def gave(self, size: int) -> None:
        """Add what comes out."""
        self.total += size
        self.check(self.total)

    def check(self, size: int) -> None:
        """Say whether so much may come out."""
        if size > self.max_bytes:
            raise Bomb(f"more than {self.max_bytes} bytes out of {self.sent}")
        if size > BOMB_FREE_BYTES and size > BOMB_RATIO * self.sent:
            raise Bomb(f"more than {BOMB_RATIO} bytes for each of {self.sent}")


def pieces(body: bytes) -> Iterator[bytes]:
    """Give a body a little at a time."""
    return (body[at : at + TAKEN_BYTES] for at in range(0, len(body), TAKEN_BYTES))


def inflated(source: Iterator[bytes], scales: Scales) -> Portioned:
    """Undo gzip, of one member or several, or zlib."""
    return _inflated(source, scales, _GZIP_OR_ZLIB_BITS)


def inflated_raw(source: Iterator[bytes], scales: Scales) -> Portioned:
    """Undo deflate without a head."""
    return _inflated(source, scales, _RAW_BITS)


def deflated(source: Iterator[bytes], scales: Scales) -> Portioned:
    """Undo deflate, which is zlib by the standard and raw by habit: the first two bytes tell."""
    head = _at_least(len(GZIP_MAGIC), b"", source)
    is_zlib = head[:1] and head[0] % 16 == _DEFLATED and int.from_bytes(head[:2], "big") % _ZLIB_CHECK == 0
    bits = _GZIP_OR_ZLIB_BITS if is_zlib or head.startswith(GZIP_MAGIC) else _RAW_BITS
    return (yield from _inflated(_before(head, source), scales, bits))


def _inflated(source: Iterator[bytes], scales: Scales, bits: int) -> Portioned:
    data = b""
    while True:
        stream = isal_zlib.decompressobj(bits)
        while not stream.eof:
            if not (data := data or next(source, b"")):
                if not scales.total:
                    raise Broken("it ends before anything comes out")
                return False
            try:
                while (portion := stream.decompress(data, PORTION_BYTES)) or stream.unconsumed_tail:
                    scales.gave(len(portion))
                    if portion:
                        yield portion
                    data = stream.unconsumed_tail
            except _ISAL_ERROR as failure:
                if scales.total:
                    return False
                raise Broken(str(failure)) from failure
            data = b""
        data = _at_least(len(GZIP_MAGIC), stream.unused_data, source)
        if bits == _RAW_BITS or not data.startswith(GZIP_MAGIC):
            return True  # padding after the end is not ours to judge


def unbrotlied(source: Iterator[bytes], scales: Scales) -> Portioned:
    """Undo brotli."""
    stream = brotli.Decompressor()
    for data in source:
        given = data
        try:
            # What is not asked for stays within: asked again, with nothing more, it gives the rest.
            while portion := stream.process(given, output_buffer_limit=PORTION_BYTES):
                scales.gave(len(portion))
                yield portion
                given = b""
                if stream.is_finished():
                    return True
        except brotli.error as failure:
            raise Broken(str(failure)) from failure
    if not scales.total:
        raise Broken("it ends before anything comes out")
    return bool(stream.is_finished())


def unzstded(source: Iterator[bytes], scales: Scales) -> Portioned:
    """Undo zstd, of one frame or several."""
    data = next(source, b"")
    while True:
        stream = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG})
        while not stream.eof:
            if stream.needs_input and not data and not (data := next(source, b"")):
                if not scales.total:
                    raise Broken("it ends before anything comes out")
                return False
            try:
                portion = stream.decompress(data, PORTION_BYTES)
            except zstd.ZstdError as failure:
                if scales.total:
                    return False
                raise Broken(str(failure)) from failure
            data = b""
            if portion:
                scales.gave(len(portion))
                yield portion
        data = _at_least(MAGIC_BYTES, stream.unused_data, source)
        if data[:MAGIC_BYTES] != ZSTD_MAGIC and data[:MAGIC_BYTES] not in _SKIPPED:
            return True  # padding after the end is not ours to judge


def _at_least(size: int, data: bytes, source: Iterator[bytes]) -> bytes:
    """Take more until a beginning can be told by it, or there is no more."""
    while len(data) < size and (more := next(source, b"")):
        data = bytes(data) + bytes(more)
    return data


def _before(head: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from source


STREAMED: Final[dict[str, Callable[[Iterator[bytes], Scales], Portioned]]] = {
    "gzip": inflated,
    "x-gzip": inflated,
    "deflate": deflated,
    "br": unbrotlied,
    "zstd": unzstded,
}

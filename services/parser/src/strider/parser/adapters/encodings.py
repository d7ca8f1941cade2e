"""Undoes content encodings, without ever holding much more than what may come out.

gzip and deflate through isal, brotli and zstd through cramjam, which has no bound of its own: it
writes into a buffer of our size. Stops at the caller's limit, and where more than a megabyte has
come out at a ratio that only a bomb has. Knows nothing of what the bytes mean.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

import cramjam
from isal import isal_zlib

from strider.contracts.generated.words import ErrorClass, ParseOutcome
from strider.parser.core.outcomes import Unreadable
from strider.parser.core.portions import Portions
from strider.parser.core.tools import Unpacked

MAX_NESTED: Final = 5
BOMB_RATIO: Final = 100
BOMB_FREE_BYTES: Final = 1024 * 1024
"""Up to here a ratio says nothing: a megabyte of spaces is nobody's attack."""

PORTION_BYTES: Final = 256 * 1024
TAKEN_BYTES: Final = 64 * 1024
"""Of what was sent, at a time: whatever is not used of it is copied with each portion."""
FIRST_BUFFER_BYTES: Final = 256 * 1024
BUFFER_GROWTH: Final = 8

_AS_IT_IS: Final = frozenset({"", "identity", "none", "binary", "utf-8", "8bit", "7bit", "text/html"})
"""What servers say who mean nothing by it."""

_GZIP_OR_ZLIB_BITS: Final = 47
_RAW_BITS: Final = -15
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_NAMES: Final = frozenset({"gzip", "x-gzip"})


_ISAL_ERROR: Final[Any] = isal_zlib.error
"""The library's types call it an instance."""


class _Bomb(Exception):
    """More came out than may."""


class _Broken(Exception):
    """What was encoded is no such encoding."""


def unpack(body: bytes, content_encoding: str, max_bytes: int) -> Unpacked | Unreadable:
    """Undo all encodings of a body, the last one first."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    encodings = [name for name in reversed(names) if name not in _AS_IT_IS]
    if not encodings:
        if len(body) > max_bytes:
            return Unreadable(ParseOutcome.TOO_LARGE, f"{len(body)} bytes, the limit is {max_bytes}")
        return Unpacked(body)
    if len(encodings) > MAX_NESTED:
        return _undecodable(f"{len(encodings)} encodings", ErrorClass.TOO_MANY_ENCODINGS)
    is_whole = True
    for encoding in encodings:
        try:
            body, is_all = _decode(body, encoding, max_bytes)
        except _Bomb as bomb:
            return Unreadable(ParseOutcome.DECODE_BOMB, f"{encoding}: {bomb}")
        except _Broken as failure:
            return _undecodable(f"{encoding}: {failure}")
        is_whole = is_whole and is_all
    return Unpacked(body, is_whole=is_whole)


def _undecodable(message: str, error_class: str = ErrorClass.BAD_ENCODING) -> Unreadable:
    return Unreadable(ParseOutcome.UNDECODABLE, message, error_class)


def _decode(body: bytes, encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    if not body:
        return body, True
    try:
        return _DECODERS.get(encoding, _refuse)(body, max_bytes)
    except _Broken:
        if _is_plain(body):
            return body, True  # a label without the encoding is common, and harmless
        raise


def _refuse(_body: bytes, _max_bytes: int) -> tuple[bytes, bool]:
    raise _Broken("an encoding that nobody here knows")


def _is_plain(body: bytes) -> bool:
    """Say whether bytes can only be text that was never encoded."""
    head = body[:512]
    return head.lstrip()[:1] in {b"<", b"{", b"["} and b"\0" not in head


def _inflate(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
    """Undo gzip, of one member or several, or zlib."""
    return _gather(_inflating(body, _GZIP_OR_ZLIB_BITS, max_bytes))


def _deflate(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
    """Undo deflate, which is zlib by the standard and raw by habit."""
    try:
        return _inflate(body, max_bytes)
    except _Broken:
        return _gather(_inflating(body, _RAW_BITS, max_bytes))


def _gather(portions: Generator[bytes, None, bool]) -> tuple[bytes, bool]:
    found: list[bytes] = []
    while True:
        try:
            found.append(next(portions))
        except StopIteration as end:
            return b"".join(found), end.value


def _inflating(body: bytes, bits: int, max_bytes: int) -> Generator[bytes, None, bool]:
    """Give what comes out, portion by portion, and at the end whether it was whole."""
    view, size, at, total = memoryview(body), len(body), 0, 0
    while at < size:
        stream = isal_zlib.decompressobj(bits)
        while at < size and not stream.eof:
            data: Any = view[at : at + TAKEN_BYTES]
            at += len(data)
            try:
                while (portion := stream.decompress(data, PORTION_BYTES)) or stream.unconsumed_tail:
                    total += len(portion)
                    _check(total, sent=size, max_bytes=max_bytes)
                    yield portion
                    data = stream.unconsumed_tail
            except _ISAL_ERROR as failure:
                if total:
                    return False
                raise _Broken(str(failure)) from failure
        if not stream.eof:
            if not total:
                raise _Broken("it ends before anything comes out")
            return False
        at -= len(stream.unused_data)
        if bits == _RAW_BITS or body[at : at + 2] != _GZIP_MAGIC:
            break  # padding after the end is not ours to judge
    return True


class _Plain:
    """A body as it is, portion by portion."""

    is_whole = True
    is_refused = False

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        return (self._body[at : at + PORTION_BYTES] for at in range(0, len(self._body), PORTION_BYTES))


class _Gzipped:
    """A gzipped body, undone anew each time that its portions are asked for."""

    def __init__(self, body: bytes, max_bytes: int) -> None:
        self._body = body
        self._max_bytes = max_bytes
        self.is_whole = True
        self.is_refused = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            self.is_whole = yield from _inflating(self._body, _GZIP_OR_ZLIB_BITS, self._max_bytes)
        except (_Bomb, _Broken):
            self.is_refused = True


def open_body(body: bytes, content_encoding: str, max_bytes: int) -> Portions | None:
    """Give a body in portions, so that it need not be held as a whole; None where it has to be."""
    names = {name.strip().lower() for name in content_encoding.split(",")} - _AS_IT_IS
    if not names and not body.startswith(_GZIP_MAGIC):
        return _Plain(body) if len(body) <= max_bytes else None
    if names <= _GZIP_NAMES and content_encoding.count(",") == 0 and len(body) <= max_bytes:
        return _Gzipped(body, max_bytes)
    return None


def _into_buffer(decompress_into: Callable[[Any, Any], int]) -> Callable[[bytes, int], tuple[bytes, bool]]:
    def decode(body: bytes, max_bytes: int) -> tuple[bytes, bool]:
        size = min(max_bytes, max(FIRST_BUFFER_BYTES, BUFFER_GROWTH * len(body)))
        while True:
            buffer = bytearray(size)
            try:
                written = decompress_into(body, buffer)
            except (cramjam.DecompressionError, OSError, ValueError) as failure:
                if "whole buffer" not in str(failure):
                    raise _Broken(str(failure)) from failure
                _check(size + 1, sent=len(body), max_bytes=max_bytes)
                size = min(max_bytes, BUFFER_GROWTH * size)
                continue
            _check(written, sent=len(body), max_bytes=max_bytes)
            return bytes(memoryview(buffer)[:written]), True

    return decode


def _check(size: int, *, sent: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise _Bomb(f"more than {max_bytes} bytes out of {sent}")
    if size > BOMB_FREE_BYTES and size > BOMB_RATIO * sent:
        raise _Bomb(f"more than {BOMB_RATIO} bytes for each of {sent}")


_DECODERS: Final[dict[str, Callable[[bytes, int], tuple[bytes, bool]]]] = {
    "gzip": _inflate,
    "x-gzip": _inflate,
    "deflate": _deflate,
    "br": _into_buffer(cramjam.brotli.decompress_into),
    "zstd": _into_buffer(cramjam.zstd.decompress_into),
}

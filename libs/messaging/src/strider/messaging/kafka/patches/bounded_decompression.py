"""Decompression of record batches within a bound.

A batch of 8 KB may be 256 MB when it is decompressed, and a reader would hold all of it. Each codec
decompresses into a buffer of exactly the bound's size, which takes memory only where it was written to, and
stops where that is full: what is larger is never held. It costs the same as the library's own decompression,
which has no bound. The buffer is the thread's own, because the codecs release the interpreter.

A few MiB may also be records of hundreds of thousands of headers, each of which is a Python object: a large
batch is therefore passed to a reader that counts them.

Like `internals`, this holds for AIOKAFKA_VERSION. It decides what is too large, and not what follows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from mmap import MADV_DONTNEED, mmap
from typing import Any, Final

from aiokafka import codec as library

from .compression import stored_records

DEFAULT_LIMIT_BYTES: Final = 32 * 1024 * 1024

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""Names of the codecs, by the number that a batch has for them."""

_DECODER_MODULES: Final = tuple(
    f"aiokafka.record.{where}{name}_records" for where in ("", "_crecords.") for name in ("default", "legacy")
)
"""Modules that decode batches; two are compiled, and missing where a platform has no wheel."""
_FAST_DECODER: Final = "aiokafka.record._crecords.default_records"
_FAST_DECODER_BYTES: Final = 2 * 1024 * 1024
"""Largest batch that the compiled decoder reads: eight times the largest of ours."""
_KEPT_BYTES: Final = 1024 * 1024
"""How much of the buffer stays in memory between two batches: more than one of ours fills."""
_BUFFER_FULL: Final = "failed to write whole buffer"
"""Report of the streaming codecs that the buffer ends before the content does."""
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
"""Begins what Java's producers write with snappy: then blocks, each after its size in four bytes."""
_SIZE_BYTES: Final = 4

_codecs: Any = getattr(library, "cramjam")  # noqa: B009  # the library's own import, without types


class DecompressionLimitExceeded(Exception):
    """Content has more bytes than the bound when it is decompressed."""

    def __init__(self, codec: str, limit_bytes: int) -> None:
        super().__init__(f"{codec}: more than {limit_bytes} bytes when it is decompressed")
        self.codec = codec
        self.limit_bytes = limit_bytes


class LargeBatch(Exception):
    """A batch is within the bound, but too large for the decoder that does not count headers."""


def install_bounded_decompression(limit_bytes: int) -> None:
    """Have every consumer of this process decompress within this bound; the last call counts.

    The library's modules name the functions in themselves only, so that no single consumer can be given
    others.
    """
    for name in _DECODER_MODULES:
        try:
            reader: Any = import_module(name)
        except ImportError:
            continue
        checked_bytes = _FAST_DECODER_BYTES if name == _FAST_DECODER else limit_bytes
        decompressor = BoundedDecompressor(limit_bytes, checked_bytes=checked_bytes)
        reader.gzip_decode = decompressor.gzip
        reader.snappy_decode = decompressor.snappy
        reader.lz4_decode = decompressor.lz4
        reader.zstd_decode = decompressor.zstd


class BoundedDecompressor:
    """The four codecs of record batches; each raises DecompressionLimitExceeded beyond the bound.

    Below it, they raise LargeBatch beyond `checked_bytes`.
    """

    _local = threading.local()

    def __init__(self, limit_bytes: int, *, checked_bytes: int | None = None) -> None:
        self._limit_bytes = limit_bytes
        self._checked_bytes = checked_bytes or limit_bytes

    def gzip(self, content: Any) -> bytes:
        """Return the records of a batch; of all its members, where there are several."""
        return self._decompress("gzip", _codecs.gzip.decompress_into, content)

    def lz4(self, content: Any) -> bytes:
        """Return the records of a batch."""
        return self._decompress("lz4", _codecs.lz4.decompress_into, content)

    def zstd(self, content: bytes) -> bytes:
        """Return the records of a batch; stored frames are read without the codec."""
        records = stored_records(content)
        return self._decompress("zstd", _codecs.zstd.decompress_into, content) if records is None else records

    def snappy(self, content: Any) -> bytes:
        """Return the records of a batch, in the framing of Java's producers or in none."""
        raw = bytes(content)
        if not raw.startswith(_XERIAL_MAGIC):
            return self._decompress("snappy", self._unsnap, raw)
        found: list[bytes] = []
        size, position = 0, len(_XERIAL_MAGIC)
        while position < len(raw):
            start = position + _SIZE_BYTES
            position = start + int.from_bytes(raw[position:start], "big")
            found.append(self._decompress("snappy", self._unsnap, raw[start:position]))
            size += len(found[-1])
            if size > self._limit_bytes:
                raise DecompressionLimitExceeded("snappy", self._limit_bytes)
            if size > self._checked_bytes:
                raise LargeBatch
        return b"".join(found)

    def _unsnap(self, content: bytes, buffer: mmap) -> int:
        # The format begins with the size, for which the codec refuses a buffer that is smaller.
        if _codecs.snappy.decompress_raw_len(content) > self._limit_bytes:
            raise DecompressionLimitExceeded("snappy", self._limit_bytes)
        size: int = _codecs.snappy.decompress_raw_into(content, buffer)
        return size

    def _decompress(self, codec: str, decompress_into: Callable[[Any, mmap], int], content: Any) -> bytes:
        buffer = self._buffer()
        size = self._limit_bytes
        try:
            size = decompress_into(content, buffer)
            if size > self._checked_bytes:
                raise LargeBatch
            return buffer[:size]
        except _codecs.DecompressionError as error:
            if _BUFFER_FULL in str(error):
                raise DecompressionLimitExceeded(codec, self._limit_bytes) from None
            raise
        finally:
            if size > _KEPT_BYTES:
                buffer.madvise(MADV_DONTNEED)

    def _buffer(self) -> mmap:
        buffer: mmap | None = getattr(self._local, "buffer", None)
        if buffer is None or len(buffer) != self._limit_bytes:
            buffer = self._local.buffer = mmap(-1, self._limit_bytes)
        return buffer

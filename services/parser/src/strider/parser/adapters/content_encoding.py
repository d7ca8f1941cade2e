"""Undoes content encodings, without ever holding much more than what may come out.

As a whole, or in portions for who need not hold it. Decides which encodings there are and what becomes of a
body that has others, or too many; each one is undone by `decoders`. Knows nothing of what the bytes mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from strider.contracts.generated.enums import ErrorClass, ParseOutcome
from strider.parser.core.document.content_type_sniffing import compression_of, is_binary
from strider.parser.core.document.streamed_body import BodyStream
from strider.parser.core.parser_ports import DecodedBody
from strider.parser.core.unreadable_pages import ParseFailure

from . import decompression as decoders
from .decompression import (
    LONGEST_MAGIC_BYTES,
    STREAMED,
    Broken,
    DecompressionBomb,
    ExpansionLimit,
    OutputChunks,
    decompress_gzip,
    decompress_raw_deflate,
    input_chunks,
)

MAX_ENCODINGS: Final = 5

_AS_IT_IS: Final = frozenset({"", "identity", "none", "binary", "utf-8", "8bit", "7bit", "text/html"})
"""What servers say who mean nothing by it."""


def unpack(body: bytes, content_encoding: str, max_bytes: int) -> DecodedBody | ParseFailure:
    """Undo all encodings of a body, the last one first."""
    encodings = _parse_encodings(content_encoding)
    if not encodings:
        if len(body) > max_bytes:
            return ParseFailure(ParseOutcome.TOO_LARGE, f"{len(body)} bytes, the limit is {max_bytes}")
        return DecodedBody(body)
    if len(encodings) > MAX_ENCODINGS:
        return _undecodable(f"{len(encodings)} encodings", ErrorClass.TOO_MANY_ENCODINGS)
    is_whole = True
    for encoding in encodings:
        try:
            body, is_all = _decode(body, encoding, max_bytes)
        except DecompressionBomb as bomb:
            return ParseFailure(ParseOutcome.DECODE_BOMB, f"{encoding}: {bomb}")
        except Broken as failure:
            return _undecodable(f"{encoding}: {failure}")
        is_whole = is_whole and is_all
    return DecodedBody(body, is_whole=is_whole)


def _parse_encodings(content_encoding: str) -> list[str]:
    """Give the encodings that mean something, the last one first."""
    names = [name.partition(";")[0].strip(" \t\"'").lower() for name in content_encoding.split(",")]
    return [name for name in reversed(names) if name not in _AS_IT_IS]


def _undecodable(message: str, error_class: str = ErrorClass.BAD_ENCODING) -> ParseFailure:
    return ParseFailure(ParseOutcome.UNDECODABLE, message, error_class)


def _decode(body: bytes, encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    if not body:
        return body, True
    try:
        content, is_whole = _undone(body, encoding, max_bytes)
    except Broken:
        if _is_plain(body):
            return body, True  # a label without the encoding is common, and harmless
        shown = compression_of(body)
        if shown in {"", encoding.removeprefix("x-")}:
            raise
        content, is_whole = _undone(body, shown, max_bytes)  # a label of another encoding
    if (not is_whole or not content) and _is_plain(body):  # what such a label has made of text
        return body, True
    return content, is_whole


def _undone(body: bytes, encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    if encoding not in STREAMED:
        raise Broken("an encoding that nobody here knows")
    if encoding != "deflate":
        return _gather(
            STREAMED[encoding](input_chunks(body), ExpansionLimit(max_bytes, input_bytes=len(body)))
        )
    try:  # whichever of its two forms it turns out to be
        return _gather(decompress_gzip(input_chunks(body), ExpansionLimit(max_bytes, input_bytes=len(body))))
    except Broken:
        return _gather(
            decompress_raw_deflate(input_chunks(body), ExpansionLimit(max_bytes, input_bytes=len(body)))
        )


def _is_plain(body: bytes) -> bool:
    """Say whether bytes can only be text that was never encoded."""
    head = body[:512]
    return head.lstrip()[:1] in {b"<", b"{", b"["} and b"\0" not in head and not is_binary(head)


def _gather(portions: OutputChunks) -> tuple[bytes, bool]:
    found: list[bytes] = []
    while True:
        try:
            found.append(next(portions))
        except StopIteration as end:
            return found[0] if len(found) == 1 else b"".join(found), end.value


class _Plain:
    """A body as it is, portion by portion."""

    is_whole = True
    is_rejected = False

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        return _cut(self._body)


class _EncodedBody:
    """A body in portions, its encodings undone anew each time that they are asked for.

    That it is refused says only that it has to be looked at as a whole, where more can be told.
    """

    def __init__(self, body: bytes, encodings: list[str], max_bytes: int) -> None:
        self._body = body
        self._encodings = encodings
        self._max_bytes = max_bytes
        self.is_whole = True
        self.is_rejected = False

    def __iter__(self) -> Iterator[bytes]:
        self.is_whole = True
        try:
            yield from self._undone()
        except (DecompressionBomb, Broken):
            self.is_rejected = True

    def _undone(self) -> Iterator[bytes]:
        source, scales = (
            input_chunks(self._body),
            ExpansionLimit(self._max_bytes, input_bytes=len(self._body)),
        )
        for encoding in self._encodings:
            source = self._decode_layer(encoding, source, scales)
            scales = ExpansionLimit(self._max_bytes)
        head = next(source, b"")
        while len(head) < LONGEST_MAGIC_BYTES and (more := next(source, b"")):
            head += more
        source = chain((head,), source)
        if packing := compression_of(head):  # a file that is packed itself, as sitemaps are
            source = self._decode_layer(packing, source, scales)
        yield from source

    def _decode_layer(
        self, encoding: str, source: Iterator[bytes], scales: ExpansionLimit
    ) -> Iterator[bytes]:
        """Undo one of them; what comes behind its end is gone through all the same, for what it shows."""
        is_whole = yield from STREAMED[encoding](_count_input(source, scales), scales)
        for _ in source:
            pass
        self.is_whole = self.is_whole and is_whole


def _cut(body: bytes) -> Iterator[bytes]:
    size = decoders.OUTPUT_CHUNK_BYTES
    return (body[at : at + size] for at in range(0, len(body), size))


def _count_input(source: Iterator[bytes], scales: ExpansionLimit) -> Iterator[bytes]:
    for piece in source:
        scales.add_input(len(piece))
        yield piece


def open_body(body: bytes, content_encoding: str, max_bytes: int) -> BodyStream | None:
    """Give a body in portions, so that it need not be held as a whole; None where it has to be."""
    encodings = _parse_encodings(content_encoding)
    if len(body) > max_bytes or len(encodings) > MAX_ENCODINGS or not STREAMED.keys() >= set(encodings):
        return None
    if not encodings and not compression_of(body):
        return _Plain(body)
    return _EncodedBody(body, encodings, max_bytes)

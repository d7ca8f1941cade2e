"""Decode content encodings in memory that is bounded by the size of the output.

Decodes a body as a whole, or in chunks for readers that need not hold it. Decides which encodings are
supported and what happens to a body with others, or with too many; `decompression` decodes each one. Knows
nothing of what the bytes mean.
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
    DECOMPRESSORS,
    LONGEST_MAGIC_BYTES,
    CorruptEncoding,
    DecompressionBomb,
    ExpansionLimit,
    OutputChunks,
    decompress_gzip,
    decompress_raw_deflate,
    input_chunks,
)

MAX_ENCODINGS: Final = 5

_IDENTITY_LABELS: Final = frozenset({"", "identity", "none", "binary", "utf-8", "8bit", "7bit", "text/html"})
"""Labels that servers send for a body that is not encoded."""


def unpack(body: bytes, content_encoding: str, max_bytes: int) -> DecodedBody | ParseFailure:
    """Decode all encodings of a body, the last one first."""
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
        except CorruptEncoding as failure:
            return _undecodable(f"{encoding}: {failure}")
        is_whole = is_whole and is_all
    return DecodedBody(body, is_whole=is_whole)


def _parse_encodings(content_encoding: str) -> list[str]:
    """Return the encodings that change the body, the last one first."""
    names = [name.partition(";")[0].strip(" \t\"'").lower() for name in content_encoding.split(",")]
    return [name for name in reversed(names) if name not in _IDENTITY_LABELS]


def _undecodable(message: str, error_class: str = ErrorClass.BAD_ENCODING) -> ParseFailure:
    return ParseFailure(ParseOutcome.UNDECODABLE, message, error_class)


def _decode(body: bytes, encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    if not body:
        return body, True
    try:
        content, is_whole = _decompress(body, encoding, max_bytes)
    except CorruptEncoding:
        if _is_plain_text(body):
            return body, True  # a label without the encoding is common, and harmless
        shown = compression_of(body)
        if shown in {"", encoding.removeprefix("x-")}:
            raise
        content, is_whole = _decompress(body, shown, max_bytes)  # labelled as another encoding
    if (not is_whole or not content) and _is_plain_text(
        body
    ):  # plain text that happened to decode under a wrong label
        return body, True
    return content, is_whole


def _decompress(body: bytes, encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    if encoding not in DECOMPRESSORS:
        raise CorruptEncoding("unsupported Content-Encoding")
    if encoding != "deflate":
        return _join_chunks(
            DECOMPRESSORS[encoding](input_chunks(body), ExpansionLimit(max_bytes, input_bytes=len(body)))
        )
    try:  # zlib or raw deflate
        return _join_chunks(
            decompress_gzip(input_chunks(body), ExpansionLimit(max_bytes, input_bytes=len(body)))
        )
    except CorruptEncoding:
        return _join_chunks(
            decompress_raw_deflate(input_chunks(body), ExpansionLimit(max_bytes, input_bytes=len(body)))
        )


def _is_plain_text(body: bytes) -> bool:
    """Whether bytes can only be text that was never encoded."""
    head = body[:512]
    return head.lstrip()[:1] in {b"<", b"{", b"["} and b"\0" not in head and not is_binary(head)


def _join_chunks(portions: OutputChunks) -> tuple[bytes, bool]:
    found: list[bytes] = []
    while True:
        try:
            found.append(next(portions))
        except StopIteration as end:
            return found[0] if len(found) == 1 else b"".join(found), end.value


class _PlainBody:
    """A body without encodings, in chunks."""

    is_whole = True
    is_rejected = False

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        return _output_chunks(self._body)


class _EncodedBody:
    """A body in chunks, decoded again for each iteration.

    A refused body has to be decoded as a whole, which finds the reason.
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
            yield from self._decoded()
        except (DecompressionBomb, CorruptEncoding):
            self.is_rejected = True

    def _decoded(self) -> Iterator[bytes]:
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
        if packing := compression_of(head):  # a file that is compressed itself, as sitemaps are
            source = self._decode_layer(packing, source, scales)
        yield from source

    def _decode_layer(
        self, encoding: str, source: Iterator[bytes], scales: ExpansionLimit
    ) -> Iterator[bytes]:
        """Decode one encoding; the rest behind its end is read too, for the limits."""
        is_whole = yield from DECOMPRESSORS[encoding](_count_input(source, scales), scales)
        for _ in source:
            pass
        self.is_whole = self.is_whole and is_whole


def _output_chunks(body: bytes) -> Iterator[bytes]:
    size = decoders.OUTPUT_CHUNK_BYTES
    return (body[at : at + size] for at in range(0, len(body), size))


def _count_input(source: Iterator[bytes], scales: ExpansionLimit) -> Iterator[bytes]:
    for piece in source:
        scales.add_input(len(piece))
        yield piece


def open_body(body: bytes, content_encoding: str, max_bytes: int) -> BodyStream | None:
    """Return a body as chunks that need not be held at once; None where it has to be decoded as a whole."""
    encodings = _parse_encodings(content_encoding)
    if len(body) > max_bytes or len(encodings) > MAX_ENCODINGS or not DECOMPRESSORS.keys() >= set(encodings):
        return None
    if not encodings and not compression_of(body):
        return _PlainBody(body)
    return _EncodedBody(body, encodings, max_bytes)

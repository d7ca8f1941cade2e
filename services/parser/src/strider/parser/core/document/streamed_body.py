"""Inspect and decode a body as a stream, without holding it in memory.

The stream is read twice: once for size, hash and charset, and once more to be decoded.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from .charsets import Charset, CharsetDetector, codec_name, declared_charset
from .content_type_sniffing import XML_HEAD_BYTES


class BodyStream(Protocol):
    """A body with its content encodings undone, in chunks; may be iterated repeatedly."""

    is_whole: bool
    """Set after an iteration: False if the body is truncated; then the chunks are what could be decoded."""
    is_rejected: bool
    """Set after an iteration: whether the body exceeds the limit or its encoding is invalid."""

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the chunks from the start."""


@dataclass(frozen=True, slots=True)
class BodySummary:
    """Properties of a body after one pass over it."""

    size_bytes: int
    raw_hash: str
    charset: Charset
    is_whole: bool
    has_content: bool
    """Whether the body has anything but white space."""


def read_head(stream: BodyStream) -> bytes:
    """Return the first bytes, which suffice for sniffing and for declarations."""
    head = b""
    for chunk in stream:
        head += chunk
        if len(head) >= XML_HEAD_BYTES:
            break
    return head


def summarize_body(stream: BodyStream, *, head: bytes, content_type: str) -> BodySummary | None:
    """Read a body once and return its properties; None if the stream rejects it."""
    size_bytes, digest, has_content = 0, sha256(), False
    declared = declared_charset(head, content_type)
    detector = CharsetDetector()
    for chunk in stream:
        size_bytes += len(chunk)
        digest.update(chunk)
        has_content = has_content or bool(chunk.strip())
        if declared is None:
            detector.feed(chunk)
    if stream.is_rejected:
        return None
    charset = declared or detector.charset()
    return BodySummary(size_bytes, digest.hexdigest(), charset, stream.is_whole, has_content)


def decode_stream(stream: BodyStream, charset: Charset) -> Iterator[str]:
    """Yield the text chunk by chunk; undecodable bytes become U+FFFD."""
    decoder = codecs.getincrementaldecoder(codec_name(charset))("replace")
    skipped_bytes = charset.bom_bytes
    for chunk in stream:
        text_bytes = chunk[skipped_bytes:] if skipped_bytes else chunk
        skipped_bytes = max(0, skipped_bytes - len(chunk))
        yield _replace_nul(decoder.decode(text_bytes))
    yield _replace_nul(decoder.decode(b"", final=True))


def _replace_nul(text: str) -> str:
    return text.replace("\0", "\ufffd") if "\0" in text else text

"""What can be said of a body that nobody holds as a whole?

It comes in portions, as often as it is asked for: once to be looked over (its size, its hash, in which
characters it is), and once more to be read as text.
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
    """A body without its content encodings."""

    is_whole: bool
    """Once it has been gone through: False where it breaks off, and this is what came before."""
    is_refused: bool
    """Once it has been gone through: whether it is more than may be, or no such encoding."""

    def __iter__(self) -> Iterator[bytes]:
        """Give it from its beginning."""


@dataclass(frozen=True, slots=True)
class BodySummary:
    """What one look over a body has shown."""

    size_bytes: int
    raw_hash: str
    charset: Charset
    is_whole: bool
    has_words: bool
    """Whether there is anything but white space in it."""


def head_of(portions: BodyStream) -> bytes:
    """Give its beginning, by which kinds and declarations are told."""
    head = b""
    for portion in portions:
        head += portion
        if len(head) >= XML_HEAD_BYTES:
            break
    return head


def summarize_body(portions: BodyStream, *, head: bytes, content_type: str) -> BodySummary | None:
    """Go through a body; None for one that is refused."""
    size, digest, has_words = 0, sha256(), False
    declared = declared_charset(head, content_type)
    detector = CharsetDetector()
    for portion in portions:
        size += len(portion)
        digest.update(portion)
        has_words = has_words or bool(portion.strip())
        if declared is None:
            detector.feed(portion)
    if portions.is_refused:
        return None
    charset = declared or detector.charset()
    return BodySummary(size, digest.hexdigest(), charset, portions.is_whole, has_words)


def decode_stream(portions: BodyStream, charset: Charset) -> Iterator[str]:
    """Give the characters, portion by portion; what cannot be decoded becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder(codec_name(charset))("replace")
    passed_over = charset.bom_bytes
    for portion in portions:
        own = portion[passed_over:] if passed_over else portion
        passed_over = max(0, passed_over - len(portion))
        yield _replace_nul(decoder.decode(own))
    yield _replace_nul(decoder.decode(b"", final=True))


def _replace_nul(text: str) -> str:
    return text.replace("\0", "\ufffd") if "\0" in text else text

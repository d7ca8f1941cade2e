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

from .charsets import Charset, Detector, codec_of, declared_charset
from .kinds import XML_HEAD_BYTES


class Portions(Protocol):
    """A body without its content encodings."""

    is_whole: bool
    """Once it has been gone through: False where it breaks off, and this is what came before."""
    is_refused: bool
    """Once it has been gone through: whether it is more than may be, or no such encoding."""

    def __iter__(self) -> Iterator[bytes]:
        """Give it from its beginning."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What one look over a body has shown."""

    size: int
    raw_hash: str
    charset: Charset
    is_whole: bool
    has_words: bool
    """Whether there is anything but white space in it."""


def head_of(portions: Portions) -> bytes:
    """Give its beginning, by which kinds and declarations are told."""
    head = b""
    for portion in portions:
        head += portion
        if len(head) >= XML_HEAD_BYTES:
            break
    return head


def look_over(portions: Portions, *, head: bytes, content_type: str) -> Overview | None:
    """Go through a body; None for one that is refused."""
    size, digest, has_words = 0, sha256(), False
    declared = declared_charset(head, content_type)
    detector = Detector()
    for portion in portions:
        size += len(portion)
        digest.update(portion)
        has_words = has_words or bool(portion.strip())
        if declared is None:
            detector.add(portion)
    if portions.is_refused:
        return None
    charset = declared or detector.charset()
    return Overview(size, digest.hexdigest(), charset, portions.is_whole, has_words)


def texts_of(portions: Portions, charset: Charset) -> Iterator[str]:
    """Give the characters, portion by portion; what cannot be decoded becomes U+FFFD."""
    decoder = codecs.getincrementaldecoder(codec_of(charset))("replace")
    passed_over = charset.mark_bytes
    for portion in portions:
        own = portion[passed_over:] if passed_over else portion
        passed_over = max(0, passed_over - len(portion))
        yield _without_nul(decoder.decode(own))
    yield _without_nul(decoder.decode(b"", final=True))


def _without_nul(text: str) -> str:
    return text.replace("\0", "\ufffd") if "\0" in text else text

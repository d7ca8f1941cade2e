"""Compute a 64-bit SimHash, by which similar texts differ in few bits.

Each distinct word of a text counts once, by the first eight bytes (big-endian) of the BLAKE2b digest of its
lower-case form; a bit is set if more than half of the words have it. The vectors in the tests are published:
a hash means the same in every version.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b
from typing import Final

BITS: Final = 64
DIGEST_BYTES: Final = BITS // 8
MAX_WORD_CHARS: Final = 64
CACHED_WORDS: Final = 32_768
"""Size of each of the two cache generations; words that are used again move to the newer one."""

_SIGMA: Final = "\u03a3"
"""The one letter whose lower case depends on its neighbours, so that words are not independent."""

_WORD: Final = re.compile(r"\w+")
_ASCII_FOLDING: Final = bytes(
    byte if chr(byte).isalnum() or chr(byte) == "_" or not chr(byte).isascii() else ord(" ")
    for byte in range(256)
).lower()
"""Turns ASCII into lower case and separators into spaces; other bytes of UTF-8 stay."""


def simhash(text: str) -> int:
    """Return the SimHash as a signed integer; 0 without words."""
    written = _word_digests(text)
    if not written:
        return 0
    # The first bytes of all digests as one long integer, then the second ones: bits are counted in C.
    count = len(written) // DIGEST_BYTES
    half, low = count // 2, int.from_bytes(b"\1" * count, "big")
    masks = [low << bit for bit in range(7, -1, -1)]
    value = 0
    for byte in range(DIGEST_BYTES):
        column = int.from_bytes(written[byte::DIGEST_BYTES], "big")
        for mask in masks:
            value = 2 * value + ((column & mask).bit_count() > half)
    return value - (1 << BITS) if value >> (BITS - 1) else value


def hamming_distance(one: int, other: int) -> int:
    """Return the number of bits in which two hashes differ."""
    return ((one ^ other) & ((1 << BITS) - 1)).bit_count()


def split_words(utf8: bytes) -> set[bytes]:
    """Return the distinct words of a text in UTF-8, split at ASCII white space and punctuation."""
    return set(utf8.translate(_ASCII_FOLDING).split())


def _word_digests(text: str) -> bytes:
    """Return the concatenated digests of the distinct words.

    Most words repeat, in this text and in others: pieces split at ASCII separators are looked up first, and
    only those that are not words are split further by the Unicode definition.
    """
    if _SIGMA in text:
        text = text.lower()
    pieces = split_words(text.encode("utf-8", "replace"))
    digests = _digest_cache()
    digests.unsplit.clear()
    written = b"".join(map(digests.__getitem__, pieces))
    if not digests.unsplit:
        return written
    found = _WORD.findall(b" ".join(digests.unsplit).decode().lower())
    others = {word[:MAX_WORD_CHARS].encode() for word in found}
    return written + b"".join(map(_digest, others - pieces))


class _DigestCache(dict[bytes, bytes]):
    """A cache of word digests in two generations, filled on first use.

    Returns nothing for a piece that is not a normalized word; such pieces are collected in `unsplit`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unsplit: list[bytes] = []
        self._older: dict[bytes, bytes] = {}

    def __missing__(self, piece: bytes) -> bytes:
        found = self._older.get(piece)
        if found is None:
            if not _is_word(piece):
                self.unsplit.append(piece)
                return b""
            found = _digest(piece)
        if len(self) >= CACHED_WORDS:
            self._older = dict(self)
            self.clear()
        self[piece] = found
        return found


@cache
def _digest_cache() -> _DigestCache:
    return _DigestCache()


def _is_word(piece: bytes) -> bool:
    """Whether a piece is one whole word in lower case; any ASCII piece of limited length is."""
    if piece.isascii():
        return len(piece) <= MAX_WORD_CHARS
    text = piece.decode()
    return len(text) <= MAX_WORD_CHARS and _WORD.fullmatch(text) is not None and text.lower() == text


def _digest(word: bytes) -> bytes:
    return blake2b(word, digest_size=DIGEST_BYTES).digest()

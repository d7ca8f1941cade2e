"""How alike are two texts? A 64-bit SimHash, in which alike texts differ in few bits.

Each different word of a text counts once, by the first eight bytes (big-endian) of the BLAKE2b digest
of its lower-case form; a bit is set where more than half of the words have it. The vectors in the tests
are published: a fingerprint means the same in every version.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b
from typing import Final

BITS: Final = 64
MAX_WORD_CHARS: Final = 64
KEPT_WORDS: Final = 32_768
_WORD: Final = re.compile(r"\w+")
_BETWEEN: Final = bytes(
    byte if chr(byte).isalnum() or chr(byte) == "_" or not chr(byte).isascii() else ord(" ")
    for byte in range(256)
).lower()
"""Makes ASCII lower case, and a space of what stands between words; other bytes of UTF-8 stay."""


def simhash(text: str) -> int:
    """Give the fingerprint as a signed number; 0 where there are no words."""
    words = _words_of(text)
    if not words:
        return 0
    # The first bytes of all digests as one long number, then the second ones: so bits are counted in C.
    written = b"".join(map(_kept_digests().__getitem__, words))
    half, low = len(words) // 2, int.from_bytes(b"\1" * len(words), "big")
    masks = [low << bit for bit in range(7, -1, -1)]
    value = 0
    for byte in range(BITS // 8):
        column = int.from_bytes(written[byte :: BITS // 8], "big")
        for mask in masks:
            value = 2 * value + ((column & mask).bit_count() > half)
    return value - (1 << BITS) if value >> (BITS - 1) else value


def distance(one: int, other: int) -> int:
    """Count the bits in which two fingerprints differ."""
    return ((one ^ other) & ((1 << BITS) - 1)).bit_count()


def _words_of(text: str) -> set[bytes]:
    """Give each different word, in UTF-8.

    Most words come again, and most are ASCII: what is cut further, letter by letter, is what is left.
    """
    lower = text if text.isascii() else text.lower()
    pieces = set(lower.encode("utf-8", "replace").translate(_BETWEEN).split())
    others = [piece for piece in pieces if not piece.isascii()]
    words = pieces.difference(others) if others else pieces
    if max(map(len, words), default=0) > MAX_WORD_CHARS:
        words = {word[:MAX_WORD_CHARS] for word in words}
    if others:
        found = _WORD.findall(b" ".join(others).decode())
        words.update([word[:MAX_WORD_CHARS].encode() for word in found])
    return words


class _Digests(dict[bytes, bytes]):
    """Digests of words, made when they are first asked for; forgotten when they are too many."""

    def __missing__(self, word: bytes) -> bytes:
        if len(self) >= KEPT_WORDS:
            self.clear()
        found = self[word] = blake2b(word, digest_size=BITS // 8).digest()
        return found


@cache
def _kept_digests() -> _Digests:
    return _Digests()

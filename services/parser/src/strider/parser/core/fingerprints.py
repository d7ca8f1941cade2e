"""How alike are two texts? A 64-bit SimHash, in which alike texts differ in few bits.

Each different word of a text counts once, by the first eight bytes (big-endian) of the BLAKE2b digest
of its lower-case form; a bit is set where more than half of the words have it. The vectors in the tests
are published: a fingerprint means the same in every version.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import Final

BITS: Final = 64
LANE: Final = 24
"""Bits to count in, for each bit: 16 million words."""

MAX_WORD_CHARS: Final = 64
_WORD: Final = re.compile(r"\w+")
_SPREAD: Final = tuple(sum(1 << (LANE * bit) for bit in range(8) if byte >> bit & 1) for byte in range(256))
_FULL: Final = (1 << LANE) - 1


def simhash(text: str) -> int:
    """Give the fingerprint as a signed number; 0 where there are no words."""
    pieces = set(text.lower().split())  # most words come again: what is cut further is each of them once
    words = {word[:MAX_WORD_CHARS] for word in _WORD.findall(" ".join(pieces))}
    if not words:
        return 0
    counts = sum(map(_lanes, words))
    half = len(words) / 2
    value = 0
    for bit in range(BITS):
        if (counts >> (LANE * bit) & _FULL) > half:
            value |= 1 << bit
    return value - (1 << BITS) if value >> (BITS - 1) else value


def distance(one: int, other: int) -> int:
    """Count the bits in which two fingerprints differ."""
    return ((one ^ other) & ((1 << BITS) - 1)).bit_count()


@lru_cache(maxsize=32_768)
def _lanes(word: str) -> int:
    digest = blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
    lanes = 0
    for byte in digest:
        lanes = lanes << (8 * LANE) | _SPREAD[byte]
    return lanes

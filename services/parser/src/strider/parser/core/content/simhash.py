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
DIGEST_BYTES: Final = BITS // 8
MAX_WORD_CHARS: Final = 64
CACHED_WORDS: Final = 32_768
"""Of each of two generations: whoever is asked for again stays, the others go."""

_SIGMA: Final = "\u03a3"
"""The one letter whose lower case depends on what stands around it, so that it is not told by its word."""

_WORD: Final = re.compile(r"\w+")
_BETWEEN: Final = bytes(
    byte if chr(byte).isalnum() or chr(byte) == "_" or not chr(byte).isascii() else ord(" ")
    for byte in range(256)
).lower()
"""Makes ASCII lower case, and a space of what stands between words; other bytes of UTF-8 stay."""


def simhash(text: str) -> int:
    """Give the fingerprint as a signed number; 0 where there are no words."""
    written = _word_digests(text)
    if not written:
        return 0
    # The first bytes of all digests as one long number, then the second ones: so bits are counted in C.
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
    """Count the bits in which two fingerprints differ."""
    return ((one ^ other) & ((1 << BITS) - 1)).bit_count()


def split_words(written: bytes) -> set[bytes]:
    """Give the different words of a text in UTF-8, cut at white space and marks of ASCII."""
    return set(written.translate(_BETWEEN).split())


def _word_digests(text: str) -> bytes:
    """Give the digest of each different word, one behind the other.

    Most words come again, in this text and in others: what white space and marks of ASCII part is looked up
    as it is, and only what that knows no digest of is cut further, letter by letter.
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
    """Digests of words, made when they are first asked for; of too many, those asked for lately are kept.

    Nothing for a piece that is no word in the form that counts; such pieces are put down instead.
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
    """Say whether this is one whole word, in lower case; in ASCII it is, if it is not too long."""
    if piece.isascii():
        return len(piece) <= MAX_WORD_CHARS
    text = piece.decode()
    return len(text) <= MAX_WORD_CHARS and _WORD.fullmatch(text) is not None and text.lower() == text


def _digest(word: bytes) -> bytes:
    return blake2b(word, digest_size=DIGEST_BYTES).digest()

"""How many words has a text?

Single spaces and line ends part its words, as all texts of a reading have them: counting those is
enough. Adler's checksum adds up bytes, and does it several times as fast as anything else here counts.
"""

from __future__ import annotations

from typing import Final
from zlib import adler32

_PARTS: Final = bytes(byte in b" \n" for byte in range(256))
"""Makes a one of what parts words, and a zero of everything else."""

_PORTION_BYTES: Final = 65_000
"""So many ones add up without being reduced: the checksum's modulus is 65,521."""

_SUM: Final = 0xFFFF


def count_words(written: bytes) -> int:
    """Count the words of a text in UTF-8."""
    if not written:
        return 0
    marks = written.translate(_PARTS)
    portions = range(0, len(marks), _PORTION_BYTES)
    # The sum begins at one, which is the last word where there is one portion only.
    return 1 + sum((adler32(marks[at : at + _PORTION_BYTES]) & _SUM) - 1 for at in portions)

"""How many words has a text?

Single spaces and line ends part its words, as all texts of a reading have them: what a text loses without
those is one less than its words. Nothing else here counts as fast.
"""

from __future__ import annotations

from typing import Final

_PARTS: Final = b" \n"


def count_words(utf8: bytes) -> int:
    """Count the words of a text in UTF-8."""
    return 1 + len(utf8) - len(utf8.translate(None, _PARTS)) if utf8 else 0

"""Guess the legacy encoding of undeclared text.

The last resort for pages that declare no encoding and are not UTF-8. uchardet (by Resiliparse) tells
encodings apart by the letters of their languages, but takes the few accents of Latin text for any of them. So
it decides only where most bytes beyond ASCII are adjacent, and only for scripts other than Latin. Otherwise
the caller's default applies.
"""

from __future__ import annotations

import re
from typing import Final

from resiliparse.parse.encoding import detect_encoding

from .encoding_labels import canonical_encoding

MIN_HIGH_BYTES: Final = 12
"""Fewer high bytes are not conclusive: a few accents fit any encoding."""

MIN_RUN_SHARE: Final = 0.6
"""Minimum share of high bytes that are adjacent to another one. Accents of Latin scripts stand alone."""

_HIGH_BYTE_RUNS: Final = re.compile(rb"[\x80-\xff]{2,}")
_HIGH_BYTES: Final = bytes(range(0x80, 0x100))

_LABEL_OF_CODEC: Final = {"cp874": "windows-874", "cp949": "euc-kr", "iso8859-7": "windows-1253"}
"""Codecs whose name is no label; ISO 8859-7 has the letters of windows-1253, which more pages use."""

_GUESSED_ENCODINGS: Final = frozenset(
    [
        *("windows-1251", "koi8-r", "iso-8859-5", "windows-1253", "windows-1255", "windows-1256"),
        *("windows-874", "shift_jis", "euc-jp", "euc-kr", "gb18030", "big5"),
    ]
)


def guess_charset(sample: bytes) -> str:
    """Return the encoding whose language fits the sample best; empty if none does."""
    high = len(sample) - len(sample.translate(None, _HIGH_BYTES))
    if high < MIN_HIGH_BYTES or sum(map(len, _HIGH_BYTE_RUNS.findall(sample))) < MIN_RUN_SHARE * high:
        return ""
    codec = detect_encoding(sample, html5_compatible=False) or ""
    name = canonical_encoding(_LABEL_OF_CODEC.get(codec, codec.replace("_", "-")))
    return name if name in _GUESSED_ENCODINGS else ""

"""Guess the legacy encoding of undeclared text by the letters of its language.

The last resort for pages that declare no encoding and are not UTF-8. Each candidate decodes a sample and is
accepted if the text has what any text of its language has: kana, Hangul syllables, the most common Chinese
characters or letters of an alphabet. Letters of the alphabet alone do not suffice, since bytes of one
alphabet are valid in another. If no candidate fits, the caller's default applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

MIN_HIGH_BYTES: Final = 12
"""Fewer high bytes are not conclusive: a few accents fit any encoding."""

MIN_RUN_SHARE: Final = 0.6
"""Minimum share of high bytes that are adjacent to another one. Accents of Latin scripts stand alone."""

MAX_ERROR_SHARE: Final = 0.01

_COMMON_SIMPLIFIED: Final = (
    "的一是不了在人有我他这中大来上国个到说们为和你地出道也时年得就那要下以生会自着去之过家学对可"
)
_COMMON_TRADITIONAL: Final = (
    "的一是不了在人有我他這中大來上國個到說們為和你地出道也時年得就那要下以生會自著去之過家學對可"
)

_HIGH_BYTE_RUNS: Final = re.compile(rb"[\x80-\xff]{2,}")


class _CharsetCandidate(NamedTuple):
    charset: str
    codec: str
    is_typical: Callable[[str], bool]
    min_share: float
    """Minimum share of typical characters among the non-ASCII ones, for any longer text of the language."""


def _is_kana(character: str) -> bool:
    return "\u3041" <= character <= "\u30fc"


def _is_hangul(character: str) -> bool:
    return "\uac00" <= character <= "\ud7a3"


def _is_hebrew(character: str) -> bool:
    return "\u05d0" <= character <= "\u05ea"


_COMMON_CYRILLIC: Final = frozenset("оеаинтсрвлкмдпуя")
_COMMON_GREEK: Final = frozenset("αοιετσνηρςάέήίόύώ")
_COMMON_ARABIC: Final = frozenset("اليمنورتبةعدسه")
_COMMON_THAI: Final = frozenset("านรกอเงม่้ยลวัิีตดสท")
_CANDIDATES: Final = (
    _CharsetCandidate("windows-1251", "cp1251", _COMMON_CYRILLIC.__contains__, 0.55),
    _CharsetCandidate("koi8-r", "koi8_r", _COMMON_CYRILLIC.__contains__, 0.55),
    _CharsetCandidate("windows-1253", "cp1253", _COMMON_GREEK.__contains__, 0.55),
    _CharsetCandidate("windows-1255", "cp1255", _is_hebrew, 0.75),
    _CharsetCandidate("windows-1256", "cp1256", _COMMON_ARABIC.__contains__, 0.55),
    _CharsetCandidate("windows-874", "cp874", _COMMON_THAI.__contains__, 0.5),
    _CharsetCandidate("shift_jis", "cp932", _is_kana, 0.2),
    _CharsetCandidate("euc-jp", "euc_jp", _is_kana, 0.2),
    _CharsetCandidate("euc-kr", "cp949", _is_hangul, 0.6),
    _CharsetCandidate("gb18030", "gb18030", frozenset(_COMMON_SIMPLIFIED).__contains__, 0.08),
    _CharsetCandidate("big5", "big5hkscs", frozenset(_COMMON_TRADITIONAL).__contains__, 0.08),
)


_HIGH_BYTES: Final = bytes(range(0x80, 0x100))


def guess_charset(sample: bytes) -> str:
    """Return the encoding whose language fits the sample best; empty if none does."""
    high = len(sample) - len(sample.translate(None, _HIGH_BYTES))
    if high < MIN_HIGH_BYTES or sum(map(len, _HIGH_BYTE_RUNS.findall(sample))) < MIN_RUN_SHARE * high:
        return ""
    scores = {candidate.charset: _score(sample, candidate) for candidate in _CANDIDATES}
    best = max(scores, key=lambda charset: scores[charset])
    return best if scores[best] >= 1 else ""


def _score(sample: bytes, candidate: _CharsetCandidate) -> float:
    """Return how well the sample fits the language: 1 suffices, 0 excludes it."""
    beyond = [character for character in sample.decode(candidate.codec, "replace") if character > "\x7f"]
    if beyond.count("\ufffd") > 1 + MAX_ERROR_SHARE * len(beyond):
        return 0.0
    return sum(map(candidate.is_typical, beyond)) / len(beyond) / candidate.min_share

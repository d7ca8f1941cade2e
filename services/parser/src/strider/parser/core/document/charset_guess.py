"""Which language's letters would these bytes be?

The last resort for pages that declare no encoding and are no UTF-8. Each candidate is tried on a
sample, and believed where the text that comes out has what texts of its language cannot do without:
kana, syllables of Hangul, the commonest Chinese characters, the commonest letters of an alphabet. Any letters
will not do: the bytes of one alphabet's are those of another's. What fits nothing is left to the default.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

MIN_HIGH_BYTES: Final = 12
"""Fewer say nothing: a few accents look like anything."""

MIN_RUN_SHARE: Final = 0.6
"""Of bytes beyond ASCII that stand together. Accents of Latin scripts stand alone."""

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
    """Of the characters beyond ASCII, that are typical in any longer text of the language."""


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


def guess_charset(sample: bytes) -> str:
    """Name the encoding whose language the sample shows best; empty where it shows none."""
    high = len(sample) - len(sample.translate(None, _HIGH_BYTES))
    if high < MIN_HIGH_BYTES or sum(map(len, _HIGH_BYTE_RUNS.findall(sample))) < MIN_RUN_SHARE * high:
        return ""
    scores = {candidate.charset: _score(sample, candidate) for candidate in _CANDIDATES}
    best = max(scores, key=lambda charset: scores[charset])
    return best if scores[best] >= 1 else ""


_HIGH_BYTES: Final = bytes(range(0x80, 0x100))


def _score(sample: bytes, candidate: _CharsetCandidate) -> float:
    """Say how well the sample shows the language: 1 is enough, 0 excludes it."""
    beyond = [character for character in sample.decode(candidate.codec, "replace") if character > "\x7f"]
    if beyond.count("\ufffd") > 1 + MAX_ERROR_SHARE * len(beyond):
        return 0.0
    return sum(map(candidate.is_typical, beyond)) / len(beyond) / candidate.min_share

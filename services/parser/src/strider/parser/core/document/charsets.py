"""Which characters are these bytes?

In the order that browsers ask: a byte order mark, the Content-Type header, the document's own
declaration, and only then the bytes themselves. Detection is cheap and knows only what it can tell
apart well; a wrong guess gives odd letters, never a failure.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from strider.contracts.generated.enums import CharsetEvidence

from .charset_guess import guess_charset
from .encoding_declarations import declared_encoding
from .encoding_labels import canonical_encoding, python_codec

UTF8: Final = "utf-8"
FALLBACK_CHARSET: Final = "windows-1252"
SAMPLE_BYTES: Final = 16 * 1024

_MARKS: Final = (
    (b"\xef\xbb\xbf", UTF8),
    (b"\xff\xfe", "utf-16le"),
    (b"\xfe\xff", "utf-16be"),
)
_UTF16_MARKUP_STARTS: Final = (
    (re.compile(rb"(?:[\s]\0)*<\0[!?A-Za-z]\0"), "utf-16le"),
    (re.compile(rb"(?:\0[\s])*\0<\0[!?A-Za-z]"), "utf-16be"),
)
"""How markup begins in UTF-16 without a mark, whatever its label says: it can be nothing else."""

_CONTENT_TYPE_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([^\s;"',]+)""", re.IGNORECASE)


class Charset(NamedTuple):
    """An encoding and what speaks for it."""

    name: str
    evidence: str
    bom_bytes: int = 0
    """Length of the byte order mark, which is no part of the text."""


def detect_charset(content: bytes, content_type: str) -> Charset:
    """Decide how bytes are to be read as text: as is said, unless the bytes cannot be meant so."""
    declared = declared_charset(content, content_type)
    if declared and (
        declared.evidence not in _FALLIBLE_EVIDENCE or not _contradicts_label(content, declared.name)
    ):
        return declared
    detector = CharsetDetector()
    detector.feed(content)
    found = detector.charset()
    # What is said to be UTF-8 and is not would be lost: nearly none of its letters could be read.
    is_certain = found.evidence == CharsetEvidence.DETECTED
    return found if declared is None or is_certain or declared.name == UTF8 else declared


_FALLIBLE_EVIDENCE: Final = frozenset({CharsetEvidence.HEADER, CharsetEvidence.META})
_ASCII: Final = bytes(range(0x80))
MIN_CONTRADICTING_CHARS: Final = 8
"""Letters beyond ASCII that have to agree before a label is not believed."""


def _contradicts_label(content: bytes, name: str) -> bool:
    """Say whether a label is wrong: nearly nothing is UTF-8 that is said to be, or all of what is not."""
    if content.isascii():
        return False
    if name == UTF8:
        try:
            content.decode(UTF8)
        except UnicodeDecodeError:
            pass
        else:
            return False
    # What is left are runs that no ASCII byte is within: of UTF-8 whole letters.
    beyond = content.translate(None, _ASCII)[: SAMPLE_BYTES // 4].decode(UTF8, "replace")
    spoilt = beyond.count("\ufffd")
    if name == UTF8:
        return spoilt >= MIN_CONTRADICTING_CHARS and spoilt > len(beyond) // 2
    return not name.startswith("utf-16") and len(beyond) >= MIN_CONTRADICTING_CHARS and spoilt <= 1


def declared_charset(head: bytes, content_type: str) -> Charset | None:
    """Hear what a mark, the header or the document says; None where nobody says anything."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return Charset(name, CharsetEvidence.BOM, len(mark))
    if name := next((name for begin, name in _UTF16_MARKUP_STARTS if begin.match(head)), ""):
        return Charset(name, CharsetEvidence.DETECTED)
    if (match := _CONTENT_TYPE_CHARSET.search(content_type)) and (label := canonical_encoding(match[1])):
        return Charset(label, CharsetEvidence.HEADER)
    if declared := _declared(head):
        return Charset(declared, CharsetEvidence.META)
    return None


def to_utf8(content: bytes, charset: Charset) -> bytes:
    """Give the bytes in UTF-8, without a mark; what cannot be decoded becomes U+FFFD (or stays, in UTF-8)."""
    body = content[charset.bom_bytes :] if charset.bom_bytes else content
    if charset.name == UTF8:
        return body
    return to_text(content, charset).encode("utf-8", "replace")


def to_text(content: bytes, charset: Charset) -> str:
    """Give the characters; what cannot be decoded becomes U+FFFD."""
    body = content[charset.bom_bytes :] if charset.bom_bytes else content
    return body.decode(codec_name(charset), "replace")


def codec_name(charset: Charset) -> str:
    """Name Python's codec."""
    return python_codec(charset.name)


def _declared(content: bytes) -> str:
    label = canonical_encoding(declared_encoding(content))
    # Bytes in which an ASCII declaration can be read are not UTF-16, whatever it says.
    return UTF8 if label.startswith(("utf-16", "utf-32")) else label


class CharsetDetector:
    """Finds out by the bytes alone, which may come one portion after the other."""

    def __init__(self) -> None:
        """Begin; the decoder tells UTF-8, and not to its end: what was cut may end within a character."""
        self._is_ascii = self._may_be_utf8 = True
        self._decoder = _new_utf8_decoder()
        self._sample = b""

    def feed(self, portion: bytes) -> None:
        """Look at one more portion."""
        if len(self._sample) < SAMPLE_BYTES:
            self._sample += portion[: SAMPLE_BYTES - len(self._sample)]
        if not self._may_be_utf8 or (b"\0" not in portion and self._is_ascii and portion.isascii()):
            return
        self._is_ascii = False
        try:
            self._may_be_utf8 = b"\0" not in portion and self._decoder.decode(portion) is not None
        except UnicodeDecodeError:
            self._may_be_utf8 = False

    def charset(self) -> Charset:
        """Decide."""
        if self._is_ascii:
            is_shifted = _ISO_2022_JP_SHIFT.search(self._sample) is not None
            return _ISO_2022_JP if is_shifted else Charset(UTF8, CharsetEvidence.ASSUMED)
        if self._may_be_utf8:
            return Charset(UTF8, CharsetEvidence.DETECTED)
        if name := _utf16_without_bom(self._sample) or guess_charset(self._sample):
            return Charset(name, CharsetEvidence.DETECTED)
        return Charset(FALLBACK_CHARSET, CharsetEvidence.ASSUMED)


_ISO_2022_JP_SHIFT: Final = re.compile(rb"\x1b\$[@B][!-~]")
_ISO_2022_JP: Final = Charset("iso-2022-jp", CharsetEvidence.DETECTED)

_new_utf8_decoder: Final = codecs.getincrementaldecoder(UTF8)


def _utf16_without_bom(sample: bytes) -> str:
    """Find UTF-16 without a mark: every other byte of markup is zero."""
    half = len(sample) // 2
    if half < 2:  # noqa: PLR2004  # nothing can be said of one character
        return ""
    for name, zeros in (("utf-16le", sample[1::2].count(0)), ("utf-16be", sample[0::2].count(0))):
        if zeros > half // 2 and zeros > sample.count(0) // 2:
            return name
    return ""

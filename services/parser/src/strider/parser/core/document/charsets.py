"""Detect the charset of a body and decode it.

In the order of browsers: byte order mark, Content-Type header, declaration in the document, and only then the
bytes themselves. Detection is cheap and covers only what it can tell apart reliably; a wrong guess results in
wrong letters, never in a failure.

Guess the legacy encoding of undeclared text.

The last resort for pages that declare no encoding and are not UTF-8. uchardet (by Resiliparse) tells
encodings apart by the letters of their languages, but takes the few accents of Latin text for any of them. So
it decides only where most bytes beyond ASCII are adjacent, and only for scripts other than Latin. Otherwise
the caller's default applies.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from resiliparse.parse.encoding import detect_encoding

from strider.contracts.generated.enums import CharsetEvidence

from .encoding_labels import canonical_encoding, declared_encoding, python_codec

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


UTF8: Final = "utf-8"
FALLBACK_CHARSET: Final = "windows-1252"
SAMPLE_BYTES: Final = 16 * 1024

_BOMS: Final = (
    (b"\xef\xbb\xbf", UTF8),
    (b"\xff\xfe", "utf-16le"),
    (b"\xfe\xff", "utf-16be"),
)
_UTF16_MARKUP_STARTS: Final = (
    (re.compile(rb"(?:[\s]\0)*<\0[!?A-Za-z]\0"), "utf-16le"),
    (re.compile(rb"(?:\0[\s])*\0<\0[!?A-Za-z]"), "utf-16be"),
)
"""How markup starts in UTF-16 without a byte order mark; overrides any label, as nothing else matches."""

_CONTENT_TYPE_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([^\s;"',]+)""", re.IGNORECASE)


class Charset(NamedTuple):
    """An encoding and the evidence for it."""

    name: str
    evidence: str
    bom_bytes: int = 0
    """Length of the byte order mark, which is not part of the text."""


_FALLIBLE_EVIDENCE: Final = frozenset({CharsetEvidence.HEADER, CharsetEvidence.META})


def detect_charset(content: bytes, content_type: str) -> Charset:
    """Return the charset of a body: the declared one, unless the bytes contradict it."""
    declared = declared_charset(content, content_type)
    if declared and (
        declared.evidence not in _FALLIBLE_EVIDENCE or not _contradicts_label(content, declared.name)
    ):
        return declared
    detector = CharsetDetector()
    detector.feed(content)
    found = detector.charset()
    # Text declared as UTF-8 that is not would be lost: nearly none of its letters would be readable.
    is_certain = found.evidence == CharsetEvidence.DETECTED
    return found if declared is None or is_certain or declared.name == UTF8 else declared


_ASCII: Final = bytes(range(0x80))
MIN_CONTRADICTING_CHARS: Final = 8
"""Number of non-ASCII characters needed to contradict a label."""


def _contradicts_label(content: bytes, name: str) -> bool:
    """Whether a label is wrong: declared UTF-8 is mostly invalid, or another charset is valid UTF-8."""
    if content.isascii():
        return False
    if name == UTF8:
        try:
            content.decode(UTF8)
        except UnicodeDecodeError:
            pass
        else:
            return False
    # Without ASCII only multi-byte runs remain, which are whole characters if the content is UTF-8.
    beyond = content.translate(None, _ASCII)[: SAMPLE_BYTES // 4].decode(UTF8, "replace")
    spoilt = beyond.count("\ufffd")
    if name == UTF8:
        return spoilt >= MIN_CONTRADICTING_CHARS and spoilt > len(beyond) // 2
    return not name.startswith("utf-16") and len(beyond) >= MIN_CONTRADICTING_CHARS and spoilt <= 1


def declared_charset(head: bytes, content_type: str) -> Charset | None:
    """Return the charset by byte order mark, header or declaration; None if there is none of these."""
    for bom, name in _BOMS:
        if head.startswith(bom):
            return Charset(name, CharsetEvidence.BOM, len(bom))
    if name := next((name for begin, name in _UTF16_MARKUP_STARTS if begin.match(head)), ""):
        return Charset(name, CharsetEvidence.DETECTED)
    if (match := _CONTENT_TYPE_CHARSET.search(content_type)) and (label := canonical_encoding(match[1])):
        return Charset(label, CharsetEvidence.HEADER)
    if declared := _charset_in_document(head):
        return Charset(declared, CharsetEvidence.META)
    return None


def to_utf8(content: bytes, charset: Charset) -> bytes:
    """Return the bytes as UTF-8 without a byte order mark; undecodable bytes become U+FFFD (UTF-8 stays as
    is).
    """
    body = content[charset.bom_bytes :] if charset.bom_bytes else content
    if charset.name == UTF8:
        return body
    return to_text(content, charset).encode("utf-8", "replace")


def to_text(content: bytes, charset: Charset) -> str:
    """Return the text; undecodable bytes become U+FFFD."""
    body = content[charset.bom_bytes :] if charset.bom_bytes else content
    return body.decode(codec_name(charset), "replace")


def codec_name(charset: Charset) -> str:
    """Return the name of the Python codec."""
    return python_codec(charset.name)


def _charset_in_document(content: bytes) -> str:
    label = canonical_encoding(declared_encoding(content))
    # Bytes with a readable ASCII declaration are not UTF-16, whatever it declares.
    return UTF8 if label.startswith(("utf-16", "utf-32")) else label


_ISO_2022_JP_SHIFT: Final = re.compile(rb"\x1b\$[@B][!-~]")


_ISO_2022_JP: Final = Charset("iso-2022-jp", CharsetEvidence.DETECTED)


_new_utf8_decoder: Final = codecs.getincrementaldecoder(UTF8)


class CharsetDetector:
    """Detects a charset from the bytes alone, which may arrive in chunks."""

    def __init__(self) -> None:
        """Start without data; UTF-8 is decoded incrementally, since a chunk may end within a character."""
        self._is_ascii = self._may_be_utf8 = True
        self._decoder = _new_utf8_decoder()
        self._sample = b""

    def feed(self, chunk: bytes) -> None:
        """Add the next chunk."""
        if len(self._sample) < SAMPLE_BYTES:
            self._sample += chunk[: SAMPLE_BYTES - len(self._sample)]
        if not self._may_be_utf8 or (b"\0" not in chunk and self._is_ascii and chunk.isascii()):
            return
        self._is_ascii = False
        try:
            self._may_be_utf8 = b"\0" not in chunk and self._decoder.decode(chunk) is not None
        except UnicodeDecodeError:
            self._may_be_utf8 = False

    def charset(self) -> Charset:
        """Return the detected charset, or a default."""
        if self._is_ascii:
            is_shifted = _ISO_2022_JP_SHIFT.search(self._sample) is not None
            return _ISO_2022_JP if is_shifted else Charset(UTF8, CharsetEvidence.ASSUMED)
        if self._may_be_utf8:
            return Charset(UTF8, CharsetEvidence.DETECTED)
        if name := _utf16_without_bom(self._sample) or guess_charset(self._sample):
            return Charset(name, CharsetEvidence.DETECTED)
        return Charset(FALLBACK_CHARSET, CharsetEvidence.ASSUMED)


def _utf16_without_bom(sample: bytes) -> str:
    """Detect UTF-16 without a byte order mark: every other byte of markup is zero."""
    half = len(sample) // 2
    if half < 2:  # noqa: PLR2004  # nothing can be said of one character
        return ""
    for name, zeros in (("utf-16le", sample[1::2].count(0)), ("utf-16be", sample[0::2].count(0))):
        if zeros > half // 2 and zeros > sample.count(0) // 2:
            return name
    return ""

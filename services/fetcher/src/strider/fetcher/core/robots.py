"""The text of a robots.txt: undone, decoded, cut at 500 KiB.

What the rules allow is decided elsewhere (by the scheduler); here bytes become text, and what the
text asks for besides is read out of it. A file whose encoding is broken or unfolds without end is
read as far as it goes: rules that came before the end still bind.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final

from strider.politeness.robots.decoding import decode_robots
from strider.politeness.robots.robots_txt import RobotsTxt, product_token
from strider.urls import RefusedUrl, to_wire_url

from .answers import Answer
from .reading import ROBOTS_BYTES, encodings

LONGEST_READ: Final = 100 * 1024
"""Characters: longer ones are not parsed here, since that holds up everybody else."""
MOST_SITEMAPS: Final = 50
MOST_MEMBERS: Final = 100
"""Of one gzip file: with thousands of empty ones somebody would have us busy."""

_GZIP: Final = 31
_ZLIB: Final = 15
_RAW: Final = -15
_GZIP_MAGIC: Final = b"\x1f\x8b"
_DEFLATED: Final = 8
_ZLIB_CHECK: Final = 31
"""By which the first two bytes of zlib's format are known (RFC 1950)."""
_SLICE_BYTES: Final = 4096
"""So that what came before a fault is kept."""


def robots_text(answer: Answer, *, max_bytes: int = ROBOTS_BYTES) -> tuple[str, bool]:
    """Give the text, and whether something was cut off."""
    content, is_cut = _undone(answer)
    charset = answer.head.field("content-type").partition("charset=")[2].partition(";")[0].strip(" \"'")
    encoded = decode_robots(content[:ROBOTS_BYTES], charset=charset).encode("utf-8", "replace")
    return encoded[:max_bytes].decode("utf-8", "ignore"), is_cut or len(encoded) > max_bytes


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a robots.txt asks for besides its rules."""

    crawl_delay_seconds: float = -1.0
    """-1 where it asks for none."""
    sitemaps: tuple[str, ...] = ()


def wishes_of(text: str, *, url: str, user_agent: str, room_bytes: int) -> Wishes:
    """Read a text's wishes towards us; a text of unusual size is left to whoever reads its rules."""
    if not text or len(text) > LONGEST_READ:
        return Wishes()
    rules = RobotsTxt(text)
    asked = rules.delay_seconds(product_token(user_agent))
    sitemaps: list[str] = []
    for named in rules.sitemaps[:MOST_SITEMAPS]:
        found = to_wire_url(named, url)
        if not isinstance(found, RefusedUrl) and (room_bytes := room_bytes - len(found) - 4) > 0:
            sitemaps.append(found)
    return Wishes(asked or -1.0, tuple(dict.fromkeys(sitemaps)))


def _undone(answer: Answer) -> tuple[bytes, bool]:
    content, is_cut = answer.body, answer.is_cut
    for word in reversed(encodings(answer.head)):
        content, is_longer = _unfolded(word, content)
        is_cut = is_cut or is_longer
    if content.startswith(_GZIP_MAGIC):  # packed as a file, of which no header tells
        content, is_longer = _inflated(content, _GZIP)
        is_cut = is_cut or is_longer
    return content, is_cut or len(content) > ROBOTS_BYTES


def _unfolded(encoding: str, content: bytes) -> tuple[bytes, bool]:
    """Undo one encoding as far as it goes, and no further than anybody will read."""
    if encoding in {"gzip", "x-gzip"} or content.startswith(_GZIP_MAGIC):
        return _inflated(content, _GZIP)
    if encoding == "deflate":
        # Meant is zlib's format; some send the stream alone.
        is_zlib = (
            content[:1] and content[0] % 16 == _DEFLATED and not int.from_bytes(content[:2]) % _ZLIB_CHECK
        )
        return _inflated(content, _ZLIB if is_zlib else _RAW)
    return content, False


def _inflated(content: bytes, window: int) -> tuple[bytes, bool]:
    """Undo one encoding; gzip may have several members, and all of their rules bind."""
    if not content:
        return content, False
    text, at = b"", 0
    for _ in range(MOST_MEMBERS):
        inflater = zlib.decompressobj(window)
        while not inflater.eof:
            packed = content[at : at + _SLICE_BYTES]
            try:
                text += inflater.decompress(packed, ROBOTS_BYTES + 1 - len(text))
            except zlib.error:
                # What was never packed, whatever its label says, are the rules themselves.
                return (text, True) if text else (content, False)
            if not packed or len(text) > ROBOTS_BYTES:
                return text, True
            at += len(packed) - len(inflater.unused_data)
        if not content.startswith(_GZIP_MAGIC, at):
            return text, False  # what stands behind the end is padding
    return text, True

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

from .body_limits import MAX_ROBOTS_BYTES, content_encodings
from .response_models import FetchedResponse

MAX_PARSED_CHARACTERS: Final = 100 * 1024
"""Characters: longer ones are not parsed here, since that holds up everybody else."""
MAX_SITEMAPS: Final = 50
MAX_GZIP_MEMBERS: Final = 100
"""Of one gzip file: with thousands of empty ones somebody would have us busy."""

_GZIP_WINDOW: Final = 31
_ZLIB_WINDOW: Final = 15
_RAW_DEFLATE_WINDOW: Final = -15
_GZIP_MAGIC: Final = b"\x1f\x8b"
_DEFLATED: Final = 8
_ZLIB_CHECK: Final = 31
"""By which the first two bytes of zlib's format are known (RFC 1950)."""
_SLICE_BYTES: Final = 4096
"""So that what came before a fault is kept."""


def robots_text(response: FetchedResponse, *, max_bytes: int = MAX_ROBOTS_BYTES) -> tuple[str, bool]:
    """Give the text, and whether something was cut off."""
    content, is_cut = _undone(response)
    charset = response.head.get("content-type").partition("charset=")[2].partition(";")[0].strip(" \"'")
    encoded = decode_robots(content[:MAX_ROBOTS_BYTES], charset=charset).encode("utf-8", "replace")
    return encoded[:max_bytes].decode("utf-8", "ignore"), is_cut or len(encoded) > max_bytes


@dataclass(frozen=True, slots=True)
class RobotsDirectives:
    """What a robots.txt asks for besides its rules."""

    crawl_delay_seconds: float = -1.0
    """-1 where it asks for none."""
    sitemaps: tuple[str, ...] = ()


def read_robots_directives(text: str, *, url: str, user_agent: str, room_bytes: int) -> RobotsDirectives:
    """Read a text's wishes towards us; a text of unusual size is left to whoever reads its rules."""
    if not text or len(text) > MAX_PARSED_CHARACTERS:
        return RobotsDirectives()
    rules = RobotsTxt(text)
    asked = rules.delay_seconds(product_token(user_agent))
    sitemaps: list[str] = []
    for named in rules.sitemaps[:MAX_SITEMAPS]:
        found = to_wire_url(named, url)
        if not isinstance(found, RefusedUrl) and (room_bytes := room_bytes - len(found) - 4) > 0:
            sitemaps.append(found)
    return RobotsDirectives(asked or -1.0, tuple(dict.fromkeys(sitemaps)))


def _undone(answer: FetchedResponse) -> tuple[bytes, bool]:
    content, is_cut = answer.body, answer.is_cut
    for word in reversed(content_encodings(answer.head)):
        content, is_longer = _decompress(word, content)
        is_cut = is_cut or is_longer
    if content.startswith(_GZIP_MAGIC):  # packed as a file, of which no header tells
        content, is_longer = _inflated(content, _GZIP_WINDOW)
        is_cut = is_cut or is_longer
    return content, is_cut or len(content) > MAX_ROBOTS_BYTES


def _decompress(encoding: str, content: bytes) -> tuple[bytes, bool]:
    """Undo one encoding as far as it goes, and no further than anybody will read."""
    if encoding in {"gzip", "x-gzip"} or content.startswith(_GZIP_MAGIC):
        return _inflated(content, _GZIP_WINDOW)
    if encoding == "deflate":
        # Meant is zlib's format; some send the stream alone.
        is_zlib = (
            content[:1] and content[0] % 16 == _DEFLATED and not int.from_bytes(content[:2]) % _ZLIB_CHECK
        )
        return _inflated(content, _ZLIB_WINDOW if is_zlib else _RAW_DEFLATE_WINDOW)
    return content, False


def _inflated(content: bytes, window: int) -> tuple[bytes, bool]:
    """Undo one encoding; gzip may have several members, and all of their rules bind."""
    if not content:
        return content, False
    text, at = b"", 0
    for _ in range(MAX_GZIP_MEMBERS):
        inflater = zlib.decompressobj(window)
        while not inflater.eof:
            packed = content[at : at + _SLICE_BYTES]
            try:
                text += inflater.decompress(packed, MAX_ROBOTS_BYTES + 1 - len(text))
            except zlib.error:
                # What was never packed, whatever its label says, are the rules themselves.
                return (text, True) if text else (content, False)
            if not packed or len(text) > MAX_ROBOTS_BYTES:
                return text, True
            at += len(packed) - len(inflater.unused_data)
        if not content.startswith(_GZIP_MAGIC, at):
            return text, False  # what stands behind the end is padding
    return text, True

"""Body of a robots.txt to text: decompressed, decoded, truncated at 500 KiB.

Bytes become text here, and the crawl delay and sitemaps are read from it; what the rules allow is decided by
the scheduler. A file whose encoding is broken or which inflates without end is read as far as possible: rules
before the fault are still binding.
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
"""In characters: longer files are not parsed here, as that would block the event loop."""
MAX_SITEMAPS: Final = 50
MAX_GZIP_MEMBERS: Final = 100
"""Of one gzip file: thousands of empty members would waste time."""

_GZIP_WINDOW: Final = 31
_ZLIB_WINDOW: Final = 15
_RAW_DEFLATE_WINDOW: Final = -15
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZLIB_METHOD_DEFLATE: Final = 8
_ZLIB_HEADER_MODULUS: Final = 31
"""The first two bytes of a zlib stream are a multiple of this (RFC 1950)."""
_SLICE_BYTES: Final = 4096
"""Small, so that everything before a fault is kept."""


def decode_robots_body(response: FetchedResponse, *, max_bytes: int = MAX_ROBOTS_BYTES) -> tuple[str, bool]:
    """Return the text, and whether part of it was cut off."""
    content, is_cut = _decompress_body(response)
    charset = response.head.get("content-type").partition("charset=")[2].partition(";")[0].strip(" \"'")
    encoded = decode_robots(content[:MAX_ROBOTS_BYTES], charset=charset).encode("utf-8", "replace")
    return encoded[:max_bytes].decode("utf-8", "ignore"), is_cut or len(encoded) > max_bytes


@dataclass(frozen=True, slots=True)
class RobotsFileFacts:
    """Directives of a robots.txt besides its rules."""

    crawl_delay_seconds: float = -1.0
    """-1 if there is none."""
    sitemaps: tuple[str, ...] = ()


def read_robots_directives(
    text: str, *, url: str, user_agent: str, max_sitemap_bytes: int
) -> RobotsFileFacts:
    """Read crawl delay and sitemaps for our User-Agent; nothing from a text of unusual size."""
    if not text or len(text) > MAX_PARSED_CHARACTERS:
        return RobotsFileFacts()
    rules = RobotsTxt(text)
    delay_seconds = rules.delay_seconds(product_token(user_agent))
    sitemaps: list[str] = []
    for sitemap_url in rules.sitemaps[:MAX_SITEMAPS]:
        url_found = to_wire_url(sitemap_url, url)
        if (
            not isinstance(url_found, RefusedUrl)
            and (max_sitemap_bytes := max_sitemap_bytes - len(url_found) - 4) > 0
        ):
            sitemaps.append(url_found)
    return RobotsFileFacts(delay_seconds or -1.0, tuple(dict.fromkeys(sitemaps)))


def _decompress_body(response: FetchedResponse) -> tuple[bytes, bool]:
    content, is_cut = response.body, response.is_truncated
    for encoding in reversed(content_encodings(response.head)):
        content, is_cut_here = _decompress(encoding, content)
        is_cut = is_cut or is_cut_here
    if content.startswith(_GZIP_MAGIC):  # a gzip file, which no header declares
        content, is_cut_here = _inflate(content, _GZIP_WINDOW)
        is_cut = is_cut or is_cut_here
    return content, is_cut or len(content) > MAX_ROBOTS_BYTES


def _decompress(encoding: str, content: bytes) -> tuple[bytes, bool]:
    """Undo one encoding, up to the number of bytes that are read of a robots.txt."""
    if encoding in {"gzip", "x-gzip"} or content.startswith(_GZIP_MAGIC):
        return _inflate(content, _GZIP_WINDOW)
    if encoding == "deflate":
        # Meant is the zlib format; some servers send the raw deflate stream.
        is_zlib = (
            content[:1]
            and content[0] % 16 == _ZLIB_METHOD_DEFLATE
            and not int.from_bytes(content[:2]) % _ZLIB_HEADER_MODULUS
        )
        return _inflate(content, _ZLIB_WINDOW if is_zlib else _RAW_DEFLATE_WINDOW)
    return content, False


def _inflate(content: bytes, window_bits: int) -> tuple[bytes, bool]:
    """Inflate a stream; gzip may have several members, and the rules of all of them are binding."""
    if not content:
        return content, False
    text, at = b"", 0
    for _ in range(MAX_GZIP_MEMBERS):
        inflater = zlib.decompressobj(window_bits)
        while not inflater.eof:
            packed = content[at : at + _SLICE_BYTES]
            try:
                text += inflater.decompress(packed, MAX_ROBOTS_BYTES + 1 - len(text))
            except zlib.error:
                # A body that was never compressed, whatever its header says, holds the rules themselves.
                return (text, True) if text else (content, False)
            if not packed or len(text) > MAX_ROBOTS_BYTES:
                return text, True
            at += len(packed) - len(inflater.unused_data)
        if not content.startswith(_GZIP_MAGIC, at):
            return text, False  # padding after the end
    return text, True

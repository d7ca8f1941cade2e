"""Match paths against the patterns of robots.txt rules.

Both are normalized first (RFC 9309, 2.2.2): needless escapes are decoded, required ones are upper case. Then
`*` matches anything and a final `$` matches the end. Stars and dollars of the path itself are escaped, so
that only patterns with the escapes match them (2.2.3).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_UNRESERVED: Final = "A-Za-z0-9\\-._~"
_TRIPLE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_NOT_IN_URLS: Final = re.compile(rf"[^{_UNRESERVED}:/?#\[\]@!$&'()*+,;=%]+")
"""Characters that no URL contains raw; each of their bytes is escaped."""

_PLAIN_IN_PATHS: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:@!'(),;&=+"
)
"""Bytes that are equivalent to their escapes in a path. An escaped slash is not a separator, and escaped
stars and dollars are literal.
"""

_PLAIN_IN_QUERIES: Final = (_PLAIN_IN_PATHS | frozenset(b"/?")) - frozenset(b"&=+")
"""In a query slashes do not separate anything either; but `&`, `=` and `+` differ from their escapes."""


def robots_path(url: str) -> str:
    """Return path and query of a URL in normalized form, with its stars and dollars escaped."""
    rest = url.partition("#")[0]
    authority = rest.find("//")
    start = 0 if authority < 0 else authority + 2
    at = next((at for at in range(start, len(rest)) if rest[at] in "/?"), len(rest))
    path = rest[at:]
    path = path if path.startswith("/") else "/" + path
    return normalize_escapes(path).replace("*", "%2A").replace("$", "%24")


def normalize_escapes(text: str) -> str:
    """Normalize the escapes of a path or of a path pattern."""
    if "%" not in text and _NOT_IN_URLS.search(text) is None:
        return text
    text = _NOT_IN_URLS.sub(_escape_match, text)
    path, mark, query = text.partition("?")
    return _unescape_plain(path, _PLAIN_IN_PATHS) + mark + _unescape_plain(query, _PLAIN_IN_QUERIES)


@dataclass(frozen=True, slots=True)
class RobotsPattern:
    """Parsed path pattern of a rule."""

    prefix: str
    """Text that the path must begin with."""
    parts: tuple[str, ...] = ()
    """Texts that must follow, in this order, anywhere."""
    is_anchored: bool = False
    """Whether the last part must end the path."""
    length: int = 0
    """Length in octets as written, which decides between matching rules."""

    def matches(self, path: str) -> bool:
        """Whether a path that begins with the prefix matches."""
        at = len(self.prefix)
        if not self.parts:
            return not self.is_anchored or at == len(path)
        *middle, last = self.parts
        for part in middle:
            at = path.find(part, at)
            if at < 0:
                return False
            at += len(part)
        if self.is_anchored:
            return len(path) - len(last) >= at and path.endswith(last)
        return path.find(last, at) >= 0


def parse_pattern(text: str) -> RobotsPattern:
    """Parse a pattern. Consecutive stars are one, and a star at the end has no effect."""
    normalized = normalize_escapes(text)
    is_anchored = normalized.endswith("$")
    body = normalized[:-1] if is_anchored else normalized
    first, *others = body.replace("$", "%24").split("*")
    kept = [part for part in others[:-1] if part] + others[-1:]
    if kept and not kept[-1] and not is_anchored:
        kept.pop()
    return RobotsPattern(first, tuple(kept), is_anchored, len(normalized))


def _escape_match(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogateescape"))


def _unescape_plain(text: str, plain: frozenset[int]) -> str:
    def unescape(found: re.Match[str]) -> str:
        byte = int(found[1], 16)
        return chr(byte) if byte in plain else found[0].upper()

    return _TRIPLE.sub(unescape, text) if "%" in text else text

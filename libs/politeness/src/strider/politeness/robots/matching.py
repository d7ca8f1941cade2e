"""When is a rule's pattern meant by a path?

Both are brought into one spelling first (RFC 9309, 2.2.2): what need not be escaped is not, what must
be is, in upper case. Then `*` stands for anything and `$` at the end for the end. A path's own stars
and dollars are escaped, so that they meet only patterns that mean them (2.2.3).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_UNRESERVED: Final = "A-Za-z0-9\\-._~"
_TRIPLE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_ODD: Final = re.compile(rf"[^{_UNRESERVED}:/?#\[\]@!$&'()*+,;=%]+")
"""What no URL has as it is; each byte of it is escaped."""

_PLAIN_IN_PATHS: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:@!'(),;&=+"
)
"""Bytes that mean the same in a path whether they are escaped or not. A slash that is escaped is none, and
stars and dollars that are escaped are meant as they stand."""

_PLAIN_IN_QUERIES: Final = (_PLAIN_IN_PATHS | frozenset(b"/?")) - frozenset(b"&=+")
"""In a query nothing is parted by slashes either; but `&`, `=` and `+` part what theirs escaped do not."""


def robots_path(url: str) -> str:
    """Give path and query of a URL in the one spelling, with its stars and dollars escaped."""
    rest = url.partition("#")[0]
    authority = rest.find("//")
    start = 0 if authority < 0 else authority + 2
    at = next((at for at in range(start, len(rest)) if rest[at] in "/?"), len(rest))
    path = rest[at:]
    path = path if path.startswith("/") else "/" + path
    return normalize_escapes(path).replace("*", "%2A").replace("$", "%24")


def normalize_escapes(text: str) -> str:
    """Bring a path, or a pattern for paths, into the one spelling."""
    if "%" not in text and _ODD.search(text) is None:
        return text
    text = _ODD.sub(_escaped, text)
    path, mark, query = text.partition("?")
    return _told(path, _PLAIN_IN_PATHS) + mark + _told(query, _PLAIN_IN_QUERIES)


@dataclass(frozen=True, slots=True)
class RobotsPattern:
    """What a rule says of paths."""

    prefix: str
    """What a path has to begin with."""
    parts: tuple[str, ...] = ()
    """What has to follow, in this order, anywhere."""
    is_anchored: bool = False
    """Whether the last part has to end the path."""
    length: int = 0
    """Octets as written, by which the most specific rule is found."""

    def matches(self, path: str) -> bool:
        """Say whether a path that begins with the first part is meant."""
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
    """Read a pattern. Stars in a row are one, and one at the end says nothing."""
    told = normalize_escapes(text)
    is_anchored = told.endswith("$")
    body = told[:-1] if is_anchored else told
    first, *others = body.replace("$", "%24").split("*")
    kept = [part for part in others[:-1] if part] + others[-1:]
    if kept and not kept[-1] and not is_anchored:
        kept.pop()
    return RobotsPattern(first, tuple(kept), is_anchored, len(told))


def broadest_pattern(pattern: RobotsPattern) -> RobotsPattern:
    """Give what a pattern means at most."""
    return RobotsPattern(pattern.prefix or "/", length=pattern.length)


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogateescape"))


def _told(text: str, plain: frozenset[int]) -> str:
    def tell(found: re.Match[str]) -> str:
        byte = int(found[1], 16)
        return chr(byte) if byte in plain else found[0].upper()

    return _TRIPLE.sub(tell, text) if "%" in text else text

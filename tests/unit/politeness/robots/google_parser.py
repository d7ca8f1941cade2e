"""Reference implementation of Google's robots.txt parser, written from its specification for clarity.

It shares no code with ours and is not optimized. Where the RFC requires something else, ours differs;
`test_google` names each of these cases.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

LONGEST_LINE: Final = 2083 * 8 - 1
_MARK: Final = b"\xef\xbb\xbf"
_BLANKS: Final = b" \t\n\v\f\r"

_AGENT: Final = (b"user-agent", b"useragent", b"user agent")
_DISALLOW: Final = (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")


@dataclass
class Google:
    """Rules for one agent. Numbers are lengths of the longest matching pattern."""

    path: bytes
    agent: bytes
    is_specific: bool = False
    is_global: bool = False
    has_seen_specific: bool = False
    has_separator: bool = False
    best: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def is_allowed(self) -> bool:
        """Whether the path is allowed."""
        for scope in ("specific", "global"):
            allow, disallow = (self.best.get((scope, kind), -1) for kind in ("allow", "disallow"))
            if allow > 0 or disallow > 0:
                return disallow <= allow
            if self.has_seen_specific:
                return True
        return True

    def on_agent(self, value: bytes) -> None:
        if self.has_separator:
            self.is_specific = self.is_global = self.has_separator = False
        if value[:1] == b"*" and (len(value) == 1 or value[1:2] in _BLANKS):
            self.is_global = True
            return
        end = next((at for at, byte in enumerate(value) if not _is_token(byte)), len(value))
        if value[:end].lower() == self.agent.lower():
            self.is_specific = self.has_seen_specific = True

    def on_rule(self, kind: str, value: bytes) -> None:
        if not (self.is_specific or self.is_global):
            return
        self.has_separator = True
        self._take(kind, value)
        at = value.rfind(b"/")
        if kind == "allow" and at >= 0 and value[at:].startswith(b"/index.htm"):
            self._take(kind, value[: at + 1] + b"$")

    def _take(self, kind: str, value: bytes) -> None:
        pattern = escaped(value)
        if matches(self.path, pattern):
            key = ("specific" if self.is_specific else "global", kind)
            self.best[key] = max(self.best.get(key, -1), len(pattern))


def google_allows(content: bytes, agent: str, path: str) -> bool:
    """Parse a text for an agent and a path with query, escaped as in URLs."""
    google = Google(path.encode(), agent.encode())
    for line in _lines(content):
        key, value = _key_and_value(line)
        lower = key.lower()
        if lower.startswith(_AGENT):
            google.on_agent(value)
        elif lower.startswith(b"allow"):
            google.on_rule("allow", value)
        elif lower.startswith(_DISALLOW):
            google.on_rule("disallow", value)
    return google.is_allowed


def _lines(content: bytes) -> list[bytes]:
    matched = next((n for n in range(3) if content[n : n + 1] != _MARK[n : n + 1]), 3)
    found, line, was_return = [], bytearray(), False
    for byte in content[matched:]:
        if byte not in b"\n\r":
            if len(line) < LONGEST_LINE:
                line.append(byte)
            was_return = False
            continue
        if not (not line and was_return and byte == ord("\n")):
            found.append(bytes(line))
        line, was_return = bytearray(), byte == ord("\r")
    return [*found, bytes(line)]


def _key_and_value(line: bytes) -> tuple[bytes, bytes]:
    line = line.partition(b"\0")[0].partition(b"#")[0].strip(_BLANKS)
    if b":" in line:
        key, _, value = line.partition(b":")
        return key.strip(_BLANKS), value.strip(_BLANKS)
    words = line.replace(b"\t", b" ").split(b" ")
    words = [word for word in words if word]
    return (words[0], words[1]) if len(words) == 2 else (b"", b"")


def escaped(pattern: bytes) -> bytes:
    """Escape non-ASCII characters, and write escapes in upper case."""
    found, at = bytearray(), 0
    while at < len(pattern):
        byte = pattern[at]
        if byte == ord("%") and _is_hex(pattern[at + 1 : at + 3]):
            found += pattern[at : at + 3].upper()
            at += 3
            continue
        found += b"%%%02X" % byte if byte >= 0x80 else bytes((byte,))
        at += 1
    return bytes(found)


def matches(path: bytes, pattern: bytes) -> bool:
    """Match a pattern with stars and an end against a path, at all positions at once."""
    places = [0]
    for at, sign in enumerate(pattern):
        if sign == ord("$") and at + 1 == len(pattern):
            return places[-1] == len(path)
        if sign == ord("*"):
            places = list(range(places[0], len(path) + 1))
        else:
            places = [place + 1 for place in places if path[place : place + 1] == bytes((sign,))]
        if not places:
            return False
    return True


def _is_token(byte: int) -> bool:
    return bytes((byte,)).isalpha() or byte in b"-_"


def _is_hex(two: bytes) -> bool:
    return len(two) == 2 and all(byte in b"0123456789abcdefABCDEF" for byte in two)

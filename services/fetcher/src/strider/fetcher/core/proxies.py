"""What is a proxy, and how well does it do?

An address with its account; and what it has done so far: a value that each request
through it replaces. More than ten failures in a row disable it; one success forgives them all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

MAX_CONSECUTIVE_FAILURES: Final = 10
"""Failures in a row that a proxy may have and stay in use."""

LATENCY_AVERAGE_WINDOW: Final = 100
"""Answers over which the mean time is taken; later ones count as much as the hundredth."""

_DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 8080, "https": 443, "socks5": 1080}
_SPELLINGS: Final[Mapping[str, str]] = {"socks5h": "socks5", "socks": "socks5", "": "http"}
_URL: Final = re.compile(
    r"(?:(?P<scheme>[a-z0-9]+)://)?(?:(?P<user>[^:@/\s]*)(?::(?P<word>[^@/\s]*))?@)?"
    r"(?P<host>\[[0-9a-f:.]+\]|[^:/@\[\]?#\s]+)(?::(?P<port>[0-9]{1,5}))?/?",
    re.IGNORECASE,
)
_ESCAPED: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f]")
_MAX_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class Proxy:
    """Somebody who asks in our place."""

    protocol: str
    """http, https or socks5."""
    host: str
    port: int
    username: str = ""
    password: str = field(default="", repr=False)

    @property
    def display_url(self) -> str:
        """As outcomes and logs say it: without the account."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.protocol}://{host}:{self.port}"

    @property
    def key(self) -> str:
        """What tells it apart from others: one gateway may have many accounts."""
        return f"{self.username}@{self.display_url}" if self.username else self.display_url


def parse_proxy_url(url: str) -> Proxy:
    """Read a proxy's URL; ValueError says what is wrong, without quoting it: it may carry a password."""
    found = _URL.fullmatch(url.strip())
    if found is None:
        raise ValueError("a proxy is written scheme://user:password@host:port; special signs as %2F")
    scheme = (found["scheme"] or "").lower()
    protocol = _SPELLINGS.get(scheme, scheme)
    if protocol not in _DEFAULT_PORTS:
        raise ValueError("a proxy's URL begins with http://, https:// or socks5://")
    port = int(found["port"] or _DEFAULT_PORTS[protocol])
    if not 1 <= port <= _MAX_PORT:
        raise ValueError("a proxy's port is 1 to 65535")
    username, password = _unescaped(found["user"] or ""), _unescaped(found["word"] or "")
    if _UNFIT.search(username + password):
        raise ValueError("a proxy's account has a control character in it")
    return Proxy(protocol, found["host"].strip("[]").lower(), port, username, password)


def _unescaped(text: str) -> str:
    plain = _ESCAPED.sub(lambda found: bytes((int(found[1], 16),)), text.encode())
    return plain.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Standing:
    """What a proxy has done so far. Times are of the wall clock, in seconds since 1970; 0 for never."""

    is_active: bool = True
    success_count: int = 0
    failure_count: int = 0
    """In a row, since the last success."""
    average_ms: float = 0.0
    """Mean time from the request to the first byte of its answer."""
    last_used_at: float = 0.0
    last_success_at: float = 0.0
    last_failure_at: float = 0.0

    def after_success(self, *, now: float, seconds: float) -> Standing:
        """Count an answer that came through it."""
        weight = 1 / min(self.success_count + 1, LATENCY_AVERAGE_WINDOW)
        return replace(
            self,
            is_active=True,
            success_count=self.success_count + 1,
            failure_count=0,
            average_ms=self.average_ms + (seconds * 1000 - self.average_ms) * weight,
            last_success_at=now,
        )

    def after_failure(self, *, now: float) -> Standing:
        """Count a failure that was the proxy's; too many of them disable it."""
        count = self.failure_count + 1
        is_active = self.is_active and count <= MAX_CONSECUTIVE_FAILURES
        return replace(self, is_active=is_active, failure_count=count, last_failure_at=now)

    def reenabled(self) -> Standing:
        """Give it one more chance: it answers again, and has yet to prove itself."""
        return replace(self, is_active=True, failure_count=MAX_CONSECUTIVE_FAILURES)

    def with_status_of(self, other: Standing) -> Standing:
        """Take over what somebody else has found out."""
        return replace(self, is_active=other.is_active, failure_count=other.failure_count)

    def marked_used(self, *, now: float) -> Standing:
        """Note that it was chosen."""
        return replace(self, last_used_at=now)

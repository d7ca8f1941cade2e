"""Proxies: their URLs, and the health record that each request through one updates.

More than ten failures in a row disable a proxy; one success resets the count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

MAX_CONSECUTIVE_FAILURES: Final = 10
"""Failures in a row after which a proxy is still used."""

LATENCY_AVERAGE_WINDOW: Final = 100
"""Responses over which the mean latency is taken; later ones weigh as much as the hundredth."""

_DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 8080, "https": 443, "socks5": 1080}
_SCHEME_ALIASES: Final[Mapping[str, str]] = {"socks5h": "socks5", "socks": "socks5", "": "http"}
_PROXY_URL: Final = re.compile(
    r"(?:(?P<scheme>[a-z0-9]+)://)?(?:(?P<user>[^:@/\s]*)(?::(?P<password>[^@/\s]*))?@)?"
    r"(?P<host>\[[0-9a-f:.]+\]|[^:/@\[\]?#\s]+)(?::(?P<port>[0-9]{1,5}))?/?",
    re.IGNORECASE,
)
_PERCENT_ESCAPE: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f]")
_MAX_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy with its credentials."""

    protocol: str
    """http, https or socks5."""
    host: str
    port: int
    username: str = ""
    password: str = field(default="", repr=False)

    @property
    def display_url(self) -> str:
        """The URL for events and logs, without credentials."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.protocol}://{host}:{self.port}"

    @property
    def key(self) -> str:
        """Identity of the proxy: one gateway may have many accounts."""
        return f"{self.username}@{self.display_url}" if self.username else self.display_url


def parse_proxy_url(url: str) -> Proxy:
    """Parse a proxy URL; ValueError does not quote it, as it may hold a password."""
    match = _PROXY_URL.fullmatch(url.strip())
    if match is None:
        raise ValueError("a proxy is written scheme://user:password@host:port; special characters as %2F")
    scheme = (match["scheme"] or "").lower()
    if not scheme and match["port"] is None:
        raise ValueError("a proxy without a scheme needs a port: write host:port or http://host")
    protocol = _SCHEME_ALIASES.get(scheme, scheme)
    if protocol not in _DEFAULT_PORTS:
        raise ValueError("a proxy URL begins with http://, https:// or socks5://")
    port = int(match["port"] or _DEFAULT_PORTS[protocol])
    if not 1 <= port <= _MAX_PORT:
        raise ValueError("the port of a proxy is 1 to 65535")
    username, password = _percent_decode(match["user"] or ""), _percent_decode(match["password"] or "")
    if _CONTROL_CHARACTER.search(username + password):
        raise ValueError("the credentials of a proxy contain a control character")
    return Proxy(protocol, match["host"].strip("[]").lower(), port, username, password)


def _percent_decode(text: str) -> str:
    plain = _PERCENT_ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), text.encode())
    return plain.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class ProxyHealth:
    """Health of a proxy. Times are of the wall clock, in seconds since 1970; 0 for never."""

    is_active: bool = True
    success_count: int = 0
    failure_count: int = 0
    """In a row, since the last success."""
    average_ms: float = 0.0
    """Mean time from the request to the first byte of its response, in milliseconds."""
    last_used_at: float = 0.0
    last_success_at: float = 0.0
    last_failure_at: float = 0.0

    def after_success(self, *, now: float, seconds: float) -> ProxyHealth:
        """Return the health after a response was received through the proxy."""
        weight = 1 / min(self.success_count + 1, LATENCY_AVERAGE_WINDOW)
        return replace(
            self,
            is_active=True,
            success_count=self.success_count + 1,
            failure_count=0,
            average_ms=self.average_ms + (seconds * 1000 - self.average_ms) * weight,
            last_success_at=now,
        )

    def after_failure(self, *, now: float) -> ProxyHealth:
        """Return the health after a failure of the proxy; too many in a row disable it."""
        count = self.failure_count + 1
        is_active = self.is_active and count <= MAX_CONSECUTIVE_FAILURES
        return replace(self, is_active=is_active, failure_count=count, last_failure_at=now)

    def reenabled(self) -> ProxyHealth:
        """Return the health after a successful check: enabled, and disabled again by the next failure."""
        return replace(self, is_active=True, failure_count=MAX_CONSECUTIVE_FAILURES)

    def with_status_of(self, other: ProxyHealth) -> ProxyHealth:
        """Return the health with the status that another process has recorded."""
        return replace(self, is_active=other.is_active, failure_count=other.failure_count)

    def marked_used(self, *, now: float) -> ProxyHealth:
        """Return the health with the time of its last use."""
        return replace(self, last_used_at=now)

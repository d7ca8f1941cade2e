"""Cookies: parse Set-Cookie, update a jar, build the Cookie header.

RFC 6265, stricter where that costs nothing. A cookie is for the host that set it, or for a domain between
that host and its registrable domain, never for a public suffix. Schemes are respected, sizes are limited, and
a jar holds a limited number. A cookie that breaks a rule is ignored. The time is an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from strider.urls import host_of, registrable_domain

from .retry_after import parse_http_date

MAX_COOKIES: Final = 50
"""Of one registrable domain; the oldest is dropped first."""
MAX_COOKIE_BYTES: Final = 4096
"""Of one cookie, name and value together."""
MAX_HEADER_BYTES: Final = 8192
"""Of the cookies in one request; those with the shortest paths are left out."""
MAX_LIFETIME_SECONDS: Final = 400 * 86_400.0
"""A longer lifetime is reduced to this."""
SESSION_LIFETIME_SECONDS: Final = 7 * 86_400.0
"""Longest lifetime of a cookie without an expiry; it ends with its run at the latest."""

_FORBIDDEN_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f;\ud800-\udfff]")
_NUMBER: Final = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie; times are in seconds since 1970.

    The names of the fields are stored in Redis as keys of JSON objects and must not change.
    """

    name: str
    value: str
    domain: str
    path: str
    expires_at: float
    set_at: float
    is_for_host: bool = True
    """Whether only the host that set it receives it."""
    is_secure: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity of the cookie: a later cookie with the same key replaces it."""
        return (self.domain, self.path, self.name)


def parse_set_cookies(set_cookie_lines: Iterable[str], *, url: str, now: float) -> list[Cookie]:
    """Parse the Set-Cookie lines of a response, expired ones included, as they remove others."""
    cookies = (_parse_set_cookie(line, url=url, now=now) for line in list(set_cookie_lines)[:MAX_COOKIES])
    return [cookie for cookie in cookies if cookie is not None]


def update_jar(jar: Iterable[Cookie], new_cookies: Iterable[Cookie], *, now: float) -> tuple[Cookie, ...]:
    """Return a jar with new cookies, without expired ones and the oldest beyond the limit."""
    cookies = {cookie.key: cookie for cookie in jar}
    for cookie in new_cookies:
        cookies.pop(cookie.key, None)
        cookies[cookie.key] = cookie
    alive = [cookie for cookie in cookies.values() if cookie.expires_at > now]
    return tuple(sorted(alive, key=lambda cookie: cookie.set_at)[-MAX_COOKIES:])


def build_cookie_header(jar: Sequence[Cookie], *, url: str, now: float) -> str:
    """Return the Cookie header for a URL, longer paths first; empty if no cookie matches."""
    name, path, is_secure = host_of(url), _url_path(url), url.startswith("https://")
    matching = [
        cookie
        for cookie in jar
        if cookie.expires_at > now
        and (is_secure or not cookie.is_secure)
        and _matches_host(name, cookie)
        and _matches_path(path, cookie.path)
    ]
    pairs: list[str] = []
    remaining_bytes = MAX_HEADER_BYTES
    for cookie in sorted(matching, key=lambda cookie: (-len(cookie.path), cookie.set_at)):
        pair = f"{cookie.name}={cookie.value}" if cookie.name else cookie.value
        remaining_bytes -= len(pair.encode()) + 2
        if remaining_bytes < 0:
            break
        pairs.append(pair)
    return "; ".join(pairs)


def _parse_set_cookie(line: str, *, url: str, now: float) -> Cookie | None:
    first, *rest = line.split(";")
    name, equals, value = first.partition("=")
    name, value = (name.strip(), value.strip()) if equals else ("", name.strip())
    if (
        not (name or value)
        or _FORBIDDEN_CHARACTER.search(name + value)
        or len(f"{name}{value}".encode()) > MAX_COOKIE_BYTES
    ):
        return None
    attributes = {
        key.strip().lower(): attribute.strip() for key, _, attribute in (part.partition("=") for part in rest)
    }
    owner = _cookie_scope(attributes.get("domain", ""), host_of(url))
    is_secure = "secure" in attributes
    if owner is None or (is_secure and not url.startswith("https://")):
        return None
    domain, is_for_host = owner
    path = attributes.get("path", "")
    path = path if path.startswith("/") else _url_path(url).rpartition("/")[0] or "/"
    if not _satisfies_name_prefix(name, path, is_secure=is_secure, is_for_host=is_for_host):
        return None
    return Cookie(name, value, domain, path, _expiry(attributes, now), now, is_for_host, is_secure)


def _cookie_scope(domain_attribute: str, host_name: str) -> tuple[str, bool] | None:
    """Return a cookie's domain and whether it is for that host alone; None if not allowed."""
    domain = domain_attribute.lower().lstrip(".")
    if not domain or domain == host_name:
        return host_name, not domain
    own = registrable_domain(host_name)
    is_within = host_name.endswith(f".{domain}") and (domain == own or domain.endswith(f".{own}"))
    return (domain, False) if is_within else None


def _satisfies_name_prefix(name: str, path: str, *, is_secure: bool, is_for_host: bool) -> bool:
    """Whether a cookie fulfils the prefix __Host- or __Secure- of its name (RFC 6265bis)."""
    lower = name.lower()
    if lower.startswith("__host-"):
        return is_secure and is_for_host and path == "/"
    return is_secure or not lower.startswith("__secure-")


def _expiry(attributes: dict[str, str], now: float) -> float:
    age = attributes.get("max-age", "")
    if _NUMBER.fullmatch(age):
        return now + min(float(age), MAX_LIFETIME_SECONDS)
    until = parse_http_date(attributes.get("expires", ""))
    return now + SESSION_LIFETIME_SECONDS if until is None else min(until, now + MAX_LIFETIME_SECONDS)


def _matches_host(host_name: str, cookie: Cookie) -> bool:
    return host_name == cookie.domain or (not cookie.is_for_host and host_name.endswith(f".{cookie.domain}"))


def _matches_path(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _url_path(url: str) -> str:
    return url[url.index("/", 8) :].partition("?")[0]

"""Which cookies does an answer set, and which are sent with a request?

RFC 6265, and stricter where that costs nothing: a cookie is for the host that set it, or for its registrable
domain and what lies between, never for a public suffix; it goes where its scheme allows; it has a size and a
jar has room for so many. What breaks a rule is no cookie. Pure: the time is an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from strider.urls import host_of, registrable_domain

from .retry_after import moment_of

MAX_COOKIES: Final = 50
"""Of one registrable domain; the oldest goes first."""
MAX_COOKIE_BYTES: Final = 4096
"""Of one cookie, name and value."""
MAX_HEADER_BYTES: Final = 8192
"""In one request; the shortest paths stay out."""
MAX_LIFETIME_SECONDS: Final = 400 * 86_400.0
"""What wants to live longer lives so long."""
SESSION_LIFETIME_SECONDS: Final = 7 * 86_400.0
"""What names no end lives as long as its run, and no longer than this."""

_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f;\ud800-\udfff]")
_NUMBER: Final = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie. Times are in seconds since 1970."""

    name: str
    value: str
    domain: str
    path: str
    expires_at: float
    set_at: float
    is_for_host: bool = True
    """Whether no other host of the domain gets it."""
    is_secure: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What a later cookie replaces."""
        return (self.domain, self.path, self.name)


def parse_set_cookies(set_cookie_lines: Iterable[str], *, url: str, now: float) -> list[Cookie]:
    """Read the Set-Cookie lines of an answer; also those that have expired, since they take others away."""
    found = (_parse_set_cookie(line, url=url, now=now) for line in list(set_cookie_lines)[:MAX_COOKIES])
    return [cookie for cookie in found if cookie is not None]


def update_jar(jar: Iterable[Cookie], new_cookies: Iterable[Cookie], *, now: float) -> tuple[Cookie, ...]:
    """Put new cookies into a jar, take out what has expired, and what there is no room for."""
    known = {cookie.key: cookie for cookie in jar}
    for cookie in new_cookies:
        known.pop(cookie.key, None)
        known[cookie.key] = cookie
    alive = [cookie for cookie in known.values() if cookie.expires_at > now]
    return tuple(sorted(alive, key=lambda cookie: cookie.set_at)[-MAX_COOKIES:])


def build_cookie_header(jar: Sequence[Cookie], *, url: str, now: float) -> str:
    """Write what is sent to a URL; empty for nothing. Longer paths come first, then older cookies."""
    name, path, is_secure = host_of(url), _path(url), url.startswith("https://")
    fitting = [
        cookie
        for cookie in jar
        if cookie.expires_at > now
        and (is_secure or not cookie.is_secure)
        and _is_of(name, cookie)
        and _matches_path(path, cookie.path)
    ]
    pairs: list[str] = []
    room = MAX_HEADER_BYTES
    for cookie in sorted(fitting, key=lambda cookie: (-len(cookie.path), cookie.set_at)):
        pair = f"{cookie.name}={cookie.value}" if cookie.name else cookie.value
        room -= len(pair.encode()) + 2
        if room < 0:
            break
        pairs.append(pair)
    return "; ".join(pairs)


def _parse_set_cookie(line: str, *, url: str, now: float) -> Cookie | None:
    first, *rest = line.split(";")
    name, equals, value = first.partition("=")
    name, value = (name.strip(), value.strip()) if equals else ("", name.strip())
    if (
        not (name or value)
        or _UNFIT.search(name + value)
        or len(f"{name}{value}".encode()) > MAX_COOKIE_BYTES
    ):
        return None
    said = {key.strip().lower(): told.strip() for key, _, told in (part.partition("=") for part in rest)}
    owner = _owner(said.get("domain", ""), host_of(url))
    is_secure = "secure" in said
    if owner is None or (is_secure and not url.startswith("https://")):
        return None
    domain, is_for_host = owner
    path = said.get("path", "")
    path = path if path.startswith("/") else _folder(url)
    if not _satisfies_name_prefix(name, path, is_secure=is_secure, is_for_host=is_for_host):
        return None
    return Cookie(name, value, domain, path, _end(said, now), now, is_for_host, is_secure)


def _owner(wanted: str, name: str) -> tuple[str, bool] | None:
    """Say for which domain a cookie is, and whether for that host alone; None where it may not be."""
    domain = wanted.lower().lstrip(".")
    if not domain or domain == name:
        return name, not domain
    own = registrable_domain(name)
    is_within = name.endswith(f".{domain}") and (domain == own or domain.endswith(f".{own}"))
    return (domain, False) if is_within else None


def _satisfies_name_prefix(name: str, path: str, *, is_secure: bool, is_for_host: bool) -> bool:
    """Say whether a name that promises something (RFC 6265bis, 4.1.3) keeps it."""
    lower = name.lower()
    if lower.startswith("__host-"):
        return is_secure and is_for_host and path == "/"
    return is_secure or not lower.startswith("__secure-")


def _end(said: dict[str, str], now: float) -> float:
    age = said.get("max-age", "")
    if _NUMBER.fullmatch(age):
        return now + min(float(age), MAX_LIFETIME_SECONDS)
    until = moment_of(said.get("expires", ""))
    return now + SESSION_LIFETIME_SECONDS if until is None else min(until, now + MAX_LIFETIME_SECONDS)


def _is_of(name: str, cookie: Cookie) -> bool:
    return name == cookie.domain or (not cookie.is_for_host and name.endswith(f".{cookie.domain}"))


def _matches_path(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _path(url: str) -> str:
    return url[url.index("/", 8) :].partition("?")[0]


def _folder(url: str) -> str:
    return _path(url).rpartition("/")[0] or "/"

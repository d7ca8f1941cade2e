"""Resolve all links of a page at once: wire URL, key and host, or the reason of refusal.

The results equal those of `to_wire_url` and `url_key_of` for each link (a test compares them), at about a
microsecond a link: the base is parsed once, results that depend only on the authority or on a parameter name
are cached, and URLs that the parser would not change, or that are their own key, are recognized by one
regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from .addresses import address_refusal, canonical_host_kind
from .refusals import (
    BAD_HOST,
    BAD_URL,
    REFUSED_SCHEME,
    TOO_LONG,
    scheme_detail,
)
from .url_key import (
    DEFAULT_KEY_RULES,
    NOT_ALLOWED,
    REFERRER_NAMES,
    UrlKeyRules,
    has_unnormalized_escapes,
    key_authority,
    key_rest,
    parameter_name,
)
from .wire_url import (
    MAX_TEXT_CHARACTERS,
    MAX_URL_BYTES,
    authority_host,
    is_host_possible,
    is_tracking,
    strip_wire_url,
    url_resolver,
)

_NOT_PLAIN: Final = re.compile("[?" + re.escape(NOT_ALLOWED) + "]").search
"""Finds characters that may make a wire URL differ from its key."""

_IS_CANONICAL_REST: Final = re.compile(r"/(?!/)[A-Za-z0-9/_~.,;:@!$*()+=&?-]*\Z").match
"""Matches path and query that the parser would return unchanged, except for dot segments."""

MAX_PLAIN_CHARACTERS: Final = 1024

_PLAIN: Final = r"/(?!/)[A-Za-z0-9/_~.,;:@!$*()+=&-]{0,1023}+(?<!/)"

_PLAIN_PATH: Final = re.compile(_PLAIN).fullmatch
"""Matches a path that is its own key, except for dot segments; most links are such paths."""

_PLAIN_PATHS: Final = re.compile(f"(?:{_PLAIN}\\n)*+").fullmatch
"""Matches all links of a page at once, one per line, when all are plain paths."""

CACHED_AUTHORITIES: Final = 8192
"""About 3 MB when full. Pages of a site link to the same hosts again and again."""

CACHED_NAMES: Final = 2048
"""Names of parameters; a few dozen make up nearly all that occur."""

CACHED_LINKS: Final = 16_384
"""About 6 MB when full; then it is cleared. Most links of a site occur on each of its pages."""

_ABSOLUTE: Final = ("http://", "https://")

_KEPT: Final = 0
_NOT_IN_KEY: Final = 1
_TRACKING: Final = 2


class ResolvedLinks(NamedTuple):
    """Parallel lists, as long as the list of hrefs; a refused link has a reason and empty texts."""

    urls: list[str]
    keys: list[str]
    hosts: list[str]
    reasons: list[str]
    """Empty for a link that may be followed."""
    details: list[str]


_Link = tuple[str, str, str, str, str]


def _refused(reason: str, detail: str = "") -> _Link:
    return "", "", "", reason, detail


class _Authority(NamedTuple):
    host: str
    key: str
    refused: _Link | None
    is_plain: bool
    """Valid, and spelled in the key as in the URL."""


def resolve_links(
    base: str | None,
    hrefs: Iterable[str],
    *,
    allow_private: bool | None = False,
    rules: UrlKeyRules = DEFAULT_KEY_RULES,
) -> ResolvedLinks:
    """Resolve the links of a page; with an invalid base only the absolute links remain.

    With None for `allow_private` all addresses pass, for the caller to judge and report. Without a base
    (None) the links are wire URLs from an event: then the parser sees each authority once, which halves the
    time.
    """
    resolver = _LinkResolver(base, allow_private=allow_private, rules=rules)
    origin, hosts = resolver.origin, resolver.plain_hosts
    home = hosts.get(origin)
    hrefs = list(hrefs)
    if not hrefs or (home is not None and _are_plain_paths(hrefs)):
        urls, empty = [origin + href for href in hrefs], [""] * len(hrefs)
        return ResolvedLinks(urls, urls, [home or ""] * len(hrefs), empty, empty)
    met = _resolved_absolute_links(allow_private, rules)
    found: list[_Link] = []
    for href in hrefs:
        if home is not None and _PLAIN_PATH(href) and "/." not in href:
            url = origin + href
            found.append((url, url, home, "", ""))
            continue
        link = met.get(href)
        if link is None:
            link = resolver.resolve(href)
            home = home or hosts.get(origin)
            # Links from events are resolved less strictly, so their results are not shared.
            if base is not None and href.startswith(_ABSOLUTE) and len(href) <= MAX_PLAIN_CHARACTERS:
                if len(met) >= CACHED_LINKS:
                    met.clear()
                met[href] = link
        found.append(link)
    return ResolvedLinks(*map(list, zip(*found, strict=True)))


def _are_plain_paths(hrefs: list[str]) -> bool:
    """Whether all links are plain paths, as on many sites."""
    lines = "\n".join([*hrefs, ""])
    is_a_line_each = lines.count("\n") == len(hrefs)
    return is_a_line_each and "/." not in lines and _PLAIN_PATHS(lines) is not None


class _LinkResolver:
    """Resolver of links to one base, with cached results by authority."""

    __slots__ = ("_allow_private", "_drop_slash", "_is_wire_form", "_resolve", "origin", "plain_hosts")

    def __init__(self, base: str | None, *, allow_private: bool | None, rules: UrlKeyRules) -> None:
        self._resolve = url_resolver(base)
        self._is_wire_form = base is None
        self._allow_private = allow_private
        self._drop_slash = rules.drop_trailing_slash
        self.plain_hosts = _plain_hosts(allow_private)
        self.origin = "" if base is None else self._read_origin()
        """Prefix of paths on the base's own host; empty without a base."""

    def _read_origin(self) -> str:
        try:
            return self._resolve("/").href[:-1]
        except ValueError:
            return ""

    def resolve(self, href: str) -> _Link:  # noqa: PLR0911  # every call within would cost a twentieth of it
        """Resolve one link."""
        hosts = self.plain_hosts
        url = self.origin + href if self.origin and href[:1] == "/" else href
        start = url.find("/", 8)
        host = hosts.get(url[:start])
        if host is None or not (self._is_wire_form or (_IS_CANONICAL_REST(url, start) and "/." not in url)):
            if len(href) > MAX_TEXT_CHARACTERS:
                return _refused(TOO_LONG)
            try:
                url = self._resolve(href).href
            except (ValueError, TypeError):  # TypeError: lone surrogates do not pass into the parser
                return _refused(BAD_URL)
            if "#" in url:
                url = url[: url.index("#")]
            start = url.find("/", 8)
            host = hosts.get(url[:start])
        if host is None or "/." in url or len(url) > MAX_URL_BYTES:
            return self.resolve_fully(url)
        if (mark := _NOT_PLAIN(url, start)) or url[-2:] == "//":
            if has_unnormalized_escapes(url, mark.start() if mark else start):
                return self.resolve_fully(url)
            return (*self.resolve_query(url, start), host, "", "")
        if url[-1] == "/" and self._drop_slash and len(url) > start + 1:
            return url, url[:-1], host, "", ""
        return url, url, host, "", ""

    def resolve_fully(self, url: str) -> _Link:
        """Return for one URL in WHATWG form what `to_wire_url` and `url_key_of` return."""
        if not url.startswith(("http://", "https://")):
            return _refused(REFUSED_SCHEME, scheme_detail(url.partition(":")[0]))
        url = strip_wire_url(url)
        if len(url) > MAX_URL_BYTES:
            return _refused(TOO_LONG)
        start = url.index("/", 8)
        authority = _checked_authority(url[:start], self._allow_private)
        if authority.refused:
            return authority.refused
        if authority.is_plain:
            if len(self.plain_hosts) >= CACHED_AUTHORITIES:
                self.plain_hosts.clear()
            self.plain_hosts[url[:start]] = authority.host
        rest = key_rest(url[start:], drop_slash=self._drop_slash)
        return url, authority.key + rest, authority.host, "", ""

    def resolve_query(self, url: str, start: int) -> tuple[str, str]:
        """Return wire URL and key where host and escapes are known to be normal, mostly for a query."""
        address, mark, query = url.partition("?")
        key = address.rstrip("/") if self._drop_slash and address[-1] == "/" else address
        if len(key) == start:
            key += "/"
        if mark:
            found, keyed = self._split_query(query)
            if found != query:
                url = f"{address}?{found}" if found else address
            key = f"{key}?{keyed}" if keyed else key
        return url, key

    @staticmethod
    def _split_query(query: str) -> tuple[str, str]:
        """Return the query as in the wire URL and as in the key."""
        pieces = query.split("&")
        keyed = []
        is_tracked = False
        for piece in pieces:
            name, _, value = piece.partition("=")
            kind = _parameter_kind(name)
            if kind == _TRACKING:
                is_tracked = True
            elif kind == _KEPT and (name or value):
                keyed.append((name, piece if value else name))
        if is_tracked:
            query = "&".join(
                [piece for piece in pieces if _parameter_kind(piece.partition("=")[0]) != _TRACKING]
            )
        if len(keyed) == 1:
            return query, keyed[0][1]
        keyed.sort(key=parameter_name)
        return query, "&".join([piece for _, piece in keyed])


@lru_cache(maxsize=6)
def _resolved_absolute_links(allow_private: bool | None, rules: UrlKeyRules) -> dict[str, _Link]:  # noqa: ARG001  # one for each answer
    """Return the cache of resolved absolute links, which no base changes."""
    return {}


@lru_cache(maxsize=3)
def _plain_hosts(allow_private: bool | None) -> dict[str, str]:  # noqa: ARG001  # one for each answer
    """Return the cache of hosts by authority, for valid authorities that are spelled in the key as in the
    URL.
    """
    return {}


@lru_cache(maxsize=CACHED_AUTHORITIES)
def _checked_authority(authority: str, allow_private: bool | None) -> _Authority:
    host = authority_host(authority)
    refused = None
    if not is_host_possible(host):
        refused = _refused(BAD_URL, BAD_HOST)
    elif allow_private is not None and (
        blocked := address_refusal(canonical_host_kind(host), allow_private=allow_private)
    ):
        refused = _refused(blocked.reason, blocked.detail)
    key = key_authority(authority)
    return _Authority(host, key, refused, refused is None and key == authority)


@lru_cache(maxsize=CACHED_NAMES)
def _parameter_kind(name: str) -> int:
    if is_tracking(name):
        return _TRACKING
    return _NOT_IN_KEY if name in REFERRER_NAMES else _KEPT

"""All links of a page at once: each one as found, its key, its host, or the word for why not.

The same answers as `as_found` and `key_of` give one by one (a test holds them together), at about
a microsecond a link: the base is parsed once, what depends on the authority or on a parameter's
name is decided once for each, and what the parser would not change, or is its own key, is recognised
by one glance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, NamedTuple

import can_ada

from .addresses import address_refusal, canonical_host_kind
from .found import (
    MAX_TEXT_CHARACTERS,
    MAX_URL_BYTES,
    authority_host,
    is_host_possible,
    is_tracking,
    resolver,
    strip,
)
from .normal import (
    KEY_RULES,
    NOT_ALLOWED,
    REFERRER_NAMES,
    KeyRules,
    by_name,
    is_unfinished,
    key_authority,
    key_rest,
)
from .refusals import (
    BAD_HOST,
    BAD_URL,
    REFUSED_SCHEME,
    TOO_LONG,
    scheme_detail,
)

_NOT_PLAIN: Final = re.compile("[?" + re.escape(NOT_ALLOWED) + "]").search
"""Finds what may make a URL as found differ from its key."""

_STANDS: Final = re.compile(r"/(?!/)[A-Za-z0-9/_~.,;:@!$*()+=&?-]*\Z").match
"""Finds path and query that the parser would give back as they are, but for dot segments."""

_PLAIN_PATH: Final = re.compile(r"/(?!/)[A-Za-z0-9/_~.,;:@!$*()+=&-]*(?<!/)").fullmatch
"""Finds a path that is its own key, but for dot segments: what most links are."""

MAX_PLAIN_CHARACTERS: Final = 1024

CACHED_AUTHORITIES: Final = 8192
"""About 3 MB when full. Pages of a site link to the same hosts, page after page."""

CACHED_NAMES: Final = 2048
"""Names of parameters; a few dozen make up nearly all there are."""

_KEPT: Final = 0
_NOT_IN_KEY: Final = 1
_TRACKING: Final = 2


class Links(NamedTuple):
    """Parallel lists, as long as the list of hrefs: a refused one has a reason and empty texts."""

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
    """Good, and in the key as it stands in the URL."""


def links(  # noqa: C901  # every call within this loop costs a twentieth of its time
    base: str | None, hrefs: Iterable[str], *, allow_private: bool = False, rules: KeyRules = KEY_RULES
) -> Links:
    """Resolve what a page links to; with a base that is none, the absolute links remain.

    Without a base (None) the links are URLs as found, from an event: the parser then sees each
    authority once, which spares half the time.
    """
    resolve, is_found = resolver(base), base is None
    origin = "" if is_found else _origin(resolve)
    looker = _Looker(allow_private=allow_private, rules=rules)
    plain_hosts, drop_slash = looker.plain_hosts, rules.drop_trailing_slash
    home = plain_hosts.get(origin)
    found: list[_Link] = []
    for href in hrefs:
        if home is not None and len(href) <= MAX_PLAIN_CHARACTERS and _PLAIN_PATH(href) and "/." not in href:
            url = origin + href
            found.append((url, url, home, "", ""))
            continue
        url = origin + href if origin and href[:1] == "/" else href
        start = url.find("/", 8)
        host = plain_hosts.get(url[:start])
        if host is None or not (is_found or (_STANDS(url, start) and "/." not in url)):
            if len(href) > MAX_TEXT_CHARACTERS:
                found.append(_refused(TOO_LONG))
                continue
            try:
                url = resolve(href).href
            except (ValueError, TypeError):  # TypeError: lone surrogates do not pass into the parser
                found.append(_refused(BAD_URL))
                continue
            if "#" in url:
                url = url[: url.index("#")]
            start = url.find("/", 8)
            host = plain_hosts.get(url[:start])
        if host is None or "/." in url or len(url) > MAX_URL_BYTES:
            found.append(looker.look(url))
            home = home or plain_hosts.get(origin)
        elif (mark := _NOT_PLAIN(url, start)) or url[-2:] == "//":
            if is_unfinished(url, mark.start() if mark else start):
                found.append(looker.look(url))
            else:
                found.append((*looker.read_query(url, start), host, "", ""))
        elif url[-1] == "/" and drop_slash and len(url) > start + 1:
            found.append((url, url[:-1], host, "", ""))
        else:
            found.append((url, url, host, "", ""))
    return Links(*map(list, zip(*found, strict=True))) if found else Links([], [], [], [], [])


def _origin(resolve: Callable[[str], can_ada.URL]) -> str:
    """Give what goes before a path of the base's own host; nothing where there is no base."""
    try:
        return resolve("/").href[:-1]
    except ValueError:
        return ""


class _Looker:
    """Looks closer at a URL, and remembers what it learns of authorities."""

    __slots__ = ("_allow_private", "_drop_slash", "plain_hosts")

    def __init__(self, *, allow_private: bool, rules: KeyRules) -> None:
        self._allow_private = allow_private
        self._drop_slash = rules.drop_trailing_slash
        self.plain_hosts = _plain_hosts(allow_private)

    def look(self, url: str) -> _Link:
        """Do for one URL in WHATWG form what `as_found` and `key_of` do."""
        if not url.startswith(("http://", "https://")):
            return _refused(REFUSED_SCHEME, scheme_detail(url.partition(":")[0]))
        url = strip(url)
        if len(url) > MAX_URL_BYTES:
            return _refused(TOO_LONG)
        start = url.index("/", 8)
        authority = _judged(url[:start], self._allow_private)
        if authority.refused:
            return authority.refused
        if authority.is_plain:
            if len(self.plain_hosts) >= CACHED_AUTHORITIES:
                self.plain_hosts.clear()
            self.plain_hosts[url[:start]] = authority.host
        rest = key_rest(url[start:], drop_slash=self._drop_slash)
        return url, authority.key + rest, authority.host, "", ""

    def read_query(self, url: str, start: int) -> tuple[str, str]:
        """Give URL and key where host and escapes need no look: mostly there is only a query."""
        address, mark, query = url.partition("?")
        key = address.rstrip("/") if self._drop_slash and address[-1] == "/" else address
        if len(key) == start:
            key += "/"
        if mark:
            found, keyed = self._queries(query)
            if found != query:
                url = f"{address}?{found}" if found else address
            key = f"{key}?{keyed}" if keyed else key
        return url, key

    @staticmethod
    def _queries(query: str) -> tuple[str, str]:
        """Give the query as found and in the key."""
        pieces = query.split("&")
        keyed = []
        is_tracked = False
        for piece in pieces:
            name, _, value = piece.partition("=")
            kind = _name_kind(name)
            if kind == _TRACKING:
                is_tracked = True
            elif kind == _KEPT and (name or value):
                keyed.append((name, piece if value else name))
        if is_tracked:
            query = "&".join([piece for piece in pieces if _name_kind(piece.partition("=")[0]) != _TRACKING])
        if len(keyed) == 1:
            return query, keyed[0][1]
        keyed.sort(key=by_name)
        return query, "&".join([piece for _, piece in keyed])


@lru_cache(maxsize=2)
def _plain_hosts(allow_private: bool) -> dict[str, str]:  # noqa: ARG001  # one for each answer
    """Keep authority and host, where the authority is good and stands in the key as it is."""
    return {}


@lru_cache(maxsize=CACHED_AUTHORITIES)
def _judged(authority: str, allow_private: bool) -> _Authority:
    host = authority_host(authority)
    refused = None
    if not is_host_possible(host):
        refused = _refused(BAD_URL, BAD_HOST)
    elif blocked := address_refusal(canonical_host_kind(host), allow_private=allow_private):
        refused = _refused(blocked.reason, blocked.detail)
    key = key_authority(authority)
    return _Authority(host, key, refused, refused is None and key == authority)


@lru_cache(maxsize=CACHED_NAMES)
def _name_kind(name: str) -> int:
    if is_tracking(name):
        return _TRACKING
    return _NOT_IN_KEY if name in REFERRER_NAMES else _KEPT

"""All links of a page at once: each one as found, its key, its host, or the word for why not.

The same answers as `as_found` and `key_of` give one by one (a test holds them together), at about
a microsecond a link: the base is parsed once, what depends on the authority or on a parameter's
name is decided once for each, and a URL that is its own key is recognised by one glance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

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
from .normal import KEY_RULES, NOT_ALLOWED, REFERRER_NAMES, KeyRules, by_name, key_authority, key_rest
from .refusals import (
    BAD_HOST,
    BAD_URL,
    REFUSED_SCHEME,
    TOO_LONG,
    scheme_detail,
)

_ODD: Final = re.compile("[" + re.escape(NOT_ALLOWED) + "]").search
_NOT_PLAIN: Final = re.compile("[?" + re.escape(NOT_ALLOWED) + "]").search
"""Finds what may make a URL as found differ from its key."""

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


def links(
    base: str, hrefs: Iterable[str], *, allow_private: bool = False, rules: KeyRules = KEY_RULES
) -> Links:
    """Resolve what a page links to; with a base that is none, the absolute links remain."""
    resolve = resolver(base)
    looker = _Looker(allow_private=allow_private, rules=rules)
    authorities = looker.authorities
    found: list[_Link] = []
    for href in hrefs:
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
        authority = authorities.get(url[:start])
        if authority is None or not authority.is_plain or len(url) > MAX_URL_BYTES:
            found.append(looker.look(url))
        elif _NOT_PLAIN(url, start) or url[-1] == "/":
            found.append(looker.look_at_rest(url, authority))
        else:
            found.append((url, url, authority.host, "", ""))
    return Links(*map(list, zip(*found, strict=True))) if found else Links([], [], [], [], [])


class _Looker:
    """Looks closer at a URL, and remembers what it learns of authorities and parameters."""

    __slots__ = ("_allow_private", "_drop_slash", "_names", "authorities")

    def __init__(self, *, allow_private: bool, rules: KeyRules) -> None:
        self._allow_private = allow_private
        self._drop_slash = rules.drop_trailing_slash
        self._names: dict[str, int] = {}
        self.authorities: dict[str, _Authority] = {}

    def look(self, url: str) -> _Link:
        """Do for one URL in WHATWG form what `as_found` and `key_of` do."""
        if not url.startswith(("http://", "https://")):
            return _refused(REFUSED_SCHEME, scheme_detail(url.partition(":")[0]))
        url = strip(url)
        if len(url) > MAX_URL_BYTES:
            return _refused(TOO_LONG)
        start = url.index("/", 8)
        authority = self.authorities.get(url[:start]) or self._judge(url[:start])
        if authority.refused:
            return authority.refused
        rest = key_rest(url[start:], drop_slash=self._drop_slash)
        return url, authority.key + rest, authority.host, "", ""

    def look_at_rest(self, url: str, authority: _Authority) -> _Link:
        """Do the same behind a known authority without peculiarities: mostly there is only a query."""
        start = len(authority.key)
        if _ODD(url, start):
            return self.look(url)
        address, mark, query = url.partition("?")
        key = address.rstrip("/") if self._drop_slash and address[-1] == "/" else address
        if len(key) == start:
            key += "/"
        if mark:
            found, keyed = self._queries(query)
            if found != query:
                url = f"{address}?{found}" if found else address
            key = f"{key}?{keyed}" if keyed else key
        return url, key, authority.host, "", ""

    def _queries(self, query: str) -> tuple[str, str]:
        """Give the query as found and in the key."""
        names = self._names
        found, keyed = [], []
        for piece in query.split("&"):
            name, _, value = piece.partition("=")
            kind = names.get(name)
            if kind is None:
                kind = names[name] = _name_kind(name)
            if kind == _TRACKING:
                continue
            found.append(piece)
            if kind == _KEPT and (name or value):
                keyed.append((name, piece if value else name))
        if len(keyed) > 1:
            keyed.sort(key=by_name)
        return "&".join(found), "&".join([piece for _, piece in keyed])

    def _judge(self, authority: str) -> _Authority:
        host = authority_host(authority)
        refused = None
        if not is_host_possible(host):
            refused = _refused(BAD_URL, BAD_HOST)
        elif blocked := address_refusal(canonical_host_kind(host), allow_private=self._allow_private):
            refused = _refused(blocked.reason, blocked.detail)
        key = key_authority(authority)
        judged = _Authority(host, key, refused, refused is None and key == authority)
        self.authorities[authority] = judged
        return judged


def _name_kind(name: str) -> int:
    if is_tracking(name):
        return _TRACKING
    return _NOT_IN_KEY if name in REFERRER_NAMES else _KEPT

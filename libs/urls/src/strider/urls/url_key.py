"""The key of a URL: when are two URLs the same entry?

The normal form merges what servers answer alike: escapes that need not be, the order of
parameters, the marks of campaigns and referrers, a last slash. It is only ever compared and
hashed, never fetched. Changing a rule here makes new entries out of known ones, so the rules are
final: `tests/golden` would show it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from typing import Final

from .refusals import RefusedUrl
from .wire_url import is_tracking, path_start, to_wire_url

REFERRER_NAMES: Final = frozenset({"ref", "source"})
"""Left out of the key in this spelling only; kept on the wire, because some servers answer by them."""

_DIGITS: Final = "0123456789ABCDEF"

UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""What RFC 3986 (2.3) lets nobody tell from its escape."""

NOT_ALLOWED: Final = '%[]|^`{}\\"<> '
"""What the WHATWG parser leaves raw somewhere although RFC 3986 wants it escaped, and a lone percent sign."""

_ODD: Final = re.compile("[" + re.escape(NOT_ALLOWED) + "]")
"""Finds a character that needs a look. Five times as fast as _ODD_PART: most URLs have none."""

_NOT_NORMAL_PART: Final = re.compile(r"%[0-9A-Fa-f]{2}|" + _ODD.pattern)


def _escaped_after(high: str) -> str:
    return "".join(low for low in _DIGITS if chr(int(high + low, 16)) not in UNRESERVED)


_NORMAL_ESCAPES: Final = "|".join(f"{high}[{_escaped_after(high)}]" for high in _DIGITS)

_UNNORMALIZED_ESCAPE: Final = re.compile(f"[{re.escape(NOT_ALLOWED[1:])}]|%(?!{_NORMAL_ESCAPES})")
"""Finds what is not in normal form yet; of thirty escapes in another script's path mostly all are."""

_ESCAPES: Final = {character: f"%{ord(character):02X}" for character in NOT_ALLOWED} | {
    "%" + high + low: chr(code) if chr(code := int(high + low, 16)) in UNRESERVED else f"%{code:02X}"
    for high in "0123456789abcdefABCDEF"
    for low in "0123456789abcdefABCDEF"
}


@dataclass(frozen=True, slots=True)
class UrlKeyRules:
    """What about a key can be set."""

    drop_trailing_slash: bool = True
    """`/a/` is `/a`. False where a site answers differently; the root keeps its slash either way."""


DEFAULT_KEY_RULES: Final = UrlKeyRules()


def url_key_of_text(
    url: str, base: str | None = None, *, rules: UrlKeyRules = DEFAULT_KEY_RULES
) -> str | RefusedUrl:
    """Give the normal form of any text that `as_found` accepts."""
    found = to_wire_url(url, base)
    return found if isinstance(found, RefusedUrl) else url_key_of(found, rules=rules)


def url_key_of(url: str, *, rules: UrlKeyRules = DEFAULT_KEY_RULES) -> str:
    """Give the normal form of a URL as found; no parser is needed for it any more."""
    start = path_start(url)
    return key_authority(url[:start]) + key_rest(url[start:], drop_slash=rules.drop_trailing_slash)


def url_hash(key_text: str) -> str:
    """Give the SHA-256 of a normal form in lower-case hex: the URL's name in events, tables and stores."""
    return sha256(key_text.encode()).hexdigest()


def seen_fingerprint(hash_text: str) -> int:
    """Give a URL's number in seen-sets: its hash's first 64 bits, signed, as integer sets hold them."""
    number = int(hash_text[:16], 16)
    return number - (1 << 64) if number >> 63 else number


def key_authority(authority: str) -> str:
    """Drop the dot that ends a host name; scheme, case and default port are the parser's work."""
    if authority.endswith("."):
        return authority[:-1]
    return authority.replace(".:", ":") if ".:" in authority else authority


def key_rest(rest: str, *, drop_slash: bool) -> str:
    """Give the normal form of path and query, as they stand in a URL as found."""
    path, _, query = rest.partition("?")
    is_odd = has_unnormalized_escapes(rest)
    if is_odd:
        path, query = _escaped(path), _escaped(query)
    if drop_slash and path[-1] == "/":
        path = path.rstrip("/") or "/"
    if query and (query := _sorted_query(query, look_for_tracking=is_odd)):
        return f"{path}?{query}"
    return path


def has_unnormalized_escapes(text: str, start: int = 0) -> bool:
    """Say whether escapes must change to come to the normal form."""
    return _ODD.search(text, start) is not None and _UNNORMALIZED_ESCAPE.search(text, start) is not None


def _escaped(text: str) -> str:
    return _NOT_NORMAL_PART.sub(lambda match: _ESCAPES[match[0]], text)


def _sorted_query(query: str, *, look_for_tracking: bool) -> str:
    """Sort by name and leave equal names in their order, which may mean something (`id=2&id=1`).

    What is as found has no tracking parameter, except behind escapes that are only read here.
    """
    kept = []
    for piece in query.split("&"):
        name, _, value = piece.partition("=")
        if name in REFERRER_NAMES or not (name or value) or (look_for_tracking and is_tracking(name)):
            continue
        # `a=` and `a` are the same pair to everything that reads forms.
        kept.append((name, piece if value else name))
    if len(kept) > 1:
        kept.sort(key=parameter_name)
    return "&".join([piece for _, piece in kept])


parameter_name: Final = itemgetter(0)

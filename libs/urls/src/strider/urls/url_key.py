"""URL keys: the normal form by which URLs count as the same entry.

Merges URLs that servers answer alike: needless escapes, the order of parameters, campaign and referrer
parameters, a trailing slash. A key is only compared and hashed, never fetched. Changing a rule here would
turn known entries into new ones, so the rules are final; `tests/golden` would show a change.
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
"""Left out of the key in this spelling only; kept in the wire URL, because some servers depend on them."""

_DIGITS: Final = "0123456789ABCDEF"

UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Characters that are equivalent to their escapes by RFC 3986 (2.3)."""

NOT_ALLOWED: Final = '%[]|^`{}\\"<> '
"""Characters that the WHATWG parser may leave raw although RFC 3986 requires escapes, and a lone percent
sign.
"""

_NOT_NORMAL: Final = re.compile("[" + re.escape(NOT_ALLOWED) + "]")
"""Finds a character that may need escaping. Five times as fast as _NOT_NORMAL_PART: most URLs have none."""

_NOT_NORMAL_PART: Final = re.compile(r"%[0-9A-Fa-f]{2}|" + _NOT_NORMAL.pattern)


parameter_name: Final = itemgetter(0)


def _escaped_after(high: str) -> str:
    return "".join(low for low in _DIGITS if chr(int(high + low, 16)) not in UNRESERVED)


_NORMAL_ESCAPES: Final = "|".join(f"{high}[{_escaped_after(high)}]" for high in _DIGITS)

_UNNORMALIZED_ESCAPE: Final = re.compile(f"[{re.escape(NOT_ALLOWED[1:])}]|%(?!{_NORMAL_ESCAPES})")
"""Finds text that is not in normal form; of thirty escapes in a path of another script most are normal."""

_ESCAPES: Final = {character: f"%{ord(character):02X}" for character in NOT_ALLOWED} | {
    "%" + high + low: chr(code) if chr(code := int(high + low, 16)) in UNRESERVED else f"%{code:02X}"
    for high in "0123456789abcdefABCDEF"
    for low in "0123456789abcdefABCDEF"
}


@dataclass(frozen=True, slots=True)
class UrlKeyRules:
    """Options of the key."""

    drop_trailing_slash: bool = True
    """Whether `/a/` is `/a`; False where a site distinguishes them. The root keeps its slash either way."""


DEFAULT_KEY_RULES: Final = UrlKeyRules()


def url_key_of_text(
    url: str, base: str | None = None, *, rules: UrlKeyRules = DEFAULT_KEY_RULES
) -> str | RefusedUrl:
    """Return the key of any text that `to_wire_url` accepts."""
    found = to_wire_url(url, base)
    return found if isinstance(found, RefusedUrl) else url_key_of(found, rules=rules)


def url_key_of(url: str, *, rules: UrlKeyRules = DEFAULT_KEY_RULES) -> str:
    """Return the key of a wire URL, without parsing it again."""
    start = path_start(url)
    return key_authority(url[:start]) + key_rest(url[start:], drop_slash=rules.drop_trailing_slash)


def url_hash(key_text: str) -> str:
    """Return the SHA-256 of a key in lower-case hex: the URL's id in events, tables and stores."""
    return sha256(key_text.encode()).hexdigest()


def key_authority(authority: str) -> str:
    """Remove the trailing dot of a host; scheme, case and default port are normalized by the parser."""
    if authority.endswith("."):
        return authority[:-1]
    return authority.replace(".:", ":") if ".:" in authority else authority


def key_rest(rest: str, *, drop_slash: bool) -> str:
    """Return path and query of a wire URL in normal form."""
    path, _, query = rest.partition("?")
    has_escapes = has_unnormalized_escapes(rest)
    if has_escapes:
        path, query = _normal_escapes(path), _normal_escapes(query)
    if drop_slash and path[-1] == "/":
        path = path.rstrip("/") or "/"
    if query and (query := _sorted_query(query, remove_tracking=has_escapes)):
        return f"{path}?{query}"
    return path


def has_unnormalized_escapes(text: str, start: int = 0) -> bool:
    """Whether escapes must change to get the normal form."""
    return (
        _NOT_NORMAL.search(text, start) is not None and _UNNORMALIZED_ESCAPE.search(text, start) is not None
    )


def _normal_escapes(text: str) -> str:
    return _NOT_NORMAL_PART.sub(lambda match: _ESCAPES[match[0]], text)


def _sorted_query(query: str, *, remove_tracking: bool) -> str:
    """Sort by name; equal names keep their order, which may be significant (`id=2&id=1`).

    A wire URL has no tracking parameter, except one hidden by escapes that are normalized only here.
    """
    kept = []
    for piece in query.split("&"):
        name, _, value = piece.partition("=")
        if name in REFERRER_NAMES or not (name or value) or (remove_tracking and is_tracking(name)):
            continue
        # `a=` and `a` are the same pair to everything that parses forms.
        kept.append((name, piece if value else name))
    if len(kept) > 1:
        kept.sort(key=parameter_name)
    return "&".join([piece for _, piece in kept])

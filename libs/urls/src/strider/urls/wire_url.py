"""Wire URLs: the form of a URL that is requested when a page is fetched.

WHATWG form (parsed only by can_ada), without fragment, userinfo and tracking parameters. Nothing else is
changed, because a server may answer differently; whether two such URLs are the same entry is decided in
`url_key`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import can_ada

from .refusals import BAD_HOST, BAD_URL, REFUSED_SCHEME, TOO_LONG, RefusedUrl, scheme_detail

MAX_URL_BYTES: Final = 2048
"""Maximum length of a wire URL; it is ASCII, so a character is a byte."""

MAX_TEXT_CHARACTERS: Final = 16 * 1024
"""Maximum length of a text that is parsed: a fragment or a chain of `../` may hide a short URL."""

TRACKING_PREFIXES: Final = frozenset({"utm_", "mtm_", "hsa_"})
"""Prefixes of campaign parameters (common, Matomo's, HubSpot's), four letters each."""

_TRACKING_WORDS: Final = (
    "gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid srsltid fbclid msclkid mc_cid mc_eid "
    "yclid ysclid igsh igshid ttclid twclid li_fat_id epik scclid rdt_cid irclickid cjevent zanpid "
    "mkt_tok vero_id _openstat oly_anon_id oly_enc_id wickedid s_kwcid ef_id _ga _gl "
    "_hsenc _hsmi __hssc __hstc __hsfp hsctatracking "
    "pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content"
)

TRACKING_NAMES: Final = frozenset(_TRACKING_WORDS.split())
"""Parameters, in lower case, that identify the click and do not affect the content."""

_PAGE_SCHEMES: Final = ("http://", "https://")
_MAX_LABEL_CHARACTERS: Final = 63
_MAX_NAME_CHARACTERS: Final = 253


def to_wire_url(url: str, base: str | None = None) -> str | RefusedUrl:
    """Return the wire URL of a text, resolved against the page's base if there is one."""
    if len(url) > MAX_TEXT_CHARACTERS:
        return RefusedUrl(TOO_LONG)
    try:
        # An absolute URL does not need the base, so the base is not parsed.
        href = (can_ada.parse if url.startswith(_PAGE_SCHEMES) else url_resolver(base))(url).href
    except (ValueError, TypeError):  # TypeError: lone surrogates do not pass into the parser
        return RefusedUrl(BAD_URL)
    if not href.startswith(_PAGE_SCHEMES):
        return RefusedUrl(REFUSED_SCHEME, scheme_detail(href.partition(":")[0]))
    found = strip_wire_url(href)
    if len(found) > MAX_URL_BYTES:
        return RefusedUrl(TOO_LONG)
    if not is_host_possible(authority_host(found[: path_start(found)])):
        return RefusedUrl(BAD_URL, BAD_HOST)
    return found


def url_resolver(base: str | None) -> Callable[[str], can_ada.URL]:
    """Return a function that parses a text relative to a base; absolute texts work with an invalid base too.

    It must not be kept longer than a page is processed: nanobind writes to stderr about each URL object that
    exists when a process ends.
    """
    try:
        if base is not None and len(base) <= MAX_TEXT_CHARACTERS:
            page = can_ada.parse(base)
            if page.href.startswith(_PAGE_SCHEMES) and may_have_dot_segments(page.href):
                page = can_ada.parse(without_dot_segments(page.href.partition("#")[0]))
            return page.__add__
    except (ValueError, TypeError):
        return can_ada.parse
    return can_ada.parse


def strip_wire_url(href: str) -> str:
    """Remove fragment, userinfo and tracking parameters from an http(s) URL in WHATWG form."""
    cut = href.find("#")
    if cut >= 0:
        href = href[:cut]
    if may_have_dot_segments(href):
        href = without_dot_segments(href)
    if "@" in href:
        href = _without_userinfo(href)
    if "^" in href:
        href = _with_escaped_carets(href)
    if "?" in href:
        href = _without_tracking(href)
    return href


def may_have_dot_segments(href: str) -> bool:
    """Whether `.` or `..` may remain in a path that the parser has resolved.

    It leaves them behind a folder that begins with a dot (`/a/.b/../c`): a bug of the version of Ada in
    can_ada.
    """
    return "/." in href or "/%2" in href


def without_dot_segments(href: str) -> str:
    """Resolve the dot segments of the path again, as WHATWG defines it; href has no fragment."""
    address, mark, query = href.partition("?")
    start = path_start(address) + 1
    segments = address[start:].split("/")
    kept: list[str] = []
    for segment in segments:
        dots = segment.lower().replace("%2e", ".")
        if dots == "..":
            del kept[-1:]
        elif dots != ".":
            kept.append(segment)
    if dots in {".", ".."}:  # the last segment: the URL names a folder
        kept.append("")
    return address[:start] + "/".join(kept) + mark + query


def path_start(href: str) -> int:
    """Return the offset of the path; in WHATWG form an http(s) URL always has one."""
    return href.index("/", 8)


def authority_host(authority: str) -> str:
    """Return the host of `scheme://host:port`, with brackets, without the trailing dot of a name."""
    host = authority[authority.index("//") + 2 :]
    if not host.endswith("]"):
        name, colon, port = host.rpartition(":")
        # Within brackets a colon is part of the address: the port comes after the bracket.
        host = name if colon and "]" not in port else host
    return host.removesuffix(".")


def is_host_possible(host: str) -> bool:
    """Whether a name server could resolve a host (the WHATWG form requires less)."""
    if len(host) <= _MAX_LABEL_CHARACTERS:
        return bool(host) and ".." not in host and not host.startswith(".") and not host.endswith(".")
    if len(host) > _MAX_NAME_CHARACTERS:
        return False
    return all(0 < len(label) <= _MAX_LABEL_CHARACTERS for label in host.split("."))


def is_tracking(name: str) -> bool:
    """Whether a parameter only tells where the click came from."""
    lower = name.lower()
    return lower in TRACKING_NAMES or lower[:4] in TRACKING_PREFIXES


def _without_userinfo(href: str) -> str:
    start = href.index("//") + 2
    end = path_start(href)
    at = href.rfind("@", start, end)
    return href if at < 0 else href[:start] + href[at + 1 :]


def _with_escaped_carets(href: str) -> str:
    """Escape `^` in the path, as the standard requires since 2024 and the parser does not yet."""
    path, mark, query = href.partition("?")
    return path.replace("^", "%5E") + mark + query


def _without_tracking(href: str) -> str:
    address, _, query = href.partition("?")
    pieces = query.split("&")
    kept = [piece for piece in pieces if not is_tracking(piece.partition("=")[0])]
    if len(kept) == len(pieces):
        return href
    rest = "&".join(kept)
    return f"{address}?{rest}" if rest else address

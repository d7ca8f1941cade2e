"""The URL as found: what is put on the wire when a page is fetched.

WHATWG form (the one parser is can_ada's), without fragment, userinfo and the parameters by which
mailings and advertisements are told apart. Nothing else is changed, because a server may answer
differently to everything else; what makes two such URLs the same entry is decided in `normal`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import can_ada

from .refusals import BAD_HOST, BAD_URL, REFUSED_SCHEME, TOO_LONG, RefusedUrl, scheme_detail

MAX_URL_BYTES: Final = 2048
"""Longest URL that travels, counted as found: ASCII, so that a character is a byte."""

MAX_TEXT_CHARACTERS: Final = 16 * 1024
"""Longest text that is parsed at all: a fragment or a chain of `../` may hide a short URL, not a novel."""

TRACKING_PREFIXES: Final = frozenset({"utm_", "mtm_", "hsa_"})
"""Families of parameters that name a campaign (everyone's, Matomo's, HubSpot's): four letters each."""

_TRACKING_WORDS: Final = (
    "gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid srsltid fbclid msclkid mc_cid mc_eid "
    "yclid ysclid igsh igshid ttclid twclid li_fat_id epik scclid rdt_cid irclickid cjevent zanpid "
    "mkt_tok vero_id _openstat oly_anon_id oly_enc_id wickedid s_kwcid ef_id _ga _gl "
    "_hsenc _hsmi __hssc __hstc __hsfp hsctatracking "
    "pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content"
)

TRACKING_NAMES: Final = frozenset(_TRACKING_WORDS.split())
"""Parameters, in lower case, that say which click led here and nothing about what is asked for."""

_PAGE_SCHEMES: Final = ("http://", "https://")
_MAX_LABEL_CHARACTERS: Final = 63
_MAX_NAME_CHARACTERS: Final = 253


def to_wire_url(url: str, base: str | None = None) -> str | RefusedUrl:
    """Give the URL to fetch for a text, resolved against the page's base where there is one."""
    if len(url) > MAX_TEXT_CHARACTERS:
        return RefusedUrl(TOO_LONG)
    try:
        # What names its host stands for itself, so that the base need not be read.
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
    """Give what parses a text next to a base; next to one that is none, absolute texts still parse.

    Never to be kept beyond a page: nanobind complains on stderr of each URL that a process ends with.
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
    """Take fragment, userinfo and tracking parameters out of an http(s) URL in WHATWG form."""
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
    """Say whether `.` or `..` may still stand in a path that the parser has resolved.

    It leaves them there behind a folder that begins with a dot (`/a/.b/../c`): a fault of the
    version of Ada within can_ada.
    """
    return "/." in href or "/%2" in href


def without_dot_segments(href: str) -> str:
    """Resolve the path once more, as WHATWG has it; href has no fragment."""
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
    if dots in {".", ".."}:  # the last one: what it leads to is a folder
        kept.append("")
    return address[:start] + "/".join(kept) + mark + query


def path_start(href: str) -> int:
    """Find where the authority ends; in WHATWG form an http(s) URL always has a path."""
    return href.index("/", 8)


def authority_host(authority: str) -> str:
    """Give the host of `scheme://host:port`, brackets and all, without the dot that may end a name."""
    host = authority[authority.index("//") + 2 :]
    if not host.endswith("]"):
        name, colon, port = host.rpartition(":")
        # Within brackets a colon is part of the address: the port comes after the bracket.
        host = name if colon and "]" not in port else host
    return host.removesuffix(".")


def is_host_possible(host: str) -> bool:
    """Say whether a host could be known to a name server (the WHATWG form asks for less)."""
    if len(host) <= _MAX_LABEL_CHARACTERS:
        return bool(host) and ".." not in host and not host.startswith(".") and not host.endswith(".")
    if len(host) > _MAX_NAME_CHARACTERS:
        return False
    return all(0 < len(label) <= _MAX_LABEL_CHARACTERS for label in host.split("."))


def is_tracking(name: str) -> bool:
    """Say whether a parameter only tells where the click came from."""
    lower = name.lower()
    return lower in TRACKING_NAMES or lower[:4] in TRACKING_PREFIXES


def _without_userinfo(href: str) -> str:
    start = href.index("//") + 2
    end = path_start(href)
    at = href.rfind("@", start, end)
    return href if at < 0 else href[:start] + href[at + 1 :]


def _with_escaped_carets(href: str) -> str:
    """Escape `^` in the path, as the standard has it since 2024 and the parser does not yet."""
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

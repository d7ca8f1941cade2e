"""Headers of a request: User-Agent, From, Accept, conditions, and a run's own headers.

A run's own headers are added unless they are reserved: those that control the connection, the encodings of
the response or the host are always ours. Checks of the URL itself are in `address_policy`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from strider.contracts.generated.enums import RequestKind
from strider.contracts.generated.events import FetchRequested
from strider.politeness import is_sensitive_header

Headers = list[tuple[str, str]]

ACCEPT_ENCODING: Final = "gzip, deflate"
"""Encodings that the parser can decode; servers gain little from more."""

_ACCEPT_BY_KIND: Final[Mapping[str, str]] = {
    RequestKind.ROBOTS: "text/plain,*/*;q=0.5",
    RequestKind.SITEMAP: "application/xml,text/xml,*/*;q=0.5",
    RequestKind.FEED: "application/atom+xml,application/rss+xml,application/xml,*/*;q=0.5",
}
_ACCEPT_PAGE: Final = "text/html,application/xhtml+xml,*/*;q=0.5"

_RESERVED_HEADERS: Final = frozenset(
    {
        *("host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect"),
        *("content-length", "content-type", "accept-encoding", "range", "user-agent", "from"),
        *("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range"),
        *("proxy-authorization", "proxy-connection", "proxy-authenticate"),
    }
)
"""Names that a run may not set."""

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MAIL_ADDRESS: Final = re.compile(r"[^@\s<>]+@[\w.-]+")


@dataclass(frozen=True, slots=True)
class CrawlerIdentity:
    """Identity of the crawler."""

    user_agent: str
    from_address: str = ""
    """Sent as From; empty if the contact is no mail address."""
    user_agent_variants: tuple[str, ...] = ()
    """Alternative User-Agents, one of which is chosen for each request; empty: always the first."""


def build_identity(
    *, version: str, contact: str, user_agent: str = "", use_variants: bool = False
) -> CrawlerIdentity:
    """Build the identity; a configured User-Agent is sent as it is.

    Every variant contains our product name, by which robots.txt addresses us, and the contact.
    """
    address = contact.removeprefix("mailto:")
    mail = address if _MAIL_ADDRESS.fullmatch(address) else ""
    if user_agent:
        return CrawlerIdentity(user_agent, mail)
    if not contact:
        return CrawlerIdentity(f"Strider/{version}", mail)
    plain = f"Strider/{version} (+{address})"
    others = (
        f"Mozilla/5.0 (compatible; Strider/{version}; +{address})",
        f"Strider/{version} (compatible; crawler; +{address})",
        f"Mozilla/5.0 (compatible; Strider/{version}; +{address}) Strider/{version}",
    )
    return CrawlerIdentity(plain, mail, others if use_variants else ())


def build_request_headers(
    request: FetchRequested, identity: CrawlerIdentity, *, is_cross_origin: bool = False
) -> Headers:
    """Build the headers of a request; `is_cross_origin` if a redirect has led to another origin."""
    headers: Headers = [
        ("User-Agent", select_user_agent(request, identity)),
        ("Accept", _ACCEPT_BY_KIND.get(request.kind, _ACCEPT_PAGE)),
        ("Accept-Encoding", ACCEPT_ENCODING),
    ]
    if identity.from_address:
        headers.append(("From", identity.from_address))
    if not is_cross_origin:
        headers += _conditional_headers(request)
    if request.header_names:
        _add_custom_headers(headers, request, is_cross_origin=is_cross_origin)
    return headers


def select_user_agent(request: FetchRequested, identity: CrawlerIdentity) -> str:
    """Return the run's User-Agent, or ours if it has none or one with control characters."""
    custom = request.user_agent
    if custom and _CONTROL_CHARACTER.search(custom) is None:
        return custom
    if not identity.user_agent_variants or request.kind == RequestKind.ROBOTS:
        return identity.user_agent
    user_agents = (identity.user_agent, *identity.user_agent_variants)
    return user_agents[crc32(request.lease_id.encode()) % len(user_agents)]


def is_conditional(request: FetchRequested) -> bool:
    """Whether the request is conditional, so that the server may respond with 304."""
    return bool(_conditional_headers(request))


def _conditional_headers(request: FetchRequested) -> Headers:
    """Return the conditional headers; values with control characters are left out."""
    if not request.etag and not request.last_modified:
        return []
    conditions = (("If-None-Match", request.etag), ("If-Modified-Since", request.last_modified))
    return [(name, value) for name, value in conditions if value and _CONTROL_CHARACTER.search(value) is None]


def _add_custom_headers(headers: Headers, request: FetchRequested, *, is_cross_origin: bool) -> None:
    """Add a run's own headers; of those that are sent anyway, only Accept may be replaced."""
    for name, value in zip(request.header_names, request.header_values, strict=False):
        lower = name.lower()
        if lower in _RESERVED_HEADERS or not _HEADER_NAME.fullmatch(name) or _CONTROL_CHARACTER.search(value):
            continue
        if is_cross_origin and is_sensitive_header(name):
            continue
        if lower == "accept":
            headers[1] = (name, value)
        else:
            headers.append((name, value))

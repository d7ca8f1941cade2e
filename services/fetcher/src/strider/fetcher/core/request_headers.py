"""What is put on the wire for a request: who we say that we are, and what we would like to get.

A run's own headers are added where they do no harm: those that say how the connection works, what
encodings come back, or whose host is asked are ours alone. Decides too whether a URL may be asked
at all, before any name is resolved; the address behind the name is judged again at the socket.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from strider.contracts.generated.enums import ErrorClass, RequestKind
from strider.contracts.generated.events import FetchRequested
from strider.politeness import is_sensitive_header
from strider.urls import host_of

from .address_policy import Places
from .response_models import FailedFetch

Headers = list[tuple[str, str]]

ENCODINGS: Final = "gzip, deflate"
"""What the parser undoes; servers have little to gain from more."""

_ACCEPT_BY_KIND: Final[Mapping[str, str]] = {
    RequestKind.ROBOTS: "text/plain,*/*;q=0.5",
    RequestKind.SITEMAP: "application/xml,text/xml,*/*;q=0.5",
    RequestKind.FEED: "application/atom+xml,application/rss+xml,application/xml,*/*;q=0.5",
}
_ACCEPT_PAGE: Final = "text/html,application/xhtml+xml,*/*;q=0.5"

_OURS: Final = frozenset(
    {
        *("host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect"),
        *("content-length", "content-type", "accept-encoding", "range", "user-agent", "from"),
        *("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range"),
        *("proxy-authorization", "proxy-connection", "proxy-authenticate"),
    }
)
"""Names that a run may not set."""

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNFIT: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_ASKED: Final = ("http://", "https://")
_MAIL: Final = re.compile(r"[^@\s<>]+@[\w.-]+")


@dataclass(frozen=True, slots=True)
class CrawlerIdentity:
    """Who we say that we are."""

    user_agent: str
    mail: str = ""
    """Sent as From; empty where the contact is no mail address."""
    user_agent_variants: tuple[str, ...] = ()
    """Other ways to say the same, one of which is chosen for each request; empty: always the first."""


def identity_of(
    *, version: str, contact: str, user_agent: str = "", use_variants: bool = False
) -> CrawlerIdentity:
    """Name product, version and whom to write to; a configured User-Agent is sent as it is.

    Varied or not, each way to say it bears our name, by which robots.txt knows us, and the contact.
    """
    address = contact.removeprefix("mailto:")
    mail = address if _MAIL.fullmatch(address) else ""
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


def headers_of(request: FetchRequested, identity: CrawlerIdentity, *, is_foreign: bool = False) -> Headers:
    """Say what is sent; `is_foreign` where a redirect has led to another origin."""
    headers: Headers = [
        ("User-Agent", user_agent_of(request, identity)),
        ("Accept", _ACCEPT_BY_KIND.get(request.kind, _ACCEPT_PAGE)),
        ("Accept-Encoding", ENCODINGS),
    ]
    if identity.mail:
        headers.append(("From", identity.mail))
    if not is_foreign:
        headers += _conditional_headers(request)
    if request.header_names:
        _add(headers, request, is_foreign=is_foreign)
    return headers


def user_agent_of(request: FetchRequested, identity: CrawlerIdentity) -> str:
    """Give the run's User-Agent, or ours; one that would break the head is as good as none."""
    wanted = request.user_agent
    if wanted and _UNFIT.search(wanted) is None:
        return wanted
    if not identity.user_agent_variants or request.kind == RequestKind.ROBOTS:
        return identity.user_agent
    ways = (identity.user_agent, *identity.user_agent_variants)
    return ways[crc32(request.lease_id.encode()) % len(ways)]


def is_conditional(request: FetchRequested) -> bool:
    """Say whether the server was told what we have, so that it may answer 304."""
    return bool(_conditional_headers(request))


def url_refusal(url: str, *, policy: Places) -> FailedFetch | None:
    """Judge a URL as found by what stands in it."""
    if not url.startswith(_ASKED):
        scheme = url.partition(":")[0][:40]
        return FailedFetch(ErrorClass.REFUSED_SCHEME, f"only http and https are asked, not {scheme}")
    try:
        name = host_of(url)
    except ValueError:
        return FailedFetch(ErrorClass.BAD_URL, "the URL has no path")
    refused = policy.host_refusal(name)
    if refused is None:
        is_open = policy.is_port_allowed(url)
        return (
            None if is_open else FailedFetch(ErrorClass.REFUSED_PORT, "pages are not asked for on this port")
        )
    is_address = name.startswith("[") or name[-1:].isdigit()
    error = ErrorClass.REFUSED_ADDRESS if is_address else ErrorClass.REFUSED_HOST
    return FailedFetch(error, f"{name} is a {refused.detail.replace('_', ' ')}")


def _conditional_headers(request: FetchRequested) -> Headers:
    """Say what we have; what would break the head is as good as nothing."""
    if not request.etag and not request.last_modified:
        return []
    told = (("If-None-Match", request.etag), ("If-Modified-Since", request.last_modified))
    return [(name, value) for name, value in told if value and _UNFIT.search(value) is None]


def _add(headers: Headers, request: FetchRequested, *, is_foreign: bool) -> None:
    """Add a run's own headers; of those that we send ourselves only Accept may be replaced."""
    for name, value in zip(request.header_names, request.header_values, strict=False):
        lower = name.lower()
        if lower in _OURS or not _NAME.fullmatch(name) or _UNFIT.search(value):
            continue
        if is_foreign and is_sensitive_header(name):
            continue
        if lower == "accept":
            headers[1] = (name, value)
        else:
            headers.append((name, value))

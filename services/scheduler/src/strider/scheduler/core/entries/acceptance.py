"""Accept or refuse a candidate URL: depth, redirects, ports, addresses, already seen.

    unknown spec, too deep, too many redirects, forbidden address or port ──▶ refused, with its reason
    entry is open                                                         ──▶ known; a newer seed joins it
    seen before                          ──▶ known; reopened by a newer seed, or by a fresh copy without one
    never seen                                                            ──▶ accepted

Takes the prior state of the entry as a value. Knows neither the seen-set nor the frontier log nor budgets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import DecisionReason, LinkVia
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.frontier.models import LookupStatus
from strider.urls import address_refusal, host_of, origin_of
from strider.urls.addresses import canonical_host_kind

from .candidates import Candidate, is_newer

MAX_REDIRECTS: Final = 5
"""Redirects that are followed at most, whatever a crawl spec allows."""


class AcceptanceOutcome(StrEnum):
    """Result for a candidate that was not refused. The values are labels of a metric."""

    ACCEPTED = "accepted"
    REOPENED = "reopened"
    JOINED = "joined"
    """A newer seed of an open entry: the entry takes over its token."""
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class UrlRefusal:
    """Reason why a URL is refused."""

    reason: DecisionReason
    detail: str = ""


def refuse_candidate(
    candidate: Candidate, spec: CrawlSpecDeclared | None, *, allow_private: bool
) -> UrlRefusal | None:
    """Return why a candidate is refused, whether or not its entry exists; None where it is not."""
    if spec is None:
        return UrlRefusal(DecisionReason.UNKNOWN_SPEC, candidate.origin.crawl_spec_id)
    if candidate.hop > (max_redirects := min(spec.max_hops, MAX_REDIRECTS)):
        return UrlRefusal(DecisionReason.TOO_MANY_REDIRECTS, f"{candidate.hop} of {max_redirects}")
    if candidate.depth > spec.max_depth and candidate.origin.via != LinkVia.SEED:
        return UrlRefusal(DecisionReason.TOO_DEEP, f"{candidate.depth} of {spec.max_depth}")
    return refuse_url(candidate.url, spec, allow_private=allow_private)


def refuse_url(url: str, spec: CrawlSpecDeclared, *, allow_private: bool) -> UrlRefusal | None:
    """Return why the scheme, port or address of a wire URL is refused; None where it is not."""
    scheme = url.partition(":")[0]
    if spec.schemes and scheme not in spec.schemes:
        return UrlRefusal(DecisionReason.REFUSED_SCHEME, scheme)
    if spec.allowed_ports and (port := port_of(url)) not in spec.allowed_ports:
        return UrlRefusal(DecisionReason.REFUSED_PORT, str(port))
    blocked = address_refusal(canonical_host_kind(host_of(url)), allow_private=allow_private)
    return None if blocked is None else UrlRefusal(DecisionReason(blocked.reason), blocked.detail)


def accept_candidate(candidate: Candidate, prior: LookupStatus, *, seed_token: str) -> AcceptanceOutcome:
    """Return what becomes of a candidate; `seed_token` names the seeds that opened its entry."""
    is_newer_seed = is_newer(candidate.seed_token, seed_token)
    if prior is LookupStatus.OPEN:
        return AcceptanceOutcome.JOINED if is_newer_seed else AcceptanceOutcome.KNOWN
    if prior is LookupStatus.UNKNOWN:
        return AcceptanceOutcome.ACCEPTED
    is_wanted = is_newer_seed or (candidate.is_fresh and not candidate.seed_token)
    return AcceptanceOutcome.REOPENED if is_wanted else AcceptanceOutcome.KNOWN


def port_of(url: str) -> int:
    """Return the port of a wire URL, or the default port of its scheme."""
    scheme, _, authority = origin_of(url).partition("://")
    _, colon, port = authority.rpartition(":")
    if colon and port.isdecimal():
        return int(port)
    return 443 if scheme == "https" else 80  # default ports of the schemes

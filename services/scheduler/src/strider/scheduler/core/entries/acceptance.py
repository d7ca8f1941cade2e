"""Does a candidate become an entry?

    unknown spec, too deep, too many redirects, forbidden address or port ──▶ refused, with its reason
    open                                ──▶ known; a newer seed joins it
    seen before                         ──▶ known; a newer seed, or a wish for fresh, opens it again
    never seen                          ──▶ accepted

Takes what the working set knows; the seen-set, the log and the budget are told elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from strider.contracts.generated.enums import DecisionReason, LinkVia
from strider.contracts.generated.events import CrawlSpecDeclared
from strider.urls import address_refusal, host_of, origin_of
from strider.urls.addresses import canonical_host_kind

from .candidates import Candidate
from .seed_tokens import is_newer

MAX_REDIRECTS: Final = 5
"""Redirects that are followed, whatever a crawl spec says."""


class PriorState(StrEnum):
    """What is known of an entry; the words are the working set's."""

    UNKNOWN = "unknown"
    SEEN = "seen"
    OPEN = "open"


class Admission(StrEnum):
    """What becomes of a candidate that nothing speaks against. Metrics are labelled with it."""

    ACCEPTED = "accepted"
    REOPENED = "reopened"
    JOINED = "joined"
    """A newer seed for an entry that is open: the entry takes its token."""
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a candidate is refused."""

    reason: DecisionReason
    detail: str = ""


def refuse_candidate(
    candidate: Candidate, spec: CrawlSpecDeclared | None, *, allow_private: bool
) -> Refusal | None:
    """Say what speaks against a candidate, whether it is known or not."""
    if spec is None:
        return Refusal(DecisionReason.UNKNOWN_SPEC, candidate.origin.crawl_spec_id)
    if candidate.hop > (most := min(spec.max_hops, MAX_REDIRECTS)):
        return Refusal(DecisionReason.TOO_MANY_REDIRECTS, f"{candidate.hop} of {most}")
    if candidate.depth > spec.max_depth and candidate.origin.via != LinkVia.SEED:
        return Refusal(DecisionReason.TOO_DEEP, f"{candidate.depth} of {spec.max_depth}")
    return refuse_url(candidate.url, spec, allow_private=allow_private)


def refuse_url(url: str, spec: CrawlSpecDeclared, *, allow_private: bool) -> Refusal | None:
    """Say whether scheme, port or address of a URL as found are forbidden."""
    scheme = url.partition(":")[0]
    if spec.schemes and scheme not in spec.schemes:
        return Refusal(DecisionReason.REFUSED_SCHEME, scheme)
    if spec.allowed_ports and (port := port_of(url)) not in spec.allowed_ports:
        return Refusal(DecisionReason.REFUSED_PORT, str(port))
    blocked = address_refusal(canonical_host_kind(host_of(url)), allow_private=allow_private)
    return None if blocked is None else Refusal(DecisionReason(blocked.reason), blocked.detail)


def admit(candidate: Candidate, prior: PriorState, *, seed_token: str) -> Admission:
    """Say what becomes of a candidate; `seed_token` names the seeds that its entry was opened by."""
    is_newer_seed = is_newer(candidate.seed_token, seed_token)
    if prior is PriorState.OPEN:
        return Admission.JOINED if is_newer_seed else Admission.KNOWN
    if prior is PriorState.UNKNOWN:
        return Admission.ACCEPTED
    is_wanted = is_newer_seed or (candidate.is_fresh and not candidate.seed_token)
    return Admission.REOPENED if is_wanted else Admission.KNOWN


def port_of(found: str) -> int:
    """Give the port of a URL as found; its scheme's where none is named."""
    scheme, _, authority = origin_of(found).partition("://")
    _, colon, port = authority.rpartition(":")
    if colon and port.isdecimal():
        return int(port)
    return 443 if scheme == "https" else 80  # the schemes' own

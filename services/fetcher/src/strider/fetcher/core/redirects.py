"""Where does a redirect lead, and may it be asked?

A redirect is an outcome: its target becomes an entry of its own, if it may. The target is
resolved by the one URL parser, against the URL that was fetched. Whether it is in scope or known is the
scheduler's to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import DecisionReason
from strider.urls import RefusedUrl, host_of, to_wire_url, url_hash, url_key_of

from .address_policy import Places
from .response_models import ResponseHead

CLOSED: Final = Places()
"""Nothing but the internet."""

MOVED: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class ResolvedRedirect:
    """Where an answer points."""

    target: str = ""
    """As found; empty where it points nowhere."""
    target_key: str = ""
    refusal: str = ""
    """A word of decision-reason; empty where the target may be asked."""


@dataclass(frozen=True, slots=True)
class RedirectRules:
    """What redirects may do."""

    address_policy: Places = CLOSED
    max_hops: int = 5
    """0: no redirect is followed."""


def is_redirect(head: ResponseHead) -> bool:
    """Say whether an answer points elsewhere (of 300 only where it says where)."""
    return head.status in MOVED or (head.status == 300 and bool(head.get("location")))  # noqa: PLR2004


def resolve_redirect(
    head: ResponseHead, *, url: str, redirect_chain: Sequence[str] = (), hop: int = 0, rules: RedirectRules
) -> ResolvedRedirect:
    """Resolve and judge the target of a redirect that `url` answered, after `hop` others."""
    locations = set(head.get_all("location"))
    if len(locations) != 1 or not (location := locations.pop()):
        return ResolvedRedirect(
            refusal=DecisionReason.BAD_REDIRECT
        )  # of two that differ one was smuggled in, perhaps
    target = to_wire_url(location, url)
    if isinstance(target, RefusedUrl):
        is_none = target.reason == DecisionReason.BAD_URL
        return ResolvedRedirect(refusal=DecisionReason.BAD_REDIRECT if is_none else target.reason)
    return ResolvedRedirect(
        target,
        url_hash(url_key_of(target)),
        _refusal(target, url=url, redirect_chain=redirect_chain, hop=hop, rules=rules),
    )


def _refusal(target: str, *, url: str, redirect_chain: Sequence[str], hop: int, rules: RedirectRules) -> str:
    refused = rules.address_policy.host_refusal(host_of(target))
    if refused is not None:
        return refused.reason
    if not rules.address_policy.is_port_allowed(target):
        return DecisionReason.REFUSED_PORT
    if target == url or target in redirect_chain:
        return DecisionReason.REDIRECT_LOOP
    return DecisionReason.TOO_MANY_REDIRECTS if hop >= rules.max_hops else ""

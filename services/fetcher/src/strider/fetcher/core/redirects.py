"""Redirects: resolve the target, and refuse the ones that may not be followed.

A redirect is an outcome: its target becomes a frontier entry of its own. The target is resolved by the one
URL parser, against the URL that was fetched. Whether it is in scope or already seen is decided by the
scheduler. A robots.txt may redirect to the robots.txt of another host group and to nothing else of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from strider.contracts.generated.enums import DecisionReason
from strider.urls import RefusedUrl, host_group_of, host_of, to_wire_url, url_hash, url_key_of

from .address_policy import AddressPolicy
from .response_models import ResponseHead

PUBLIC_ADDRESSES_ONLY: Final = AddressPolicy()
"""Allows nothing but the public internet."""

REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class ResolvedRedirect:
    """The target of a redirect, and whether it is refused."""

    target: str = ""
    """Normalized URL; empty if the redirect has no valid target."""
    target_key: str = ""
    refusal: str = ""
    """A word of decision-reason; empty if the target may be fetched."""


@dataclass(frozen=True, slots=True)
class RedirectRules:
    """Limits of redirects."""

    address_policy: AddressPolicy = PUBLIC_ADDRESSES_ONLY
    max_hops: int = 5
    """0: no redirect is followed."""
    groups_by_domain: bool = False
    """Whether a host group is a registrable domain instead of a host."""

    def is_same_group(self, url: str, other: str) -> bool:
        """Whether two URLs belong to one host group, so that a lease for one is valid for the other."""
        by_domain = self.groups_by_domain
        return host_group_of(url, by_domain=by_domain) == host_group_of(other, by_domain=by_domain)


def is_redirect(head: ResponseHead) -> bool:
    """Whether a response is a redirect (a 300 only if it has a Location)."""
    return head.status in REDIRECT_STATUSES or (head.status == 300 and bool(head.get("location")))  # noqa: PLR2004


def resolve_redirect(
    head: ResponseHead, *, url: str, redirect_chain: Sequence[str] = (), hop: int = 0, rules: RedirectRules
) -> ResolvedRedirect:
    """Resolve the target of a redirect that `url` returned after `hop` others, and check it."""
    locations = set(head.get_all("location"))
    if len(locations) != 1 or not (location := locations.pop()):
        return ResolvedRedirect(
            refusal=DecisionReason.BAD_REDIRECT
        )  # of two different ones, one may have been smuggled in
    target = to_wire_url(location, url)
    if isinstance(target, RefusedUrl):
        is_none = target.reason == DecisionReason.BAD_URL
        return ResolvedRedirect(refusal=DecisionReason.BAD_REDIRECT if is_none else target.reason)
    return ResolvedRedirect(
        target,
        url_hash(url_key_of(target)),
        _redirect_refusal(target, url=url, redirect_chain=redirect_chain, hop=hop, rules=rules),
    )


def resolve_robots_redirect(
    head: ResponseHead, *, url: str, redirect_chain: Sequence[str], requested_url: str, rules: RedirectRules
) -> ResolvedRedirect:
    """Resolve the target of a redirect that `url` returned to the request for a robots.txt, and check it."""
    redirect = resolve_redirect(
        head, url=url, redirect_chain=redirect_chain, hop=len(redirect_chain), rules=rules
    )
    target = redirect.target
    if redirect.refusal or rules.is_same_group(target, requested_url) or _is_robots_url(target):
        return redirect
    return replace(redirect, refusal=DecisionReason.ROBOTS_ELSEWHERE)


def _is_robots_url(url: str) -> bool:
    return url[url.index("/", 8) :] == "/robots.txt"


def _redirect_refusal(
    target: str, *, url: str, redirect_chain: Sequence[str], hop: int, rules: RedirectRules
) -> str:
    refused = rules.address_policy.host_refusal(host_of(target))
    if refused is not None:
        return refused.reason
    if not rules.address_policy.is_port_allowed(target):
        return DecisionReason.REFUSED_PORT
    if target == url or target in redirect_chain:
        return DecisionReason.REDIRECT_LOOP
    return DecisionReason.TOO_MANY_REDIRECTS if hop >= rules.max_hops else ""

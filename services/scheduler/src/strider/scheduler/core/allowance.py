"""What a run may spend: pages, bytes and time; in all, with one host, with one registrable domain.

Takes what a crawl spec says, and for what it leaves open what is configured. Zeros set no limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.partitioning import registrable_domain

MEBIBYTE: Final = 1 << 20

LEAST_MS: Final = 1_000
"""A request that may take less is not worth a connection."""

WASTE_PART: Final = 64
"""Of a budget of bytes, at most one part in so many is left over: too little for a page."""

SPECS_KEPT: Final = 4_096


class Amount(NamedTuple):
    """Something spent, or to be spent."""

    pages: int = 0
    bytes: int = 0
    ms: int = 0

    def plus(self, other: Amount) -> Amount:
        """Add."""
        return Amount(self.pages + other.pages, self.bytes + other.bytes, self.ms + other.ms)

    def minus(self, other: Amount) -> Amount:
        """Take away."""
        return Amount(self.pages - other.pages, self.bytes - other.bytes, self.ms - other.ms)


NOTHING: Final = Amount()
A_REQUEST: Final = Amount(1, 10 * MEBIBYTE, 30_000)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one run may spend. Its own time is what passes from its first request on; that of hosts and
    domains is what requests take.
    """

    run: Amount = NOTHING
    host: Amount = NOTHING
    domain: Amount = NOTHING
    request: Amount = A_REQUEST
    """What one request may cost at most."""

    @property
    def are_any(self) -> bool:
        """Whether anything is limited."""
        return self.run != NOTHING or self.are_local

    @property
    def are_local(self) -> bool:
        """Whether hosts or domains are limited."""
        return self.host != NOTHING or self.domain != NOTHING

    def places(self, host: str) -> tuple[tuple[str, Amount], ...]:
        """Name the limited places that a host belongs to, each with its limits."""
        if not self.are_local:
            return ()
        found = []
        if self.host != NOTHING:
            found.append((f"host {host}", self.host))
        if self.domain != NOTHING:
            found.append((f"domain {registrable_domain(host)}", self.domain))
        return tuple(found)


NO_LIMITS: Final = Allowance()


def scrap(most: int, page: int) -> int:
    """Say how many bytes of a budget are too few to ask for a page."""
    return max(1, min(page, most // WASTE_PART))


class AllowanceBook:
    """The limits of crawl specs, of which there are few and which are asked for at every request."""

    def __init__(self, configured: Allowance = NO_LIMITS) -> None:
        self._configured = configured
        self._known: dict[str, Allowance] = {}

    def of(self, spec: CrawlSpecDeclared) -> Allowance:
        """Give the limits of a spec."""
        known = self._known.get(spec.crawl_spec_id)
        if known is None:
            if len(self._known) >= SPECS_KEPT:
                self._known.clear()
            known = self._known[spec.crawl_spec_id] = allowance_of(spec, self._configured)
        return known


def allowance_of(spec: CrawlSpecDeclared, configured: Allowance = NO_LIMITS) -> Allowance:
    """Read a spec."""
    return Allowance(
        run=_most(spec.max_pages, spec.max_bytes, spec.max_seconds, configured.run),
        host=_most(
            spec.max_pages_per_host, spec.max_bytes_per_host, spec.max_seconds_per_host, configured.host
        ),
        domain=_most(
            spec.max_pages_per_domain,
            spec.max_bytes_per_domain,
            spec.max_seconds_per_domain,
            configured.domain,
        ),
        request=Amount(1, spec.max_body_bytes, round(spec.request_timeout_seconds * 1000)),
    )


def _most(pages: int, size_bytes: int, seconds: int, configured: Amount) -> Amount:
    return Amount(pages or configured.pages, size_bytes or configured.bytes, seconds * 1000 or configured.ms)

"""What a run may spend: pages, bytes and time; in all, with one host, with one registrable domain.

Takes what a crawl spec says, and for what it leaves open what is configured. Zeros set no limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.partitioning import registrable_domain

MEBIBYTE: Final = 1 << 20

MIN_REQUEST_MS: Final = 1_000
"""A request that may take less is not worth a connection."""

MAX_WASTE_DIVISOR: Final = 64
"""Of a budget of bytes, at most one part in so many is left over: too little for a page."""

MAX_CACHED_SPECS: Final = 4_096


class BudgetAmount(NamedTuple):
    """Something spent, or to be spent."""

    pages: int = 0
    bytes: int = 0
    ms: int = 0

    def plus(self, other: BudgetAmount) -> BudgetAmount:
        """Add."""
        return BudgetAmount(self.pages + other.pages, self.bytes + other.bytes, self.ms + other.ms)

    def minus(self, other: BudgetAmount) -> BudgetAmount:
        """Take away."""
        return BudgetAmount(self.pages - other.pages, self.bytes - other.bytes, self.ms - other.ms)


NOTHING: Final = BudgetAmount()
DEFAULT_REQUEST_AMOUNT: Final = BudgetAmount(1, 10 * MEBIBYTE, 30_000)


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What one run may spend. Its own time is what passes from its first request on; that of hosts and
    domains is what requests take.
    """

    run: BudgetAmount = NOTHING
    host: BudgetAmount = NOTHING
    domain: BudgetAmount = NOTHING
    request: BudgetAmount = DEFAULT_REQUEST_AMOUNT
    """What one request may cost at most."""

    @property
    def has_any(self) -> bool:
        """Whether anything is limited."""
        return self.run != NOTHING or self.has_local

    @property
    def has_local(self) -> bool:
        """Whether hosts or domains are limited."""
        return self.host != NOTHING or self.domain != NOTHING

    def local_limits(self, host: str) -> tuple[tuple[str, BudgetAmount], ...]:
        """Name the limited places that a host belongs to, each with its limits."""
        if not self.has_local:
            return ()
        found = []
        if self.host != NOTHING:
            found.append((f"host {host}", self.host))
        if self.domain != NOTHING:
            found.append((f"domain {registrable_domain(host)}", self.domain))
        return tuple(found)


NO_LIMITS: Final = BudgetLimits()


def scrap(limit: int, page: int) -> int:
    """Say how many bytes of a budget are too few to ask for a page."""
    return max(1, min(page, limit // MAX_WASTE_DIVISOR))


class BudgetLimitsCache:
    """The limits of crawl specs, of which there are few and which are asked for at every request."""

    def __init__(self, configured: BudgetLimits = NO_LIMITS) -> None:
        self._configured = configured
        self._known: dict[str, BudgetLimits] = {}

    def get(self, spec: CrawlSpecDeclared) -> BudgetLimits:
        """Give the limits of a spec."""
        known = self._known.get(spec.crawl_spec_id)
        if known is None:
            if len(self._known) >= MAX_CACHED_SPECS:
                self._known.clear()
            known = self._known[spec.crawl_spec_id] = allowance_of(spec, self._configured)
        return known


def allowance_of(spec: CrawlSpecDeclared, configured: BudgetLimits = NO_LIMITS) -> BudgetLimits:
    """Read a spec."""
    return BudgetLimits(
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
        request=BudgetAmount(1, spec.max_body_bytes, round(spec.request_timeout_seconds * 1000)),
    )


def _most(pages: int, size_bytes: int, seconds: int, configured: BudgetAmount) -> BudgetAmount:
    return BudgetAmount(
        pages or configured.pages, size_bytes or configured.bytes, seconds * 1000 or configured.ms
    )

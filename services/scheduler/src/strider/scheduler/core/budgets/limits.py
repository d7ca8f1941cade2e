"""Budget limits of a run: pages, bytes and time; in all, per host, per registrable domain.

Taken from the crawl spec, and from the configuration where the spec sets none. Zero is no limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from strider.contracts.generated.events import CrawlSpecDeclared
from strider.contracts.partitioning import registrable_domain

MEBIBYTE: Final = 1 << 20

MIN_REQUEST_MS: Final = 1_000
"""Shortest request worth a connection."""

MAX_WASTE_DIVISOR: Final = 64
"""At most one part in this many of a byte budget is left unspent, as too little for a page."""

MAX_CACHED_SPECS: Final = 4_096


class BudgetAmount(NamedTuple):
    """An amount spent or to be spent."""

    pages: int = 0
    bytes: int = 0
    ms: int = 0

    def plus(self, other: BudgetAmount) -> BudgetAmount:
        """Return the sum."""
        return BudgetAmount(self.pages + other.pages, self.bytes + other.bytes, self.ms + other.ms)

    def minus(self, other: BudgetAmount) -> BudgetAmount:
        """Return the difference."""
        return BudgetAmount(self.pages - other.pages, self.bytes - other.bytes, self.ms - other.ms)


NO_AMOUNT: Final = BudgetAmount()
DEFAULT_REQUEST_AMOUNT: Final = BudgetAmount(1, 10 * MEBIBYTE, 30_000)


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """Limits of one run.

    The run's own time passes from its first request on; that of hosts and domains is the time of their
    requests.
    """

    run: BudgetAmount = NO_AMOUNT
    host: BudgetAmount = NO_AMOUNT
    domain: BudgetAmount = NO_AMOUNT
    request: BudgetAmount = DEFAULT_REQUEST_AMOUNT
    """Most that one request may cost."""

    @property
    def has_any(self) -> bool:
        """Whether anything is limited."""
        return self.run != NO_AMOUNT or self.has_local

    @property
    def has_local(self) -> bool:
        """Whether hosts or domains are limited."""
        return self.host != NO_AMOUNT or self.domain != NO_AMOUNT

    def local_limits(self, host: str) -> tuple[tuple[str, BudgetAmount], ...]:
        """Return the limited scopes of a host (itself, its domain), each with its limits."""
        if not self.has_local:
            return ()
        limits = []
        if self.host != NO_AMOUNT:
            limits.append((f"host {host}", self.host))
        if self.domain != NO_AMOUNT:
            limits.append((f"domain {registrable_domain(host)}", self.domain))
        return tuple(limits)


NO_LIMITS: Final = BudgetLimits()


def smallest_useful_bytes(limit: int, page: int) -> int:
    """Return the number of bytes below which the rest of a budget is too little for a page."""
    return max(1, min(page, limit // MAX_WASTE_DIVISOR))


class BudgetLimitsCache:
    """Limits by crawl spec, which are few and looked up for every request."""

    def __init__(self, configured: BudgetLimits = NO_LIMITS) -> None:
        self._configured = configured
        self._by_spec: dict[str, BudgetLimits] = {}

    def get(self, spec: CrawlSpecDeclared) -> BudgetLimits:
        """Return the limits of a spec."""
        limits = self._by_spec.get(spec.crawl_spec_id)
        if limits is None:
            if len(self._by_spec) >= MAX_CACHED_SPECS:
                self._by_spec.clear()
            limits = self._by_spec[spec.crawl_spec_id] = limits_of_spec(spec, self._configured)
        return limits


def limits_of_spec(spec: CrawlSpecDeclared, configured: BudgetLimits = NO_LIMITS) -> BudgetLimits:
    """Return the limits of a spec, with configured ones where it sets none."""
    return BudgetLimits(
        run=_limit_of(spec.max_pages, spec.max_bytes, spec.max_seconds, configured.run),
        host=_limit_of(
            spec.max_pages_per_host, spec.max_bytes_per_host, spec.max_seconds_per_host, configured.host
        ),
        domain=_limit_of(
            spec.max_pages_per_domain,
            spec.max_bytes_per_domain,
            spec.max_seconds_per_domain,
            configured.domain,
        ),
        request=BudgetAmount(1, spec.max_body_bytes, round(spec.request_timeout_seconds * 1000)),
    )


def _limit_of(pages: int, size_bytes: int, seconds: int, configured: BudgetAmount) -> BudgetAmount:
    return BudgetAmount(
        pages or configured.pages, size_bytes or configured.bytes, seconds * 1000 or configured.ms
    )

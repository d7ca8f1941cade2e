"""Usage of one budget in one shard: spent and reserved.

Repeats change nothing: reservations are known by their lease, costs by entry and fetch. Knows nothing of
other shards.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from .ledger import BudgetKey, BudgetMeasure
from .limits import MIN_REQUEST_MS, NO_AMOUNT, NO_LIMITS, BudgetAmount, BudgetLimits, smallest_useful_bytes

REPUBLISH_SECONDS: Final = 5.0
"""Seconds after which an unconfirmed claim is published again."""


@dataclass(frozen=True, slots=True)
class BudgetedFetch:
    """A request that was made, or the sum of all requests of an entry in the log."""

    key: BudgetKey
    entry_id: str
    host: str
    limits: BudgetLimits
    sequence: int
    has_page: bool
    cost: BudgetAmount
    """Bytes and time."""
    lease_id: str = ""
    is_estimate: bool = False
    """The cost is not recorded: this is its upper bound. The outcome may still be read."""


@dataclass(frozen=True, slots=True)
class BudgetReservation:
    """Amount reserved for one request."""

    entry_id: str
    host: str
    amount: BudgetAmount
    is_reduced: bool = False
    """Whether the request may cost less than its crawl spec allows, because no more was left."""


@dataclass(slots=True)
class ShardUsage:
    """Usage of one budget in one shard."""

    limits: BudgetLimits = NO_LIMITS
    used: BudgetAmount = NO_AMOUNT
    reserved: BudgetAmount = NO_AMOUNT
    fetches: dict[str, tuple[int, bool]] = field(default_factory=dict)
    """By entry: its latest counted fetch, and whether it ever had a page."""
    estimates: dict[str, BudgetAmount] = field(default_factory=dict)
    """By entry: upper bound of its latest fetch, until the outcome is read."""
    reservations: dict[str, BudgetReservation] = field(default_factory=dict)
    """By lease."""
    missing_outcomes: dict[str, tuple[BudgetedFetch, float]] = field(default_factory=dict)
    """Reservations whose pages were settled without an outcome, by lease, and since when."""
    used_by_scope: dict[str, BudgetAmount] = field(default_factory=dict)
    reserved_by_scope: dict[str, BudgetAmount] = field(default_factory=dict)
    """Both amounts by limited scope."""
    run_limits: Counter[BudgetMeasure] = field(default_factory=Counter)
    """Limits of all shards together."""
    smallest_useful_bytes: int = 1
    is_waiting: bool = False
    """Whether the last request was refused because the share is too small."""
    requested_at: float = 0.0
    idle_since_ms: int = 0
    """Since when the run has had nothing open in the shard; 0 while it has."""
    last_claim: tuple[object, ...] = ()
    last_claim_at: float = 0.0
    claims_published: int = 0
    """Number of claims published."""
    last_return: int = 0
    """Latest claim that returned something: until it is applied, the remainder is unknown."""

    def apply_limits(self, limits: BudgetLimits) -> None:
        """Apply the limits of the crawl spec; before its first request they are those of the log."""
        self.limits = limits
        self.run_limits[BudgetMeasure.PAGES] = limits.run.pages
        self.run_limits[BudgetMeasure.BYTES] = limits.run.bytes
        if limits.run.bytes:
            self.smallest_useful_bytes = smallest_useful_bytes(limits.run.bytes, limits.request.bytes)

    def used_of(self, measure: BudgetMeasure) -> int:
        """Return what is spent."""
        return self.used.pages if measure is BudgetMeasure.PAGES else self.used.bytes

    def used_or_reserved_of(self, measure: BudgetMeasure) -> int:
        """Return what is spent or reserved."""
        held = self.reserved.pages if measure is BudgetMeasure.PAGES else self.reserved.bytes
        return self.used_of(measure) + held

    @property
    def limited_measures(self) -> list[BudgetMeasure]:
        """Return the measures that are limited for all shards together."""
        return [measure for measure in BudgetMeasure if self.run_limits[measure]]

    def needed_for_request(self, measure: BudgetMeasure) -> int:
        """Return what one more request needs."""
        return 1 if measure is BudgetMeasure.PAGES else self.limits.request.bytes

    def should_publish(self, claim: tuple[object, ...], *, now: float) -> bool:
        """Whether a claim is to be published: it differs from the last one, or that seems lost."""
        if claim == self.last_claim and now - self.last_claim_at < REPUBLISH_SECONDS:
            return False
        self.last_claim, self.last_claim_at = claim, now
        return True

    def request_amount(self, entry_id: str) -> BudgetAmount:
        """Return the most that a request for an entry may cost; a page counts once per entry."""
        _, has_page = self.fetches.get(entry_id, (0, False))
        return self.limits.request._replace(pages=0 if has_page else 1)

    def fit_local_limits(self, wanted: BudgetAmount, host: str) -> tuple[BudgetAmount, str] | None:
        """Reduce an amount to what host and domain have left, with the exhausted limit; None to wait."""
        for scope, limit in self.limits.local_limits(host):
            used, reserved = (
                self.used_by_scope.get(scope, NO_AMOUNT),
                self.reserved_by_scope.get(scope, NO_AMOUNT),
            )
            pages = _fit_measure(wanted.pages, limit.pages, used.pages, reserved.pages)
            size = _fit_measure(
                wanted.bytes,
                limit.bytes,
                used.bytes,
                reserved.bytes,
                least=smallest_useful_bytes(limit.bytes, wanted.bytes),
            )
            ms = _fit_measure(wanted.ms, limit.ms, used.ms, reserved.ms, least=min(MIN_REQUEST_MS, wanted.ms))
            if pages is None or size is None or ms is None:
                return None
            if wanted.pages and not pages:
                return NO_AMOUNT, f"pages of {scope}"
            if not size or not ms:
                return NO_AMOUNT, f"{'seconds' if size else 'bytes'} of {scope}"
            wanted = BudgetAmount(wanted.pages, size, ms)
        return wanted, ""

    def exhausted_local_limit(self, host: str) -> str:
        """Return the limit that a host has reached; empty while it has not."""
        for scope, most in self.limits.local_limits(host):
            used = self.used_by_scope.get(scope, NO_AMOUNT)
            spent = {"pages": used.pages, "bytes": used.bytes, "seconds": used.ms}
            limits = {"pages": most.pages, "bytes": most.bytes, "seconds": most.ms}
            for measure, limit in limits.items():
                if 0 < limit <= spent[measure]:
                    return f"{measure} of {scope}"
        return ""

    def reserve(self, lease: str, reservation: BudgetReservation) -> None:
        """Reserve an amount for a request."""
        self.reservations[lease] = reservation
        self._add_reserved(reservation, reservation.amount)

    def release(self, lease: str) -> BudgetReservation | None:
        """Release a reservation; None where there is none."""
        self.missing_outcomes.pop(lease, None)
        hold = self.reservations.pop(lease, None)
        if hold is not None:
            self._add_reserved(hold, NO_AMOUNT.minus(hold.amount))
        return hold

    def record_fetch(
        self,
        entry_id: str,
        host: str,
        *,
        sequence: int,
        has_page: bool,
        cost: BudgetAmount,
        is_estimate: bool = False,
    ) -> None:
        """Record the cost of a fetch; one that was counted, or an earlier one, costs nothing."""
        last, had_page = self.fetches.get(entry_id, (-1, False))
        if sequence == last and entry_id in self.estimates and not is_estimate:
            self._add_used(host, cost._replace(pages=0).minus(self.estimates.pop(entry_id)))
        if sequence <= last:
            return
        self.estimates.pop(entry_id, None)
        if is_estimate:
            self.estimates[entry_id] = cost._replace(pages=0)
        self.fetches[entry_id] = sequence, had_page or has_page
        self._add_used(host, cost._replace(pages=int(has_page and not had_page)))

    def _add_used(self, host: str, amount: BudgetAmount) -> None:
        self.used = self.used.plus(amount)
        for scope, _ in self.limits.local_limits(host):
            self.used_by_scope[scope] = self.used_by_scope.get(scope, NO_AMOUNT).plus(amount)

    def _add_reserved(self, reservation: BudgetReservation, amount: BudgetAmount) -> None:
        self.reserved = self.reserved.plus(amount)
        for scope, _ in self.limits.local_limits(reservation.host):
            self.reserved_by_scope[scope] = self.reserved_by_scope.get(scope, NO_AMOUNT).plus(amount)


def _fit_measure(wanted: int, limit: int, used: int, reserved: int, *, least: int = 1) -> int | None:
    """Return what is available of an amount: all, the rest, or 0 where that is useless; None to wait."""
    left = limit - used - reserved
    if limit <= 0 or left >= wanted:
        return wanted
    if reserved:
        return None
    return left if left >= least else 0

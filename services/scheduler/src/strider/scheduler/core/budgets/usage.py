"""What one shard has spent, and has under way, of one run's budget.

Repeats change nothing: what is under way is known by its lease, what is spent by entry and fetch. Knows
nothing of other shards.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from .ledger import BudgetMeasure
from .limits import MIN_REQUEST_MS, NO_LIMITS, NOTHING, BudgetAmount, BudgetLimits, scrap

AGAIN_SECONDS: Final = 5.0
"""After which a word that was not heard is said again."""


@dataclass(frozen=True, slots=True)
class BudgetedFetch:
    """A request that was made, or what the truth says of all that were made for an entry."""

    execution_id: str
    entry_id: str
    host: str
    limits: BudgetLimits
    sequence: int
    has_page: bool
    cost: BudgetAmount
    """Its bytes and time."""
    lease_id: str = ""
    is_guess: bool = False
    """Nobody has written down what it cost: this is the most. Its outcome may still be read."""


@dataclass(frozen=True, slots=True)
class BudgetReservation:
    """What is set aside for one request."""

    entry_id: str
    host: str
    amount: BudgetAmount
    is_cut: bool = False
    """Whether it may cost less than its crawl spec allows, because no more was left."""


@dataclass(slots=True)
class ShardUsage:
    """One run in one shard."""

    limits: BudgetLimits = NO_LIMITS
    used: BudgetAmount = NOTHING
    reserved: BudgetAmount = NOTHING
    fetches: dict[str, tuple[int, bool]] = field(default_factory=dict)
    """By entry: its latest fetch that is counted, and whether a page of it came."""
    estimates: dict[str, BudgetAmount] = field(default_factory=dict)
    """By entry: what its latest fetch may have cost, as long as its outcome is not read."""
    reservations: dict[str, BudgetReservation] = field(default_factory=dict)
    """By lease."""
    orphans: dict[str, tuple[BudgetedFetch, float]] = field(default_factory=dict)
    """Of these, the ones whose pages have gone round without an outcome, and since when."""
    used_by_scope: dict[str, BudgetAmount] = field(default_factory=dict)
    reserved_by_scope: dict[str, BudgetAmount] = field(default_factory=dict)
    """The same, of each limited place."""
    run_limits: Counter[BudgetMeasure] = field(default_factory=Counter)
    """What all shards together may spend."""
    smallest_useful_bytes: int = 1
    is_waiting: bool = False
    """Whether the last one that asked was sent away for want of a part."""
    asked_at: float = 0.0
    last_claim: tuple[object, ...] = ()
    last_claim_at: float = 0.0
    claims_published: int = 0
    """How many were said."""
    last_return: int = 0
    """The latest of them that gave something back: until it is heard, nobody knows what is left."""

    def heed(self, limits: BudgetLimits) -> None:
        """Know what the run may spend; several crawl specs of one run count as the most generous."""
        self.limits = limits
        self.run_limits[BudgetMeasure.PAGES] = max(self.run_limits[BudgetMeasure.PAGES], limits.run.pages)
        self.run_limits[BudgetMeasure.BYTES] = max(self.run_limits[BudgetMeasure.BYTES], limits.run.bytes)
        if limits.run.bytes:
            self.smallest_useful_bytes = scrap(self.run_limits[BudgetMeasure.BYTES], limits.request.bytes)

    def used_of(self, measure: BudgetMeasure) -> int:
        """Say what is spent."""
        return self.used.pages if measure is BudgetMeasure.PAGES else self.used.bytes

    def used_or_reserved_of(self, measure: BudgetMeasure) -> int:
        """Say what is spent or under way."""
        held = self.reserved.pages if measure is BudgetMeasure.PAGES else self.reserved.bytes
        return self.used_of(measure) + held

    @property
    def limited_measures(self) -> list[BudgetMeasure]:
        """Name what the run has a limit of."""
        return [measure for measure in BudgetMeasure if self.run_limits[measure]]

    def needed_for_request(self, measure: BudgetMeasure) -> int:
        """Say what one more request needs."""
        return 1 if measure is BudgetMeasure.PAGES else self.limits.request.bytes

    def should_publish(self, claim: tuple[object, ...], *, now: float) -> bool:
        """Say whether a word is to be said: it is another one, or seems not to have been heard."""
        if claim == self.last_claim and now - self.last_claim_at < AGAIN_SECONDS:
            return False
        self.last_claim, self.last_claim_at = claim, now
        return True

    def request_amount(self, entry_id: str) -> BudgetAmount:
        """Say what a request for an entry may cost; a page that came before is not counted twice."""
        _, has_page = self.fetches.get(entry_id, (0, False))
        return self.limits.request._replace(pages=0 if has_page else 1)

    def fit(self, wanted: BudgetAmount, host: str) -> tuple[BudgetAmount, str] | None:
        """Cut a wish to what its host and domain have left, and name what is used up; None: wait."""
        for place, most in self.limits.local_limits(host):
            used, held = self.used_by_scope.get(place, NOTHING), self.reserved_by_scope.get(place, NOTHING)
            pages = _fit_measure(wanted.pages, most.pages, used.pages, held.pages)
            size = _fit_measure(
                wanted.bytes, most.bytes, used.bytes, held.bytes, least=scrap(most.bytes, wanted.bytes)
            )
            ms = _fit_measure(wanted.ms, most.ms, used.ms, held.ms, least=min(MIN_REQUEST_MS, wanted.ms))
            if pages is None or size is None or ms is None:
                return None
            if wanted.pages and not pages:
                return NOTHING, f"pages of {place}"
            if not size or not ms:
                return NOTHING, f"{'seconds' if size else 'bytes'} of {place}"
            wanted = BudgetAmount(wanted.pages, size, ms)
        return wanted, ""

    def exhausted_local_limit(self, host: str) -> str:
        """Name the limit that a host has reached; empty while it has not."""
        for place, most in self.limits.local_limits(host):
            used = self.used_by_scope.get(place, NOTHING)
            spent = {"pages": used.pages, "bytes": used.bytes, "seconds": used.ms}
            limits = {"pages": most.pages, "bytes": most.bytes, "seconds": most.ms}
            for measure, limit in limits.items():
                if 0 < limit <= spent[measure]:
                    return f"{measure} of {place}"
        return ""

    def reserve(self, lease: str, reservation: BudgetReservation) -> None:
        """Set something aside for a request."""
        self.reservations[lease] = reservation
        self._move(reservation, reservation.amount)

    def let_go(self, lease: str) -> BudgetReservation | None:
        """End what was set aside; None where nothing was."""
        self.orphans.pop(lease, None)
        hold = self.reservations.pop(lease, None)
        if hold is not None:
            self._move(hold, NOTHING.minus(hold.amount))
        return hold

    def spend(
        self,
        entry_id: str,
        host: str,
        *,
        sequence: int,
        has_page: bool,
        cost: BudgetAmount,
        is_guess: bool = False,
    ) -> None:
        """Note what a fetch cost; one that is counted already, or an earlier one, costs nothing."""
        last, had_page = self.fetches.get(entry_id, (-1, False))
        if sequence == last and entry_id in self.estimates and not is_guess:
            self._add(host, cost._replace(pages=0).minus(self.estimates.pop(entry_id)))
        if sequence <= last:
            return
        self.estimates.pop(entry_id, None)
        if is_guess:
            self.estimates[entry_id] = cost._replace(pages=0)
        self.fetches[entry_id] = sequence, had_page or has_page
        self._add(host, cost._replace(pages=int(has_page and not had_page)))

    def _add(self, host: str, amount: BudgetAmount) -> None:
        self.used = self.used.plus(amount)
        for place, _ in self.limits.local_limits(host):
            self.used_by_scope[place] = self.used_by_scope.get(place, NOTHING).plus(amount)

    def _move(self, reservation: BudgetReservation, amount: BudgetAmount) -> None:
        self.reserved = self.reserved.plus(amount)
        for place, _ in self.limits.local_limits(reservation.host):
            self.reserved_by_scope[place] = self.reserved_by_scope.get(place, NOTHING).plus(amount)


def _fit_measure(wish: int, most: int, used: int, held: int, *, least: int = 1) -> int | None:
    """Give what may be had of a wish: all, what is left, 0 where that is nothing; None: wait for others."""
    left = most - used - held
    if most <= 0 or left >= wish:
        return wish
    if held:
        return None
    return left if left >= least else 0

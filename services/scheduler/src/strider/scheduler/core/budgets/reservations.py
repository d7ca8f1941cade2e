"""Reserve budget for a request, and settle it with what the request cost.

The most that a request may cost is reserved before it is released; its actual cost is recorded with its
outcome, and the rest is free again: a run never spends more than its budget. Failures cost bytes and time but
no page. Where less is left than a page may cost and nothing more can come, the request gets that remainder,
so nothing usable is left over.

How a budget is divided among shards is `ledger`'s, what a shard publishes about its share is `claims`'. Hosts
and domains belong to one shard, so their limits need no other shard.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from typing import Final

from strider.contracts.generated.events import CrawlSpecDeclared, JobEvent

from .claims import ShardOwner, claim_event, next_claim
from .ledger import BudgetKey, BudgetLedger, BudgetMeasure
from .limits import NO_AMOUNT, NO_LIMITS, BudgetAmount, BudgetLimits, BudgetLimitsCache
from .usage import BudgetedFetch, BudgetReservation, ShardUsage

OUTCOME_TIMEOUT_SECONDS: Final = 45.0
"""How long after its page an outcome may still be read: longer than a request may take."""


class ReservationStatus(StrEnum):
    """Status of a reservation."""

    GRANTED = "given"
    MUST_WAIT = "full"
    """The shard's share is in use, or more was claimed: try again."""
    EXHAUSTED = "used_up"


@dataclass(frozen=True, slots=True)
class ReservationResult:
    """Result of a reservation."""

    status: ReservationStatus
    detail: str = ""
    """Measure that is exhausted."""
    amount: BudgetAmount = NO_AMOUNT
    """Limit of the request, where that is less than its crawl spec allows."""


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """Request that needs budget."""

    key: BudgetKey
    lease_id: str
    entry_id: str
    host: str
    limits: BudgetLimits


@dataclass(slots=True)
class _Recount:
    """Recount of what a shard has spent, from its frontier log."""

    until: float = inf
    """Monotonic time at which runs with a budget continue."""
    deferred: list[BudgetedFetch] = field(default_factory=list)
    """Fetches recorded meanwhile; the log may have them or not."""
    ended_leases: set[str] = field(default_factory=set)
    """Leases that ended meanwhile: the working set may still show them until their ends are written."""


GRANTED: Final = ReservationResult(ReservationStatus.GRANTED)
MUST_WAIT: Final = ReservationResult(ReservationStatus.MUST_WAIT)


class RunBudgets:
    """All budgets of runs, in the shards that this process owns."""

    def __init__(self, configured: BudgetLimits = NO_LIMITS) -> None:
        self.ledger = BudgetLedger()
        self._limits_cache = BudgetLimitsCache(configured)
        self._usages: dict[tuple[int, BudgetKey], ShardUsage] = {}
        self._recounts: dict[int, _Recount] = {}

    def limits_of(self, spec: CrawlSpecDeclared) -> BudgetLimits:
        """Return the budget limits of a crawl spec."""
        return self._limits_cache.get(spec)

    def reserve(
        self, request: ReservationRequest, *, owner: ShardOwner, now: float, now_ms: int = 0
    ) -> ReservationResult:
        """Reserve budget for a request."""
        limits, key, shard = request.limits, request.key, owner.shard
        if not limits.has_any:
            return GRANTED
        if self._is_recounting(shard, now):
            return MUST_WAIT
        usage = self._usage_of(shard, key, limits)
        usage.requested_at = now
        if lease_sequence(request.lease_id) in usage.reservations:
            return GRANTED
        if detail := self.exhausted_measure(key, limits, now_ms=now_ms):
            return ReservationResult(ReservationStatus.EXHAUSTED, detail)
        share = self.ledger.share(key, shard)
        if share.epoch != owner.epoch or share.claim_number < usage.last_return:
            usage.is_waiting = True  # a later owner has to find that something was spent here
            return MUST_WAIT
        return self._reserve_in_shard(usage, request, shard)

    def _reserve_in_shard(
        self, usage: ShardUsage, request: ReservationRequest, shard: int
    ) -> ReservationResult:
        wanted = usage.request_amount(request.entry_id)
        fitted = usage.fit_local_limits(wanted, request.host)
        if fitted is None:
            return MUST_WAIT
        if fitted[1]:
            return ReservationResult(ReservationStatus.EXHAUSTED, fitted[1])
        amount = self._fit_share(usage, request.key, shard, fitted[0])
        usage.is_waiting = amount is None
        if amount is None:
            return MUST_WAIT
        is_cut = amount != wanted
        usage.reserve(
            lease_sequence(request.lease_id),
            BudgetReservation(request.entry_id, request.host, amount, is_reduced=is_cut),
        )
        return ReservationResult(ReservationStatus.GRANTED, "", amount) if is_cut else GRANTED

    def exhausted_measure(self, key: BudgetKey, limits: BudgetLimits, *, now_ms: int) -> str:
        """Return the measure that is exhausted; empty while something of each is left."""
        began_ms = self.ledger.started_ms(key)
        if limits.run.ms and began_ms and now_ms >= began_ms + limits.run.ms:
            return "seconds"
        return self.ledger.exhausted_measure(key)

    def exhausted_local_limit(self, shard: int, key: BudgetKey, host: str) -> str:
        """Return the limit that a host of a shard has reached; empty while it has not."""
        usage = self._usages.get((shard, key))
        return "" if usage is None else usage.exhausted_local_limit(host)

    def budgets_out_of_time(self, shard: int, *, now_ms: int) -> Iterator[BudgetKey]:
        """Yield the budgets of a shard whose time is over."""
        for (held_by, key), usage in self._usages.items():
            is_timed = held_by == shard and usage.limits.run.ms > 0
            if is_timed and self.exhausted_measure(key, usage.limits, now_ms=now_ms) == "seconds":
                yield key

    def record_fetch(self, shard: int, fetch: BudgetedFetch) -> bool:
        """Record the cost of a request; return whether its limit had been reduced.

        Nothing is kept for runs without a limit, since they may never end.
        """
        if not fetch.limits.has_any:
            return False
        usage = self._usage_of(shard, fetch.key, fetch.limits)
        reservation = self._release(usage, shard, fetch.lease_id)
        if self.needs_recount(shard):
            self._recounts[shard].deferred.append(fetch)
        else:
            _record_fetch(usage, fetch)
        return reservation is not None and reservation.is_reduced

    def record_settled_page(self, shard: int, fetch: BudgetedFetch, *, now: float) -> None:
        """Record a page without its outcome; after a timeout its reservation counts as its cost."""
        if not fetch.limits.has_any:
            return
        usage, lease = (
            self._usage_of(shard, fetch.key, fetch.limits),
            lease_sequence(fetch.lease_id),
        )
        if lease in usage.reservations:
            usage.missing_outcomes.setdefault(lease, (fetch, now))
        else:
            self.record_fetch(shard, fetch)

    def restore_fetch(self, shard: int, fetch: BudgetedFetch) -> None:
        """Record what the frontier log says of an entry, during a recount."""
        if fetch.limits.has_any:
            _record_fetch(self._usage_of(shard, fetch.key, fetch.limits), fetch)

    def release_reservation(self, shard: int, key: BudgetKey, lease_id: str) -> None:
        """Release the reservation of a lease that ended without an outcome."""
        self._release(self._usages.get((shard, key)), shard, lease_id)

    def begin_recount(self, shard: int) -> None:
        """Drop the usage of a shard: it is recounted from the frontier log."""
        self.drop_shard(shard)
        self._recounts[shard] = _Recount()

    def needs_recount(self, shard: int) -> bool:
        """Whether the usage of a shard is not recounted yet."""
        count = self._recounts.get(shard)
        return count is not None and count.until == inf

    def end_recount(self, shard: int, *, at: float, leased: Iterable[ReservationRequest] = ()) -> None:
        """Continue at a time with what was counted; `leased` are the requests in flight."""
        count = self._recounts.get(shard)
        for fetch in () if count is None else count.deferred:
            _record_fetch(self._usage_of(shard, fetch.key, fetch.limits), fetch)
        for request in leased:
            is_over = count is not None and lease_sequence(request.lease_id) in count.ended_leases
            if request.limits.has_any and not is_over:
                usage = self._usage_of(shard, request.key, request.limits)
                reservation = BudgetReservation(
                    request.entry_id, request.host, usage.request_amount(request.entry_id)
                )
                usage.reserve(lease_sequence(request.lease_id), reservation)
        for key in list(self.ledger.budgets_of_shard(shard)):
            self._restore_published_usage(self._usage_of(shard, key), key, shard)
        if count is not None:
            self._recounts[shard] = _Recount(until=at)

    def drop_shard(self, shard: int) -> None:
        """Drop the usage of a shard that another process owns now."""
        self._recounts.pop(shard, None)
        for name in [name for name in self._usages if name[0] == shard]:
            del self._usages[name]

    def forget_ended(self, shard: int, open_runs: Container[str], *, now_ms: int, keep_ms: int) -> None:
        """Forget budgets of ended runs, once neither frontier nor job-events has anything of them.

        Called for each owned shard, at intervals, with its runs that have open entries. A budget is forgotten
        when none of the shards has used it for so long; a restart would not find it either.
        """
        latest_use: dict[BudgetKey, int] = {}
        for (held_by, key), usage in self._usages.items():
            if held_by == shard:
                is_in_use = key.execution_id in open_runs or bool(usage.reservations)
                usage.idle_since_ms = 0 if is_in_use else usage.idle_since_ms or now_ms
            latest_use[key] = max(latest_use.get(key, 0), usage.idle_since_ms or now_ms)
        claimed = set(self.ledger.budgets_claimed_before(now_ms - keep_ms))
        unclaimed = {key for key in latest_use if not self.ledger.is_known(key)}
        ended = {key for key in claimed | unclaimed if latest_use.get(key, 0) + keep_ms < now_ms}
        for name in [name for name in self._usages if name[1] in ended]:
            del self._usages[name]
        for key in ended:
            self.ledger.forget(key)

    def pending_claims(self, owner: ShardOwner, *, now: float, now_ms: int) -> Iterator[JobEvent]:
        """Yield the claims that a shard has to publish."""
        if self._is_recounting(owner.shard, now):
            return
        keys = {key for shard, key in self._usages if shard == owner.shard}
        for key in keys:
            _expire_missing_outcomes(self._usages[owner.shard, key], now)
        for key in sorted(keys | set(self.ledger.budgets_of_shard(owner.shard))):
            if self.ledger.exhausted_measure(key):
                continue
            usage = self._usage_of(owner.shard, key)
            claim = next_claim(key, usage, owner, self.ledger, now=now)
            if claim is not None and usage.should_publish(claim, now=now):
                yield claim_event(claim, key, usage, owner, self.ledger, now_ms=now_ms)

    def _fit_share(
        self, usage: ShardUsage, key: BudgetKey, shard: int, wanted: BudgetAmount
    ) -> BudgetAmount | None:
        """Reduce an amount to what the shard's shares have left; None where more has to be claimed."""
        for measure in BudgetMeasure:
            if not usage.run_limits[measure]:
                continue
            needed = wanted.pages if measure is BudgetMeasure.PAGES else wanted.bytes
            left = self.ledger.share(key, shard, measure).allowed - usage.used_or_reserved_of(measure)
            if left >= needed:
                continue
            is_last = not usage.reservations and self.ledger.pool(key, measure).holds_remainder(shard)
            if measure is BudgetMeasure.PAGES or not is_last or left < usage.smallest_useful_bytes:
                return None
            wanted = wanted._replace(bytes=left)
        return wanted

    def _restore_published_usage(self, usage: ShardUsage, key: BudgetKey, shard: int) -> None:
        """Count what was published as spent, also for entries that another run has taken over."""
        pages = self.ledger.share(key, shard, BudgetMeasure.PAGES).used - usage.used.pages
        size = self.ledger.share(key, shard, BudgetMeasure.BYTES).used - usage.used.bytes
        usage.used = usage.used.plus(BudgetAmount(max(0, pages), max(0, size)))

    def _release(self, usage: ShardUsage | None, shard: int, lease_id: str) -> BudgetReservation | None:
        lease = lease_sequence(lease_id)
        if self.needs_recount(shard):
            self._recounts[shard].ended_leases.add(lease)
        return None if usage is None else usage.release(lease)

    def _is_recounting(self, shard: int, now: float) -> bool:
        count = self._recounts.get(shard)
        return count is not None and now < count.until

    def _usage_of(self, shard: int, key: BudgetKey, limits: BudgetLimits | None = None) -> ShardUsage:
        usage = self._usages.get((shard, key))
        if usage is None:
            usage = self._usages[shard, key] = ShardUsage()
            for measure in BudgetMeasure:
                usage.run_limits[measure] = self.ledger.pool(key, measure).limit
            usage.smallest_useful_bytes = self.ledger.pool(key, BudgetMeasure.BYTES).smallest_useful
        if limits is not None and limits is not usage.limits:
            usage.apply_limits(limits)
        return usage


def _record_fetch(usage: ShardUsage, fetch: BudgetedFetch) -> None:
    usage.record_fetch(
        fetch.entry_id,
        fetch.host,
        sequence=fetch.sequence,
        has_page=fetch.has_page,
        cost=fetch.cost,
        is_estimate=fetch.is_estimate,
    )


def _expire_missing_outcomes(usage: ShardUsage, now: float) -> None:
    """Charge the reservations of requests whose outcomes must be lost."""
    for lease, (fetch, since) in list(usage.missing_outcomes.items()):
        if now - since < OUTCOME_TIMEOUT_SECONDS:
            continue
        reservation = usage.release(lease)
        _record_fetch(usage, fetch if reservation is None else replace(fetch, cost=reservation.amount))


def lease_sequence(lease_id: str) -> str:
    """Return a lease's identity within its shard: its sequence, which is never reused."""
    return lease_id.rpartition("-")[2]

"""May a run still ask for a page of a shard, and what may that cost?

What a request may cost at most is set aside when it is asked for, what it did cost is noted when it came,
and the rest is free again. So a run never spends more than it may. Failures do not eat its budget of
pages, but bytes and time they do take. Where less is left than a page may have, and nothing more can
come, the request gets what is left: so nothing remains that somebody could use.

How much of a run's budget a shard has is `quota`'s, what it says about that is `claims`'.
Hosts and domains belong to one shard, so nobody else is asked about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from typing import Final

from strider.contracts.generated.events import CrawlSpecDeclared, JobEvent

from .claims import ShardOwner, claim, claim_event
from .ledger import BudgetMeasure, Ledger
from .limits import NO_LIMITS, NOTHING, BudgetAmount, BudgetLimits, BudgetLimitsCache
from .usage import BudgetedFetch, BudgetReservation, ShardUsage

OUTCOME_TIMEOUT_SECONDS: Final = 45.0
"""How much later than its page the outcome of a request may be read: longer than a request may take."""


class ReservationStatus(StrEnum):
    """Answer to asking for a page."""

    GRANTED = "given"
    FULL = "full"
    """All that the shard has is under way, or more is asked for."""
    EXHAUSTED = "used_up"


@dataclass(frozen=True, slots=True)
class ReservationResult:
    """Answer to asking for a page, and what goes with it."""

    status: ReservationStatus
    detail: str = ""
    """What is used up."""
    amount: BudgetAmount = NOTHING
    """What the request may cost, where that is less than its crawl spec allows."""


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """A request that may be made, if there is budget for it."""

    execution_id: str
    lease_id: str
    entry_id: str
    host: str
    limits: BudgetLimits


@dataclass(slots=True)
class _Recount:
    """Counting anew what a shard has spent, from its truth."""

    until: float = inf
    """When runs with a budget go on."""
    later: list[BudgetedFetch] = field(default_factory=list)
    """What came meanwhile; the truth may have it or not."""
    ended: set[str] = field(default_factory=set)
    """Leases that ended meanwhile: who looks at leases may still see them, until their ends are written."""


GRANTED: Final = ReservationResult(ReservationStatus.GRANTED)
FULL: Final = ReservationResult(ReservationStatus.FULL)


class RunBudgets:
    """The budgets of all runs that have one, in the shards that this process owns."""

    def __init__(self, configured: BudgetLimits = NO_LIMITS) -> None:
        self.ledger = Ledger()
        self._limits_cache = BudgetLimitsCache(configured)
        self._usages: dict[tuple[int, str], ShardUsage] = {}
        self._counts: dict[int, _Recount] = {}

    def allowance_of(self, spec: CrawlSpecDeclared) -> BudgetLimits:
        """Give what a run of a crawl spec may spend."""
        return self._limits_cache.get(spec)

    def reserve(
        self, bid: ReservationRequest, *, owner: ShardOwner, now: float, now_ms: int = 0
    ) -> ReservationResult:
        """Ask for a place."""
        limits, run, shard = bid.limits, bid.execution_id, owner.shard
        if not limits.has_any:
            return GRANTED
        if self._is_recounting(shard, now):
            return FULL
        account = self._usage_of(shard, run, limits)
        account.asked_at = now
        if place_of(bid.lease_id) in account.reservations:
            return GRANTED
        if detail := self.exhausted_measure(run, limits, now_ms=now_ms):
            return ReservationResult(ReservationStatus.EXHAUSTED, detail)
        share = self.ledger.share(run, shard)
        if share.epoch != owner.epoch or share.claim_number < account.last_return:
            account.is_waiting = True  # whoever comes later shall know that something was spent here
            return FULL
        return self._reserve_in_shard(account, bid, shard)

    def _reserve_in_shard(self, usage: ShardUsage, bid: ReservationRequest, shard: int) -> ReservationResult:
        wish = usage.request_amount(bid.entry_id)
        local = usage.fit(wish, bid.host)
        if local is None:
            return FULL
        if local[1]:
            return ReservationResult(ReservationStatus.EXHAUSTED, local[1])
        amount = self._fit_share(usage, bid.execution_id, shard, local[0])
        usage.is_waiting = amount is None
        if amount is None:
            return FULL
        is_cut = amount != wish
        usage.reserve(
            place_of(bid.lease_id), BudgetReservation(bid.entry_id, bid.host, amount, is_cut=is_cut)
        )
        return ReservationResult(ReservationStatus.GRANTED, "", amount) if is_cut else GRANTED

    def exhausted_measure(self, execution_id: str, limits: BudgetLimits, *, now_ms: int) -> str:
        """Name what a run has nothing left of; empty while it may go on."""
        began_ms = self.ledger.started_ms(execution_id)
        if limits.run.ms and began_ms and now_ms >= began_ms + limits.run.ms:
            return "seconds"
        return self.ledger.exhausted_measure(execution_id)

    def exhausted_local_limit(self, shard: int, execution_id: str, host: str) -> str:
        """Name the limit that a host of a shard has reached; empty while it has not."""
        account = self._usages.get((shard, execution_id))
        return "" if account is None else account.exhausted_local_limit(host)

    def overdue(self, shard: int, *, now_ms: int) -> Iterator[str]:
        """Name the runs of a shard whose time is over."""
        for held_by, run in self._usages:
            if held_by == shard:
                limits = self._usages[held_by, run].limits
                if limits.run.ms and self.exhausted_measure(run, limits, now_ms=now_ms) == "seconds":
                    yield run

    def use(self, shard: int, fetch: BudgetedFetch) -> bool:
        """Note what a request cost; says whether it was given less than its spec allows.

        Of runs without a limit nothing is kept, since they may never end.
        """
        if not fetch.limits.has_any:
            return False
        account = self._usage_of(shard, fetch.execution_id, fetch.limits)
        hold = self._let_go(account, shard, fetch.lease_id)
        if self.needs_recount(shard):
            self._counts[shard].later.append(fetch)
        else:
            _spend(account, fetch)
        return hold is not None and hold.is_cut

    def record_settled_page(self, shard: int, fetch: BudgetedFetch, *, now: float) -> None:
        """Note that a page came whose outcome is not read: it is waited for, but not for ever."""
        if not fetch.limits.has_any:
            return
        account, place = self._usage_of(shard, fetch.execution_id, fetch.limits), place_of(fetch.lease_id)
        if place in account.reservations:
            account.orphans.setdefault(place, (fetch, now))
        else:
            self.use(shard, fetch)

    def restore_fetch(self, shard: int, fetch: BudgetedFetch) -> None:
        """Note what the truth says of an entry, while a shard is counted."""
        if fetch.limits.has_any:
            _spend(self._usage_of(shard, fetch.execution_id, fetch.limits), fetch)

    def give_back(self, shard: int, execution_id: str, lease_id: str) -> None:
        """Note that a lease ended of which no outcome came."""
        self._let_go(self._usages.get((shard, execution_id)), shard, lease_id)

    def begin_count(self, shard: int) -> None:
        """Forget what was known of a shard: what it spent is counted anew, from its truth."""
        self.drop_shard(shard)
        self._counts[shard] = _Recount()

    def needs_recount(self, shard: int) -> bool:
        """Say whether nobody has counted yet what it spent."""
        count = self._counts.get(shard)
        return count is not None and count.until == inf

    def end_recount(self, shard: int, *, at: float, leased: Iterable[ReservationRequest] = ()) -> None:
        """Go on at that time with what was counted; `leased` are the requests that are under way."""
        count = self._counts.get(shard)
        for fetch in () if count is None else count.later:
            _spend(self._usage_of(shard, fetch.execution_id, fetch.limits), fetch)
        for bid in leased:
            is_over = count is not None and place_of(bid.lease_id) in count.ended
            if bid.limits.has_any and not is_over:
                account = self._usage_of(shard, bid.execution_id, bid.limits)
                hold = BudgetReservation(bid.entry_id, bid.host, account.request_amount(bid.entry_id))
                account.reserve(place_of(bid.lease_id), hold)
        for run in list(self.ledger.runs_of_shard(shard)):
            self._restore_published_usage(self._usage_of(shard, run), run, shard)
        if count is not None:
            self._counts[shard] = _Recount(until=at)

    def drop_shard(self, shard: int) -> None:
        """Note that the shard is somebody else's now."""
        self._counts.pop(shard, None)
        for name in [name for name in self._usages if name[0] == shard]:
            del self._usages[name]

    def pending_claims(self, owner: ShardOwner, *, now: float, now_ms: int) -> Iterator[JobEvent]:
        """Give what the shard has to say about its parts of budgets."""
        if self._is_recounting(owner.shard, now):
            return
        names = {run for shard, run in self._usages if shard == owner.shard}
        for run in names:
            _expire_missing_outcomes(self._usages[owner.shard, run], now)
        for run in sorted(names | set(self.ledger.runs_of_shard(owner.shard))):
            if self.ledger.exhausted_measure(run):
                continue
            account = self._usage_of(owner.shard, run)
            word = claim(run, account, owner, self.ledger, now=now)
            if word is not None and account.should_publish(word, now=now):
                yield claim_event(word, run, account, owner, self.ledger, now_ms=now_ms)

    def _fit_share(
        self, usage: ShardUsage, run: str, shard: int, wanted: BudgetAmount
    ) -> BudgetAmount | None:
        """Cut a wish to what the shard's parts have left; None: more is to be asked for."""
        for measure in BudgetMeasure:
            if not usage.run_limits[measure]:
                continue
            wanted = wanted.pages if measure is BudgetMeasure.PAGES else wanted.bytes
            left = self.ledger.share(run, shard, measure).allowed - usage.used_or_reserved_of(measure)
            if left >= wanted:
                continue
            is_last = not usage.reservations and self.ledger.pool(run, measure).holds_remainder(shard)
            if measure is BudgetMeasure.PAGES or not is_last or left < usage.smallest_useful_bytes:
                return None
            wanted = wanted._replace(bytes=left)
        return wanted

    def _restore_published_usage(self, usage: ShardUsage, run: str, shard: int) -> None:
        """Count what was told to be spent, also where another run has the entry by now."""
        pages = self.ledger.share(run, shard, BudgetMeasure.PAGES).used - usage.used.pages
        size = self.ledger.share(run, shard, BudgetMeasure.BYTES).used - usage.used.bytes
        usage.used = usage.used.plus(BudgetAmount(max(0, pages), max(0, size)))

    def _let_go(self, usage: ShardUsage | None, shard: int, lease_id: str) -> BudgetReservation | None:
        place = place_of(lease_id)
        if self.needs_recount(shard):
            self._counts[shard].ended.add(place)
        return None if usage is None else usage.let_go(place)

    def _is_recounting(self, shard: int, now: float) -> bool:
        count = self._counts.get(shard)
        return count is not None and now < count.until

    def _usage_of(self, shard: int, run: str, limits: BudgetLimits | None = None) -> ShardUsage:
        account = self._usages.get((shard, run))
        if account is None:
            account = self._usages[shard, run] = ShardUsage()
            for measure in BudgetMeasure:
                account.run_limits[measure] = self.ledger.pool(run, measure).limit
            account.smallest_useful_bytes = self.ledger.pool(run, BudgetMeasure.BYTES).scrap
        if limits is not None and limits is not account.limits:
            account.heed(limits)
        return account


def _spend(account: ShardUsage, fetch: BudgetedFetch) -> None:
    account.spend(
        fetch.entry_id,
        fetch.host,
        sequence=fetch.sequence,
        has_page=fetch.has_page,
        cost=fetch.cost,
        is_guess=fetch.is_guess,
    )


def _expire_missing_outcomes(account: ShardUsage, now: float) -> None:
    """Have requests cost what was set aside for them whose outcomes must be lost."""
    for place, (fetch, since) in list(account.orphans.items()):
        if now - since < OUTCOME_TIMEOUT_SECONDS:
            continue
        hold = account.let_go(place)
        _spend(account, fetch if hold is None else replace(fetch, cost=hold.amount))


def place_of(lease_id: str) -> str:
    """Name a lease within its shard: its sequence, which is never given twice."""
    return lease_id.rpartition("-")[2]

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

from .account import Account, Fetch, Hold
from .allowance import NO_LIMITS, NOTHING, Allowance, AllowanceBook, Amount
from .claims import Owner, claim, spoken
from .quota import Ledger, Measure

OUTCOME_SECONDS: Final = 45.0
"""How much later than its page the outcome of a request may be read: longer than a request may take."""


class Grant(StrEnum):
    """Answer to asking for a page."""

    GIVEN = "given"
    FULL = "full"
    """All that the shard has is under way, or more is asked for."""
    USED_UP = "used_up"


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to asking for a page, and what goes with it."""

    grant: Grant
    detail: str = ""
    """What is used up."""
    amount: Amount = NOTHING
    """What the request may cost, where that is less than its crawl spec allows."""


@dataclass(frozen=True, slots=True)
class Bid:
    """A request that may be made, if there is budget for it."""

    execution_id: str
    lease_id: str
    entry_id: str
    host: str
    limits: Allowance


@dataclass(slots=True)
class _Count:
    """Counting anew what a shard has spent, from its truth."""

    until: float = inf
    """When runs with a budget go on."""
    later: list[Fetch] = field(default_factory=list)
    """What came meanwhile; the truth may have it or not."""
    ended: set[str] = field(default_factory=set)
    """Leases that ended meanwhile: who looks at leases may still see them, until their ends are written."""


GIVEN: Final = Answer(Grant.GIVEN)
FULL: Final = Answer(Grant.FULL)


class Budgets:
    """The budgets of all runs that have one, in the shards that this process owns."""

    def __init__(self, configured: Allowance = NO_LIMITS) -> None:
        self.ledger = Ledger()
        self._book = AllowanceBook(configured)
        self._accounts: dict[tuple[int, str], Account] = {}
        self._counts: dict[int, _Count] = {}

    def allowance_of(self, spec: CrawlSpecDeclared) -> Allowance:
        """Give what a run of a crawl spec may spend."""
        return self._book.of(spec)

    def reserve(self, bid: Bid, *, owner: Owner, now: float, now_ms: int = 0) -> Answer:
        """Ask for a place."""
        limits, run, shard = bid.limits, bid.execution_id, owner.shard
        if not limits.are_any:
            return GIVEN
        if self._is_counting(shard, now):
            return FULL
        account = self._account(shard, run, limits)
        account.asked_at = now
        if place_of(bid.lease_id) in account.holds:
            return GIVEN
        if detail := self.spent(run, limits, now_ms=now_ms):
            return Answer(Grant.USED_UP, detail)
        share = self.ledger.share(run, shard)
        if share.epoch != owner.epoch or share.word < account.returned_by:
            account.is_waiting = True  # whoever comes later shall know that something was spent here
            return FULL
        return self._set_aside(account, bid, shard)

    def _set_aside(self, account: Account, bid: Bid, shard: int) -> Answer:
        wish = account.wish(bid.entry_id)
        local = account.fit(wish, bid.host)
        if local is None:
            return FULL
        if local[1]:
            return Answer(Grant.USED_UP, local[1])
        amount = self._fit_part(account, bid.execution_id, shard, local[0])
        account.is_waiting = amount is None
        if amount is None:
            return FULL
        is_cut = amount != wish
        account.hold(place_of(bid.lease_id), Hold(bid.entry_id, bid.host, amount, is_cut=is_cut))
        return Answer(Grant.GIVEN, "", amount) if is_cut else GIVEN

    def spent(self, execution_id: str, limits: Allowance, *, now_ms: int) -> str:
        """Name what a run has nothing left of; empty while it may go on."""
        began_ms = self.ledger.began_ms(execution_id)
        if limits.run.ms and began_ms and now_ms >= began_ms + limits.run.ms:
            return "seconds"
        return self.ledger.spent(execution_id)

    def used_up_at(self, shard: int, execution_id: str, host: str) -> str:
        """Name the limit that a host of a shard has reached; empty while it has not."""
        account = self._accounts.get((shard, execution_id))
        return "" if account is None else account.used_up(host)

    def overdue(self, shard: int, *, now_ms: int) -> Iterator[str]:
        """Name the runs of a shard whose time is over."""
        for held_by, run in self._accounts:
            if held_by == shard:
                limits = self._accounts[held_by, run].limits
                if limits.run.ms and self.spent(run, limits, now_ms=now_ms) == "seconds":
                    yield run

    def use(self, shard: int, fetch: Fetch) -> bool:
        """Note what a request cost; says whether it was given less than its spec allows.

        Of runs without a limit nothing is kept, since they may never end.
        """
        if not fetch.limits.are_any:
            return False
        account = self._account(shard, fetch.execution_id, fetch.limits)
        hold = self._let_go(account, shard, fetch.lease_id)
        if self.is_to_count(shard):
            self._counts[shard].later.append(fetch)
        else:
            _spend(account, fetch)
        return hold is not None and hold.is_cut

    def settle(self, shard: int, fetch: Fetch, *, now: float) -> None:
        """Note that a page came whose outcome is not read: it is waited for, but not for ever."""
        if not fetch.limits.are_any:
            return
        account, place = self._account(shard, fetch.execution_id, fetch.limits), place_of(fetch.lease_id)
        if place in account.holds:
            account.orphans.setdefault(place, (fetch, now))
        else:
            self.use(shard, fetch)

    def recall(self, shard: int, fetch: Fetch) -> None:
        """Note what the truth says of an entry, while a shard is counted."""
        if fetch.limits.are_any:
            _spend(self._account(shard, fetch.execution_id, fetch.limits), fetch)

    def give_back(self, shard: int, execution_id: str, lease_id: str) -> None:
        """Note that a lease ended of which no outcome came."""
        self._let_go(self._accounts.get((shard, execution_id)), shard, lease_id)

    def begin_count(self, shard: int) -> None:
        """Forget what was known of a shard: what it spent is counted anew, from its truth."""
        self.give_back_shard(shard)
        self._counts[shard] = _Count()

    def is_to_count(self, shard: int) -> bool:
        """Say whether nobody has counted yet what it spent."""
        count = self._counts.get(shard)
        return count is not None and count.until == inf

    def end_count(self, shard: int, *, at: float, leased: Iterable[Bid] = ()) -> None:
        """Go on at that time with what was counted; `leased` are the requests that are under way."""
        count = self._counts.get(shard)
        for fetch in () if count is None else count.later:
            _spend(self._account(shard, fetch.execution_id, fetch.limits), fetch)
        for bid in leased:
            is_over = count is not None and place_of(bid.lease_id) in count.ended
            if bid.limits.are_any and not is_over:
                account = self._account(shard, bid.execution_id, bid.limits)
                hold = Hold(bid.entry_id, bid.host, account.wish(bid.entry_id))
                account.hold(place_of(bid.lease_id), hold)
        for run in list(self.ledger.held_by(shard)):
            self._keep_told(self._account(shard, run), run, shard)
        if count is not None:
            self._counts[shard] = _Count(until=at)

    def give_back_shard(self, shard: int) -> None:
        """Note that the shard is somebody else's now."""
        self._counts.pop(shard, None)
        for name in [name for name in self._accounts if name[0] == shard]:
            del self._accounts[name]

    def words(self, owner: Owner, *, now: float, now_ms: int) -> Iterator[JobEvent]:
        """Give what the shard has to say about its parts of budgets."""
        if self._is_counting(owner.shard, now):
            return
        names = {run for shard, run in self._accounts if shard == owner.shard}
        for run in names:
            _end_orphans(self._accounts[owner.shard, run], now)
        for run in sorted(names | set(self.ledger.held_by(owner.shard))):
            if self.ledger.spent(run):
                continue
            account = self._account(owner.shard, run)
            word = claim(run, account, owner, self.ledger, now=now)
            if word is not None and account.is_news(word, now=now):
                yield spoken(word, run, account, owner, self.ledger, now_ms=now_ms)

    def _fit_part(self, account: Account, run: str, shard: int, wish: Amount) -> Amount | None:
        """Cut a wish to what the shard's parts have left; None: more is to be asked for."""
        for measure in Measure:
            if not account.most[measure]:
                continue
            wanted = wish.pages if measure is Measure.PAGES else wish.bytes
            left = self.ledger.share(run, shard, measure).allowed - account.taken_of(measure)
            if left >= wanted:
                continue
            is_last = not account.holds and self.ledger.pool(run, measure).has_the_rest(shard)
            if measure is Measure.PAGES or not is_last or left < account.scrap_bytes:
                return None
            wish = wish._replace(bytes=left)
        return wish

    def _keep_told(self, account: Account, run: str, shard: int) -> None:
        """Count what was told to be spent, also where another run has the entry by now."""
        pages = self.ledger.share(run, shard, Measure.PAGES).used - account.used.pages
        size = self.ledger.share(run, shard, Measure.BYTES).used - account.used.bytes
        account.used = account.used.plus(Amount(max(0, pages), max(0, size)))

    def _let_go(self, account: Account | None, shard: int, lease_id: str) -> Hold | None:
        place = place_of(lease_id)
        if self.is_to_count(shard):
            self._counts[shard].ended.add(place)
        return None if account is None else account.let_go(place)

    def _is_counting(self, shard: int, now: float) -> bool:
        count = self._counts.get(shard)
        return count is not None and now < count.until

    def _account(self, shard: int, run: str, limits: Allowance | None = None) -> Account:
        account = self._accounts.get((shard, run))
        if account is None:
            account = self._accounts[shard, run] = Account()
            for measure in Measure:
                account.most[measure] = self.ledger.pool(run, measure).limit
            account.scrap_bytes = self.ledger.pool(run, Measure.BYTES).scrap
        if limits is not None and limits is not account.limits:
            account.heed(limits)
        return account


def _spend(account: Account, fetch: Fetch) -> None:
    account.spend(
        fetch.entry_id,
        fetch.host,
        sequence=fetch.sequence,
        has_page=fetch.has_page,
        cost=fetch.cost,
        is_guess=fetch.is_guess,
    )


def _end_orphans(account: Account, now: float) -> None:
    """Have requests cost what was set aside for them whose outcomes must be lost."""
    for place, (fetch, since) in list(account.orphans.items()):
        if now - since < OUTCOME_SECONDS:
            continue
        hold = account.let_go(place)
        _spend(account, fetch if hold is None else replace(fetch, cost=hold.amount))


def place_of(lease_id: str) -> str:
    """Name a lease within its shard: its sequence, which is never given twice."""
    return lease_id.rpartition("-")[2]

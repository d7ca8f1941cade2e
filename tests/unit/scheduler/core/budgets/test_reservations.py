"""Reservations of a budget within one shard, and the claims of the shard."""

from __future__ import annotations

import pytest

from strider.contracts.generated.events import JobEvent
from strider.scheduler.core.budgets.claims import ShardOwner
from strider.scheduler.core.budgets.ledger import BudgetKey
from strider.scheduler.core.budgets.limits import BudgetAmount, BudgetLimits
from strider.scheduler.core.budgets.reservations import (
    ReservationRequest,
    ReservationResult,
    ReservationStatus,
    RunBudgets,
)
from strider.scheduler.core.budgets.usage import BudgetedFetch

OWNER = ShardOwner(3, 7, 4)
KEY = BudgetKey("run", "spec")
MOST = 8
PAGES = BudgetLimits(run=BudgetAmount(pages=MOST))
PAGE = BudgetAmount(1, 1_000, 30_000)


def a_bid(number: int, limits: BudgetLimits = PAGES, *, epoch: int = 7) -> ReservationRequest:
    return ReservationRequest(KEY, f"3-{epoch}-{number}", f"entry-{number}", "www.a.test", limits)


def ask(
    budgets: RunBudgets, number: int, limits: BudgetLimits = PAGES, *, now: float = 0.0
) -> ReservationResult:
    return budgets.reserve(a_bid(number, limits), owner=OWNER, now=now)


def reserve(
    budgets: RunBudgets, number: int, limits: BudgetLimits = PAGES, *, now: float = 0.0
) -> ReservationStatus:
    return ask(budgets, number, limits, now=now).status


def use(  # each is something else to vary
    budgets: RunBudgets,
    number: int,
    limits: BudgetLimits = PAGES,
    *,
    size: int = 0,
    ms: int = 1,
    has_page: bool = True,
) -> bool:
    bid = a_bid(number, limits)
    cost = BudgetAmount(0, size, ms)
    fetch = BudgetedFetch(KEY, bid.entry_id, bid.host, limits, number, has_page, cost, bid.lease_id)
    return budgets.record_fetch(3, fetch)


def told(budgets: RunBudgets, *, now: float = 0.0) -> list[tuple[str, int]]:
    """Hear the shard's own words, as the log gives them back."""
    words = list(budgets.pending_claims(OWNER, now=now, now_ms=1))
    for word in words:
        budgets.ledger.apply(word)
    return [(word.what, word.pages) for word in words]


def other(what: str, pages: int, *, used: int = 0) -> JobEvent:
    counts = {"limit": MOST, "epoch": 1, "used": used}
    return JobEvent(
        "o", what, False, 1, "scheduler",
        execution_id="run", crawl_spec_id="spec", shard=0, pages=pages, counts=counts,
    )  # fmt: skip


def granted(pages: int, *, size: int = 0, limits: BudgetLimits = PAGES, at_ms: int = 1) -> RunBudgets:
    """Have a part of a budget."""
    budgets = RunBudgets()
    counts = {"limit": limits.run.pages, "limit_bytes": limits.run.bytes, "epoch": OWNER.epoch, "used": 0}
    word = JobEvent(
        "g", "quota_wanted", False, at_ms, "scheduler",
        execution_id="run", crawl_spec_id="spec", shard=3, pages=pages, bytes=size, counts=counts,
    )  # fmt: skip
    budgets.ledger.apply(word)
    return budgets


def test_nothing_is_given_before_the_log_has_the_part() -> None:
    """Asked for when the first entry has its turn, a block at a time; said once."""
    budgets = RunBudgets()

    assert reserve(budgets, 0) is ReservationStatus.MUST_WAIT
    assert told(budgets) == [("quota_wanted", 1)]
    assert told(budgets) == []
    assert [reserve(budgets, 0), reserve(budgets, 1)] == [
        ReservationStatus.GRANTED,
        ReservationStatus.MUST_WAIT,
    ]
    assert told(budgets) == [("quota_wanted", 2)]


def test_a_failure_gives_its_place_back() -> None:
    """Twenty broken links must not eat a budget of twenty pages."""
    budgets = granted(2)
    assert [reserve(budgets, n) for n in range(3)] == [
        ReservationStatus.GRANTED,
        ReservationStatus.GRANTED,
        ReservationStatus.MUST_WAIT,
    ]

    use(budgets, 0, has_page=False)

    assert [reserve(budgets, n) for n in (2, 3)] == [ReservationStatus.GRANTED, ReservationStatus.MUST_WAIT]


def test_a_lease_that_ends_without_a_word_gives_its_place_back() -> None:
    budgets = granted(1)
    reserve(budgets, 0)

    budgets.release_reservation(3, KEY, "3-7-0")

    assert reserve(budgets, 1) is ReservationStatus.GRANTED


def test_repeats_count_once() -> None:
    budgets = granted(2)
    for _ in range(3):
        reserve(budgets, 0)
        use(budgets, 0)

    assert [reserve(budgets, n) for n in (1, 2)] == [ReservationStatus.GRANTED, ReservationStatus.MUST_WAIT]


def test_no_number_is_no_limit_and_nothing_is_kept_of_it() -> None:
    """Such a run may last for years: a name for each of its pages would fill the memory."""
    budgets = RunBudgets()
    free = BudgetLimits()
    for number in range(9):
        use(budgets, number, free)

    assert reserve(budgets, 1, free) is ReservationStatus.GRANTED
    assert told(budgets) == []
    assert not budgets.exhausted_measure(KEY, free, now_ms=1)


def test_what_is_not_needed_goes_back_when_others_wait_for_it() -> None:
    budgets = granted(MOST)
    reserve(budgets, 0)
    use(budgets, 0)
    assert told(budgets, now=9.0) == []

    budgets.ledger.apply(other("quota_wanted", 5))

    assert told(budgets, now=9.0) == [("quota_returned", 1)]
    assert budgets.ledger.share(KEY, 0).allowed == 5


def test_nothing_is_given_of_what_is_on_its_way_back() -> None:
    """Another run may have it by now: the log says who, and it is not read yet."""
    budgets = granted(MOST)
    reserve(budgets, 0)
    use(budgets, 0)
    budgets.ledger.apply(other("quota_wanted", 5))
    [returned] = budgets.pending_claims(OWNER, now=9.0, now_ms=1)

    assert reserve(budgets, 1, now=9.1) is ReservationStatus.MUST_WAIT
    [wanted] = budgets.pending_claims(OWNER, now=9.1, now_ms=1)
    for word in (returned, wanted):
        budgets.ledger.apply(word)
    assert reserve(budgets, 1, now=9.2) is ReservationStatus.GRANTED


def test_a_budget_is_used_up_when_all_of_it_has_come() -> None:
    """Not when all of it is given: the other one may not need what it has."""
    budgets = granted(6)
    budgets.ledger.apply(other("quota_wanted", 2, used=2))
    for number in range(6):
        reserve(budgets, number)
        use(budgets, number)
    assert reserve(budgets, 6) is ReservationStatus.MUST_WAIT

    told(budgets)

    assert ask(budgets, 6) == ReservationResult(ReservationStatus.EXHAUSTED, "pages")
    assert budgets.ledger.exhausted_measure(KEY) == "pages"


def test_an_earlier_owners_part_is_taken_over_with_the_first_word() -> None:
    """Until that is heard, what the earlier one still says may lower it."""
    budgets = granted(4)
    later = ShardOwner(3, 8, 4)

    assert budgets.reserve(a_bid(1, epoch=8), owner=later, now=0.0).status is ReservationStatus.MUST_WAIT
    [word] = budgets.pending_claims(later, now=0.0, now_ms=1)
    budgets.ledger.apply(word)
    assert budgets.reserve(a_bid(1, epoch=8), owner=later, now=0.0).status is ReservationStatus.GRANTED
    assert budgets.ledger.share(KEY, 3).allowed == 4


def test_no_reservation_is_granted_until_a_recount_is_complete() -> None:
    budgets = granted(4)
    budgets.begin_recount(3)
    use(budgets, 0)
    assert reserve(budgets, 1) is ReservationStatus.MUST_WAIT

    budgets.end_recount(3, at=5.0, leased=[a_bid(2)])

    assert reserve(budgets, 1, now=4.9) is ReservationStatus.MUST_WAIT
    assert [reserve(budgets, n, now=5.0) for n in (1, 3, 4)] == [
        ReservationStatus.GRANTED,
        ReservationStatus.GRANTED,
        ReservationStatus.MUST_WAIT,
    ]


def test_what_comes_while_a_shard_is_counted_counts_once() -> None:
    """The truth may know it or not: it is read while outcomes are handled."""
    budgets = granted(
        0, size=1_000, limits=(limits := BudgetLimits(run=BudgetAmount(bytes=1_000), request=PAGE))
    )
    budgets.begin_recount(3)
    use(budgets, 2, limits, size=300)
    cost = BudgetAmount(0, 300, 1)
    budgets.restore_fetch(3, BudgetedFetch(KEY, "entry-2", "www.a.test", limits, 2, True, cost))

    budgets.end_recount(3, at=0.0)

    assert ask(budgets, 9, limits) == ReservationResult(
        ReservationStatus.GRANTED, "", BudgetAmount(1, 700, 30_000)
    )


@pytest.mark.parametrize("how", ["came", "ran out"])
def test_a_lease_that_ends_while_a_shard_is_counted_holds_nothing(how: str) -> None:
    """An earlier reader of the leases may name it all the same: it would never end again."""
    budgets = granted(2)
    budgets.begin_recount(3)
    if how == "came":
        use(budgets, 2, has_page=False)
    else:
        budgets.release_reservation(3, KEY, "3-7-2")

    budgets.end_recount(3, at=0.0, leased=[a_bid(2), a_bid(5)])

    assert [reserve(budgets, n) for n in (6, 7)] == [ReservationStatus.GRANTED, ReservationStatus.MUST_WAIT]


def test_a_page_of_unknown_cost_costs_the_most_until_its_outcome_is_read() -> None:
    """It was settled first, and then the process that read outcomes died."""
    limits = BudgetLimits(run=BudgetAmount(bytes=2_500), request=PAGE)
    budgets = granted(0, size=2_500, limits=limits)
    fetch = BudgetedFetch(KEY, "entry-2", "www.a.test", limits, 2, True, PAGE, is_estimate=True)
    budgets.begin_recount(3)
    budgets.restore_fetch(3, fetch)
    budgets.end_recount(3, at=0.0)
    assert [reserve(budgets, n, limits) for n in (5, 6)] == [
        ReservationStatus.GRANTED,
        ReservationStatus.MUST_WAIT,
    ]

    for _ in range(2):
        use(budgets, 2, limits, size=100)

    assert [reserve(budgets, n, limits) for n in (6, 7)] == [
        ReservationStatus.GRANTED,
        ReservationStatus.MUST_WAIT,
    ]


@pytest.mark.parametrize("is_told", [True, False])
def test_a_page_that_is_settled_before_its_outcome_is_read_holds_nothing_for_ever(is_told: bool) -> None:
    """The outcome may be lost with its fetcher: then all that was set aside counts as spent."""
    limits = BudgetLimits(run=BudgetAmount(bytes=2_500), request=PAGE)
    budgets = granted(0, size=2_500, limits=limits)
    assert [reserve(budgets, n, limits) for n in (1, 2, 3)] == [
        ReservationStatus.GRANTED,
        ReservationStatus.GRANTED,
        ReservationStatus.MUST_WAIT,
    ]
    settled = BudgetedFetch(KEY, "entry-1", "www.a.test", limits, 1, True, PAGE, "1", is_estimate=True)

    for _ in range(2):
        budgets.record_settled_page(3, settled, now=10.0)
    if is_told:
        use(budgets, 1, limits, size=10)
    use(budgets, 2, limits, size=0)
    told(budgets, now=60.0)

    assert ask(budgets, 3, limits, now=60.0) == ReservationResult(ReservationStatus.GRANTED)
    last = ask(budgets, 4, limits, now=60.0)
    assert last == (
        ReservationResult(ReservationStatus.GRANTED)
        if is_told
        else ReservationResult(ReservationStatus.MUST_WAIT)
    )


def test_reported_amounts_stay_spent() -> None:
    """Another run may have the entry by now, and the truth only says the last of it."""
    budgets = granted(MOST)
    for number in range(3):
        reserve(budgets, number)
        use(budgets, number)
    budgets.ledger.apply(other("quota_wanted", MOST))
    told(budgets, now=9.0)

    budgets.begin_recount(3)
    budgets.end_recount(3, at=0.0)

    assert [reserve(budgets, 4, now=9.0), told(budgets, now=9.0)] == [
        ReservationStatus.MUST_WAIT,
        [("quota_wanted", 4)],
    ]


BYTES = BudgetLimits(run=BudgetAmount(bytes=2_500), request=PAGE)


def test_bytes_are_set_aside_at_the_size_of_the_largest_page() -> None:
    budgets = granted(0, size=2_500, limits=BYTES)
    granted_twice = [ReservationResult(ReservationStatus.GRANTED)] * 2
    must_wait = ReservationResult(ReservationStatus.MUST_WAIT)
    assert [ask(budgets, n, BYTES) for n in range(3)] == [*granted_twice, must_wait]

    assert not use(budgets, 0, BYTES, size=100)

    assert reserve(budgets, 2, BYTES) is ReservationStatus.GRANTED


def test_the_last_page_may_have_what_is_left() -> None:
    """No other shard has anything, and nothing comes back: then a smaller page is better than none."""
    budgets = granted(0, size=2_500, limits=BYTES)
    for number in (0, 1):
        reserve(budgets, number, BYTES)
        use(budgets, number, BYTES, size=1_000)

    assert ask(budgets, 2, BYTES) == ReservationResult(
        ReservationStatus.GRANTED, "", BudgetAmount(1, 500, 30_000)
    )
    assert reserve(budgets, 3, BYTES) is ReservationStatus.MUST_WAIT
    assert use(budgets, 2, BYTES, size=490)
    assert reserve(budgets, 3, BYTES) is ReservationStatus.MUST_WAIT
    told(budgets)
    assert ask(budgets, 3, BYTES) == ReservationResult(ReservationStatus.EXHAUSTED, "bytes")


def test_the_time_of_a_run_passes_whatever_it_does() -> None:
    limits = BudgetLimits(run=BudgetAmount(ms=60_000))
    budgets = granted(0, limits=limits, at_ms=1_000)

    before = budgets.reserve(a_bid(1, limits), owner=OWNER, now=0.0, now_ms=60_999)
    after = budgets.reserve(a_bid(2, limits), owner=OWNER, now=0.0, now_ms=61_000)

    assert [before, after] == [
        ReservationResult(ReservationStatus.GRANTED),
        ReservationResult(ReservationStatus.EXHAUSTED, "seconds"),
    ]
    assert list(budgets.budgets_out_of_time(3, now_ms=61_000)) == [KEY]
    assert list(budgets.budgets_out_of_time(3, now_ms=60_999)) == []


@pytest.mark.parametrize(
    ("most", "size", "ms", "given", "detail"),
    [
        pytest.param(BudgetAmount(pages=2), 1, 1, [None, None], "pages of host www.a.test", id="pages"),
        pytest.param(
            BudgetAmount(bytes=1_500), 1_000, 1, [None, 500], "bytes of host www.a.test", id="bytes"
        ),
        pytest.param(
            BudgetAmount(ms=32_000), 1, 29_000, [None, 3_000], "seconds of host www.a.test", id="time"
        ),
    ],
)
def test_hosts_have_limits_of_their_own(
    most: BudgetAmount, size: int, ms: int, given: list[int | None], detail: str
) -> None:
    """The last request may have what is left of bytes and time, and then the host is over."""
    limits = BudgetLimits(host=most, request=PAGE)
    budgets = granted(0, limits=limits)
    amounts = []
    for number, wanted in enumerate(given):
        answer = ask(budgets, number, limits)
        assert answer.status is ReservationStatus.GRANTED
        assert ask(budgets, number + 50, limits).status is (
            ReservationStatus.MUST_WAIT if most.pages != 2 or number else ReservationStatus.GRANTED
        )
        budgets.release_reservation(3, KEY, f"3-7-{number + 50}")
        amounts.append(wanted and (answer.amount.bytes if most.bytes else answer.amount.ms))
        use(
            budgets,
            number,
            limits,
            size=min(size, answer.amount.bytes or size),
            ms=min(ms, answer.amount.ms or ms),
        )

    assert amounts == given
    assert ask(budgets, 9, limits) == ReservationResult(ReservationStatus.EXHAUSTED, detail)
    assert budgets.exhausted_local_limit(3, KEY, "www.a.test") == detail
    assert not budgets.exhausted_local_limit(3, KEY, "www.b.test")


def test_the_hosts_of_a_domain_share_its_budget() -> None:
    limits = BudgetLimits(domain=BudgetAmount(pages=1))
    budgets = granted(0, limits=limits)
    reserve(budgets, 0, limits)
    use(budgets, 0, limits)

    elsewhere = ReservationRequest(KEY, "3-7-8", "entry-8", "shop.a.test", limits)

    answer = budgets.reserve(elsewhere, owner=OWNER, now=0.0)
    assert answer == ReservationResult(ReservationStatus.EXHAUSTED, "pages of domain a.test")


def test_the_next_owner_reads_that_a_run_has_limits_here() -> None:
    """Else the pages of its hosts would not be counted, when the shard moves."""
    limits = BudgetLimits(host=BudgetAmount(pages=5))
    budgets = RunBudgets()

    assert reserve(budgets, 0, limits) is ReservationStatus.MUST_WAIT
    assert told(budgets) == [("quota_wanted", 0)]
    assert reserve(budgets, 0, limits) is ReservationStatus.GRANTED
    assert list(budgets.ledger.budgets_of_shard(3)) == [KEY]


DAY_MS = 86_400_000


@pytest.mark.fault("B5", part="budgets of ended runs in memory")
def test_budgets_of_ended_runs_are_forgotten_once_no_log_has_them() -> None:
    budgets = granted(4, at_ms=1)
    assert reserve(budgets, 1) is ReservationStatus.GRANTED

    def forget(day: int, *, open_runs: frozenset[str] = frozenset()) -> bool:
        budgets.forget_ended(3, open_runs, now_ms=day * DAY_MS, keep_ms=30 * DAY_MS)
        return not budgets.ledger.is_known(KEY)

    assert not forget(40)  # a request is in flight
    use(budgets, 1)
    assert not forget(41, open_runs=frozenset({"run"}))
    assert not forget(42)
    assert not forget(71)
    assert not forget(72)
    assert forget(73)
    assert list(budgets.pending_claims(OWNER, now=1.0, now_ms=73 * DAY_MS)) == []

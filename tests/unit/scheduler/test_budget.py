"""Places of a budget within one shard: reserved, used, given back; and what the shard says of them."""

from __future__ import annotations

from strider.contracts.generated.events import JobEvent
from strider.scheduler.core import Grant, Owner, PageBudgets

OWNER = Owner(3, 7, 4)
MOST = 8


def reserve(budgets: PageBudgets, number: int, *, now: float = 0.0) -> Grant:
    return budgets.reserve("run", f"3-7-{number}", f"entry-{number}", most=MOST, owner=OWNER, now=now)


def use(budgets: PageBudgets, number: int) -> None:
    budgets.use(3, "run", f"entry-{number}", most=MOST, lease_id=f"3-7-{number}")


def told(budgets: PageBudgets, *, now: float = 0.0) -> list[tuple[str, int]]:
    """Hear the shard's own words, as the log gives them back."""
    words = list(budgets.words(OWNER, now=now, now_ms=1))
    for word in words:
        budgets.ledger.take(word)
    return [(word.what, word.pages) for word in words]


def other(what: str, pages: int, *, used: int = 0) -> JobEvent:
    counts = {"limit": MOST, "epoch": 1, "used": used}
    return JobEvent("o", what, False, 1, "scheduler", execution_id="run", shard=0, pages=pages, counts=counts)


def granted(pages: int) -> PageBudgets:
    """Have a part of a budget."""
    budgets = PageBudgets()
    counts = {"limit": MOST, "epoch": OWNER.epoch, "used": 0}
    word = JobEvent(
        "g", "quota_wanted", False, 1, "scheduler", execution_id="run", shard=3, pages=pages, counts=counts
    )
    budgets.ledger.take(word)
    return budgets


def test_nothing_is_given_before_the_log_has_the_part() -> None:
    """Asked for when the first entry has its turn, a block at a time; said once."""
    budgets = PageBudgets()

    assert reserve(budgets, 0) is Grant.FULL
    assert told(budgets) == [("quota_wanted", 1)]
    assert told(budgets) == []
    assert [reserve(budgets, 0), reserve(budgets, 1)] == [Grant.GIVEN, Grant.FULL]
    assert told(budgets) == [("quota_wanted", 2)]


def test_a_failure_gives_its_place_back() -> None:
    """Twenty broken links must not eat a budget of twenty pages."""
    budgets = granted(2)
    assert [reserve(budgets, n) for n in range(3)] == [Grant.GIVEN, Grant.GIVEN, Grant.FULL]

    budgets.give_back(3, "run", "3-7-0")

    assert [reserve(budgets, n) for n in (2, 3)] == [Grant.GIVEN, Grant.FULL]


def test_repeats_count_once() -> None:
    budgets = granted(2)
    for _ in range(3):
        reserve(budgets, 0)
        use(budgets, 0)

    assert [reserve(budgets, n) for n in (1, 2)] == [Grant.GIVEN, Grant.FULL]


def test_no_number_is_no_limit_and_nothing_is_kept_of_it() -> None:
    """Such a run may go on for years: a name for each of its pages would fill the memory."""
    budgets = PageBudgets()
    for number in range(9):
        budgets.use(3, "run", f"entry-{number}", most=0)

    assert budgets.reserve("run", "3-7-1", "entry", most=0, owner=OWNER, now=0.0) is Grant.GIVEN
    assert told(budgets) == []
    assert not budgets.is_used_up("run", most=0)


def test_what_is_not_needed_goes_back_when_others_wait_for_it() -> None:
    budgets = granted(MOST)
    reserve(budgets, 0)
    use(budgets, 0)
    assert told(budgets, now=9.0) == []

    budgets.ledger.take(other("quota_wanted", 5))

    assert told(budgets, now=9.0) == [("quota_returned", 1)]
    assert budgets.ledger.share("run", 0).allowed == 5


def test_a_budget_is_used_up_when_all_of_it_has_come() -> None:
    """Not when all of it is given: somebody may not need what he has."""
    budgets = granted(6)
    budgets.ledger.take(other("quota_wanted", 2, used=2))
    for number in range(6):
        reserve(budgets, number)
        use(budgets, number)
    assert reserve(budgets, 6) is Grant.FULL

    told(budgets)

    assert reserve(budgets, 6) is Grant.USED_UP
    assert budgets.is_used_up("run", most=MOST)


def test_an_earlier_owners_part_is_taken_over_with_the_first_word() -> None:
    """Until that is heard, what the earlier one still says may lower it."""
    budgets = granted(4)
    later = Owner(3, 8, 4)

    assert budgets.reserve("run", "3-8-1", "e", most=MOST, owner=later, now=0.0) is Grant.FULL
    [word] = budgets.words(later, now=0.0, now_ms=1)
    budgets.ledger.take(word)
    assert budgets.reserve("run", "3-8-1", "e", most=MOST, owner=later, now=0.0) is Grant.GIVEN
    assert budgets.ledger.share("run", 3).allowed == 4


def test_a_shard_that_is_counted_asks_for_nothing() -> None:
    budgets = granted(4)
    budgets.begin_count(3)
    use(budgets, 0)
    assert reserve(budgets, 1) is Grant.FULL

    budgets.end_count(3, at=5.0, leased={"2": ("run", "entry-2")})

    assert reserve(budgets, 1, now=4.9) is Grant.FULL
    assert [reserve(budgets, n, now=5.0) for n in (1, 3, 4)] == [Grant.GIVEN, Grant.GIVEN, Grant.FULL]

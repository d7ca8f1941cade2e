"""What is done with an entry whose turn it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.words import RobotsState
from strider.politeness import OriginRobots
from strider.politeness.backoff import BackOff
from strider.scheduler.core import (
    NO_RULES,
    Grant,
    PageBudgets,
    Rules,
    Step,
    Surroundings,
    Turn,
    new_group,
    rules_of,
    turn,
    within_budget,
)

from .builders import NOW, a_spec, an_entry

OPEN = rules_of(OriginRobots(state=RobotsState.ABSENT, expires_at_ms=NOW + 1))


def around(rules: Rules = OPEN, *, rest: BackOff | None = None, **changes: Any) -> Surroundings:
    group = new_group("www.a.test", delay_seconds=1)
    group = group if rest is None else replace(group, rest=rest)
    return replace(Surroundings(a_spec(), group, rules, "Strider/1", NOW), **changes)


def test_what_nothing_speaks_against_is_asked_for() -> None:
    assert turn(an_entry(), around()) == Turn(Step.ASK, an_entry())


def test_unknown_robots_are_asked_for_first() -> None:
    assert turn(an_entry(), around(NO_RULES)).step is Step.ROBOTS


@pytest.mark.req("S3.8.4")
def test_a_forbidden_url_is_closed_and_told() -> None:
    rules = rules_of(
        OriginRobots(state=RobotsState.FETCHED, text="User-agent: *\nDisallow: /", expires_at_ms=NOW + 1)
    )

    result = turn(an_entry(), around(rules))

    assert result.step is Step.CLOSE
    assert result.ended is not None
    (line,) = result.ended.lines
    assert (line.decision, line.reason) == ("closed", "robots_denied")
    assert (result.entry.state, result.entry.reason) == ("failed", "robots_denied")


def test_a_lost_spec_closes_the_entry() -> None:
    assert turn(an_entry(), around(spec=None)).entry.reason == "unknown_spec"


@pytest.mark.req("S3.5.4")
def test_a_resting_host_is_waited_for() -> None:
    rest = BackOff(count=1, until_ms=NOW + 60_000, since_ms=NOW)

    result = turn(an_entry(), around(rest=rest))

    assert (result.step, result.entry.due_at_ms) == (Step.WAIT, NOW + 60_000)
    assert result.entry.reason == "host_backs_off"


def test_but_no_longer_than_the_patience() -> None:
    rest = BackOff(count=1, until_ms=NOW + 3_600_000, since_ms=NOW - 120_000)
    entry = an_entry(discovered_at_ms=NOW - 500_000)

    result = turn(entry, around(rest=rest, spec=a_spec(host_patience_seconds=120)))

    assert (result.step, result.entry.reason) == (Step.CLOSE, "host_unavailable")


def test_a_budget_closes_what_is_left() -> None:
    result = within_budget(Turn(Step.ASK, an_entry()), Grant.USED_UP, NOW)

    assert (result.step, result.entry.reason) == (Step.CLOSE, "budget")


def test_what_may_still_be_left_of_a_budget_is_waited_for() -> None:
    result = within_budget(Turn(Step.ASK, an_entry()), Grant.FULL, NOW)

    assert result.step is Step.WAIT
    assert result.entry.due_at_ms > NOW


def reserve(budgets: PageBudgets, number: int) -> Grant:
    return budgets.reserve("run", f"lease-{number}", f"entry-{number}", most=2)


def test_a_run_never_fetches_more_than_it_may() -> None:
    budgets = PageBudgets()

    assert [reserve(budgets, n) for n in range(3)] == [Grant.GIVEN, Grant.GIVEN, Grant.FULL]
    budgets.use("run", "entry-0", most=2, lease_id="lease-0")
    budgets.use("run", "entry-1", most=2, lease_id="lease-1")
    assert reserve(budgets, 2) is Grant.USED_UP
    assert budgets.is_used_up("run", most=2)


def test_a_failure_gives_its_place_back() -> None:
    """Twenty broken links must not eat a budget of twenty pages."""
    budgets = PageBudgets()
    reserve(budgets, 0)
    reserve(budgets, 1)

    budgets.give_back("run", "lease-0")

    assert reserve(budgets, 2) is Grant.GIVEN
    assert reserve(budgets, 3) is Grant.FULL


def test_repeats_count_once() -> None:
    budgets = PageBudgets()
    for _ in range(3):
        reserve(budgets, 0)
        budgets.use("run", "entry-0", most=2, lease_id="lease-0")

    assert reserve(budgets, 1) is Grant.GIVEN


def test_no_number_is_no_limit_and_nothing_is_kept_of_it() -> None:
    """Such a run may go on for years: a name for each of its pages would fill the memory."""
    budgets = PageBudgets()
    for number in range(9):
        budgets.use("run", f"entry-{number}", most=0)

    assert budgets.reserve("run", "lease", "entry", most=0) is Grant.GIVEN
    assert not budgets.is_used_up("run", most=0)
    assert not budgets.is_used_up("run", most=1)


def test_leases_of_a_shard_that_goes_give_their_places_back() -> None:
    """Their outcomes come to somebody else, or never; a place that stays taken holds up the run for ever."""
    budgets = PageBudgets()
    assert budgets.reserve("run", "1-a-1", "entry-0", most=2) is Grant.GIVEN
    assert budgets.reserve("run", "11-a-1", "entry-1", most=2) is Grant.GIVEN

    budgets.give_back_shard(1)

    grants = [budgets.reserve("run", f"2-a-{number}", f"entry-{number}", most=2) for number in (3, 4)]
    assert grants == [Grant.GIVEN, Grant.FULL]

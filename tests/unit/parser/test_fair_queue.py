"""Time of the parser is shared by halves, flows and host groups; what a page costs is known afterwards."""

from __future__ import annotations

from collections import Counter

import pytest

from strider.parser.core.fair_queue import FairQueue
from strider.parser.core.parsing_costs import (
    HALF_LIFE_SECONDS,
    MAX_SENDERS,
    MIN_DEADLINES,
    USUAL_SECONDS,
    CostHistory,
    PageSender,
    page_sender,
)

OWNER = page_sender("crawl-1", "www.owner.test")
OTHER_OWNER = page_sender("crawl-2", "www.other.test")
RAW = page_sender("adhoc-1", "www.raw.test")
DEADLINE = 2.0


def spend(queue: FairQueue[int], costs: dict[PageSender, float], *, seconds: float) -> Counter[PageSender]:
    """Let pages of these sources wait always, and spend some time; return the pages of each."""
    for source in costs:
        for number in range(2):
            queue.put(source, number)
    spent, pages = 0.0, Counter[PageSender]()
    while spent < seconds:
        source = queue.next_source()
        assert source is not None
        queue.take(source)
        queue.charge(source, costs[source])
        queue.put(source, 0)
        spent += costs[source]
        pages[source] += 1
    return pages


@pytest.mark.fault("C2", part="shares of the parser's time")
def test_senders_share_the_time_and_not_the_pages() -> None:
    costs = {OWNER: 0.02, RAW: DEADLINE}

    pages = spend(FairQueue(), costs, seconds=100)

    assert pages[OWNER] * costs[OWNER] == pytest.approx(50, abs=DEADLINE)


def test_owners_have_half_of_the_time_however_many_raw_runs_there_are() -> None:
    raw = {page_sender(f"raw.{number}", f"h{number}.test"): 1.0 for number in range(100)}

    pages = spend(FairQueue(), {OWNER: 0.05, OTHER_OWNER: 0.05, **raw}, seconds=200)

    assert OWNER.flow != OTHER_OWNER.flow
    assert pages[OWNER] * 0.05 == pytest.approx(50, abs=2)
    assert pages[OTHER_OWNER] * 0.05 == pytest.approx(50, abs=2)


def test_hosts_of_one_run_share_its_time() -> None:
    slow = page_sender(OWNER.execution_id, "slow.owner.test")

    pages = spend(FairQueue(), {OWNER: 0.02, slow: DEADLINE}, seconds=100)

    assert pages[OWNER] * 0.02 == pytest.approx(50, abs=DEADLINE)


def test_a_sender_who_waited_for_nothing_has_saved_nothing_up() -> None:
    queue: FairQueue[int] = FairQueue()
    spend(queue, {OWNER: 1.0}, seconds=100)

    pages = spend(queue, {RAW: 1.0, OWNER: 1.0}, seconds=20)

    assert pages[RAW] == pytest.approx(10, abs=1)


def test_pages_of_a_host_keep_their_order_and_may_be_removed() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in range(4):
        queue.put(OWNER, number)
    queue.remove(OWNER, 1)

    assert [item for _, item in queue] == [0, 2, 3]
    assert [queue.take(OWNER) for _ in range(len(queue))] == [0, 2, 3]
    assert (len(queue), queue.next_source()) == (0, None)


def test_a_charge_that_was_too_high_is_given_back() -> None:
    queue: FairQueue[int] = FairQueue()
    for source in (OWNER, OTHER_OWNER):
        queue.put(source, 0)
    first = queue.next_source()
    assert first is not None
    queue.charge(first, 10.0)
    queue.charge(first, -10.0)

    assert queue.next_source() == first


@pytest.mark.parametrize(
    ("source", "cost", "is_expensive"),
    [
        pytest.param(RAW, DEADLINE, True, id="raw pages at the deadline"),
        pytest.param(RAW, DEADLINE / 4, True, id="raw pages of a quarter of it"),
        pytest.param(RAW, DEADLINE / 5, False, id="heavy raw pages"),
        pytest.param(OWNER, DEADLINE, True, id="an owner's pages at the deadline"),
        pytest.param(OWNER, DEADLINE / 2, False, id="heavy pages of an owner"),
    ],
)
def test_pages_are_expensive_by_their_mean_cost(source: PageSender, cost: float, is_expensive: bool) -> None:
    costs = CostHistory(page_seconds=DEADLINE)
    pages = round(MIN_DEADLINES * DEADLINE / cost) + 1

    for _ in range(pages):
        costs.add(source, cost, now=0.0)

    assert costs.is_expensive(source, now=0.0) is is_expensive
    assert costs.expected_seconds(source, now=0.0) == pytest.approx(cost)
    assert not costs.is_expensive(source, now=10 * HALF_LIFE_SECONDS)


def test_one_page_at_the_deadline_makes_no_sender_expensive() -> None:
    costs = CostHistory(page_seconds=DEADLINE)
    costs.add(RAW, DEADLINE, now=0.0)

    assert not costs.is_expensive(RAW, now=0.0)


def test_new_names_of_raw_runs_do_not_hide_a_host() -> None:
    costs = CostHistory(page_seconds=DEADLINE)
    for number in range(5):
        costs.add(page_sender(f"raw.{number}", RAW.group), DEADLINE, now=0.0)

    assert costs.is_expensive(page_sender("raw.new", RAW.group), now=0.0)


def test_raw_senders_do_not_make_the_pages_of_an_owner_expensive() -> None:
    """They choose which pages of a host are fetched for them."""
    costs = CostHistory(page_seconds=DEADLINE)
    for _ in range(5):
        costs.add(page_sender("raw.x", OWNER.group), DEADLINE, now=0.0)

    assert not costs.is_expensive(OWNER, now=0.0)
    assert costs.expected_seconds(OWNER, now=0.0) == USUAL_SECONDS


def test_the_memory_of_costs_is_bounded() -> None:
    costs = CostHistory(page_seconds=DEADLINE)
    for number in range(MAX_SENDERS + 10):
        costs.add(page_sender("run", str(number)), 0.1, now=0.0)

    assert not costs.is_known(page_sender("run", "0"))
    assert costs.is_known(page_sender("run", str(MAX_SENDERS)))

"""Turns of flows and priorities: shares by weight, nothing idle, nothing starved."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.frontier.turns import (
    FLOWS_PER_HALF,
    FlowTurns,
    QueueTurns,
    flow_of,
    flow_of_queue,
    queue_number,
)

QUEUES = st.sets(st.integers(0, 8 * FLOWS_PER_HALF - 1), min_size=1, max_size=12)


def served(due: set[int], turns: int) -> Counter[int]:
    """Serve queues that always have something due."""
    state, counts = QueueTurns(), Counter[int]()
    for _ in range(turns):
        queue = state.next_queue(due)
        state.serve(queue, due)
        counts[queue] += 1
    return counts


@pytest.mark.parametrize(
    ("priorities", "shares"),
    [
        pytest.param({3, 2, 1, 0}, {3: 80, 2: 40, 1: 20, 0: 10}, id="all"),
        pytest.param({3, 0}, {3: 80, 0: 10}, id="highest-and-lowest"),
        pytest.param({1, 0}, {1: 20, 0: 10}, id="lowest-two"),
        pytest.param({0}, {0: 10}, id="alone"),
    ],
)
def test_priorities_share_by_weight(priorities: set[int], shares: dict[int, int]) -> None:
    due = {queue_number("run", priority): priority for priority in priorities}

    counts = served(set(due), sum(shares.values()))

    assert {due[queue]: count for queue, count in counts.items()} == shares


def test_the_highest_priority_is_served_first() -> None:
    turns = QueueTurns()

    assert turns.next_queue({queue_number("run", priority) for priority in range(4)}) % 4 == 3


@given(QUEUES)
def test_owners_and_raw_senders_take_turns_and_in_each_half_all_flows(due: set[int]) -> None:
    counts = served(due, 15 * 64 * 2)
    flows = {flow_of_queue(queue) for queue in due}
    by_flow = Counter[int]()
    for queue, count in counts.items():
        by_flow[flow_of_queue(queue)] += count

    assert set(counts) == due
    for half in (0, 1):
        own = [flow for flow in flows if flow // FLOWS_PER_HALF == half]
        if own:
            share = (
                15 * 64 * 2 / (2 if len({flow // FLOWS_PER_HALF for flow in flows}) == 2 else 1) / len(own)
            )
            assert all(abs(by_flow[flow] - share) <= 1 for flow in own)


def test_one_run_of_an_owner_has_half_of_all_turns_beside_any_number_of_raw_runs() -> None:
    raw = {queue_number(f"raw.{number}", 3) for number in range(1_000)}
    own = queue_number("nightly", 0)

    assert served({own, *raw}, 1_000)[own] == 500


@given(st.text(max_size=30))
def test_a_run_has_one_flow_and_raw_senders_have_none_of_an_owners(name: str) -> None:
    assert flow_of(f"raw.{name}") >= FLOWS_PER_HALF
    assert flow_of(f"raw-{name}") >= FLOWS_PER_HALF
    assert flow_of(f"adhoc-{name}") >= FLOWS_PER_HALF
    assert 0 <= flow_of(f"run {name}") < FLOWS_PER_HALF


@given(QUEUES, st.integers(0, 40))
def test_a_group_serves_the_best_queue_of_the_next_flow(queues: set[int], before: int) -> None:
    turns = FlowTurns()
    for _ in range(before):
        turns.serve(flow_of_queue(turns.next_queue(queues)))

    queue = turns.next_queue(queues)

    assert queue % 4 == max(each % 4 for each in queues if flow_of_queue(each) == flow_of_queue(queue))

"""Debts of flows for slow requests: who gets their time, and that no queue waits for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.frontier.time_debts import ACTIVE_MS, NEVER, RAW_TIMES, TimeDebts
from strider.frontier.turns import FLOWS_PER_HALF, flow_of_queue, is_of_owner

pytestmark = pytest.mark.fault("A20", part="turns on a host are shares of its time")

FLOW = st.integers(0, 2 * FLOWS_PER_HALF - 1)
OWNER, OTHER_OWNER, RAW, OTHER_RAW = 3, 5, FLOWS_PER_HALF + 3, FLOWS_PER_HALF + 5
TURN_MS, TOOK_MS = 500, 1_500
EXCESS_MS = TOOK_MS - TURN_MS


def charged(flow: int, *waiting: int, debts: TimeDebts | None = None, took_ms: int = TOOK_MS) -> TimeDebts:
    """Charge a request that ended at 0."""
    debts = debts or TimeDebts()
    debts.charge(flow, took_ms, waiting, turn_ms=TURN_MS, now_ms=0)
    return debts


@pytest.mark.parametrize(
    ("flow", "waiting", "until_ms", "raw_until_ms"),
    [
        pytest.param(RAW, [RAW], None, 0, id="raw-alone"),
        pytest.param(RAW, [RAW, OTHER_RAW], EXCESS_MS, 0, id="raw-beside-raw"),
        pytest.param(RAW, [OWNER, OTHER_RAW], RAW_TIMES * EXCESS_MS, TOOK_MS, id="raw-beside-owner"),
        pytest.param(OWNER, [RAW], None, 0, id="owner-beside-raw"),
        pytest.param(OWNER, [RAW, OTHER_OWNER], EXCESS_MS, 0, id="owner-beside-owner"),
    ],
)
def test_a_flow_owes_to_those_that_waited(
    flow: int, waiting: list[int], until_ms: int | None, raw_until_ms: int
) -> None:
    debts = charged(flow, *waiting)

    assert {each: debt.until_ms for each, debt in debts.by_flow.items()} == (
        {} if until_ms is None else {flow: until_ms}
    )
    assert debts.raw_until_ms == raw_until_ms


@pytest.mark.parametrize(("part", "left"), [(1, 0), (2, 0.75), (10, 0.99)])
def test_slow_requests_of_an_owner_pay_back_by_the_square(part: int, left: float) -> None:
    debts = charged(RAW, OWNER)

    charged(OWNER, RAW, debts=debts, took_ms=TURN_MS + EXCESS_MS // part)

    assert debts.by_flow[RAW].until_ms == RAW_TIMES * EXCESS_MS * left


def test_a_shorter_debt_replaces_no_longer_one() -> None:
    debts = charged(RAW, OWNER)

    assert charged(RAW, OTHER_RAW, debts=debts) == charged(RAW, OWNER)


@given(
    st.lists(st.tuples(FLOW, st.sets(FLOW, max_size=4), st.integers(TURN_MS + 1, 30_000)), max_size=6),
    st.sets(st.integers(0, 8 * FLOWS_PER_HALF - 1), min_size=1, max_size=6),
    FLOW,
)
def test_some_queue_may_always_go_and_an_owners_at_once(
    slow: list[tuple[int, set[int], int]], queues: set[int], last_flow: int
) -> None:
    """Others wait at most for a flow that was served a moment ago."""
    debts = TimeDebts()
    for flow, waiting, took_ms in slow:
        charged(flow, *waiting, debts=debts, took_ms=took_ms)
    at_ms, chosen = 1, []
    for _ in range(4):
        chosen, resume_ms = debts.select(sorted(queues), at_ms, last_flow=last_flow, last_turn_ms=0)
        if chosen:
            break
        assert at_ms < resume_ms <= ACTIVE_MS
        at_ms = resume_ms

    assert chosen
    assert set(chosen) <= queues
    assert resume_ms == NEVER
    if any(map(is_of_owner, queues)):
        assert at_ms == 1
        assert any(map(is_of_owner, chosen))
    owing = {flow for flow, debt in debts.by_flow.items() if debt.until_ms > at_ms}
    if {flow_of_queue(queue) for queue in queues} - owing and not any(map(is_of_owner, queues)):
        assert not {flow_of_queue(queue) for queue in chosen} & owing

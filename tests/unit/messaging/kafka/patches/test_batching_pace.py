"""When a client of the broker rests between round trips, and for how long."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from strider.messaging.kafka.patches.batching_pace import BatchingPace, pace_fetches, pace_sends

MOST_SECONDS = 0.05


class Watch:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def pace(watch: Watch) -> BatchingPace:
    return BatchingPace(MOST_SECONDS, monotonic=watch)


@pytest.mark.parametrize(
    ("carried", "rests_seconds"),
    [
        pytest.param([], 0.0, id="nothing-yet"),
        pytest.param([1, 1, 1], 0.0, id="one-url-walks-the-pipeline"),
        pytest.param([2], 0.005, id="several"),
        pytest.param([2, 5], 0.01, id="several-again"),
        pytest.param([2] * 10, MOST_SECONDS, id="a-steady-flow"),
        pytest.param([2] * 10 + [1], MOST_SECONDS / 2, id="less"),
        pytest.param([2] * 10 + [1] * 4, 0.0, id="single-ones-again"),
        pytest.param([2] * 10 + [0], 0.0, id="quiet"),
    ],
)
def test_a_rest_grows_while_it_pays(pace: BatchingPace, carried: list[int], rests_seconds: float) -> None:
    """A message that comes alone must not wait, and a flow must not be carried one by one."""
    for messages in carried:
        pace.record_round_trip(messages)
    assert pace.pause_left_seconds == pytest.approx(rests_seconds)


def test_a_rest_ends_with_its_time(pace: BatchingPace, watch: Watch) -> None:
    pace.record_round_trip(2)
    watch.now += 0.003
    assert pace.pause_left_seconds == pytest.approx(0.002)
    watch.now += 0.003
    assert pace.pause_left_seconds == 0.0


def test_a_back_log_is_worked_off_without_rests(pace: BatchingPace) -> None:
    """What was cut off at the size of a poll is here already: waiting brings nothing."""
    for _ in range(10):
        pace.record_round_trip(500, is_full=True)
    assert pace.pause_left_seconds == 0.0


def test_no_rest_is_taken_where_none_is_allowed(watch: Watch) -> None:
    pace = BatchingPace(0.0, monotonic=watch)
    pace.record_round_trip(100)
    assert pace.pause_left_seconds == 0.0


def test_a_fetch_waits_and_nothing_else_does(pace: BatchingPace) -> None:
    """Positions that have to be looked up first must not wait for a rest."""
    fetcher = SimpleNamespace(_get_actions_per_node=lambda _: (["fetch"], {0: ["t"]}, 0.2, True, ["resume"]))
    pace_fetches(SimpleNamespace(_fetcher=fetcher), pace)
    assert fetcher._get_actions_per_node(None) == (["fetch"], {0: ["t"]}, 0.2, True, ["resume"])
    pace.record_round_trip(2)
    fetches, resets, patience, is_stale, resumes = fetcher._get_actions_per_node(None)
    assert (fetches, resets, is_stale, resumes) == ([], {0: ["t"]}, True, ["resume"])
    assert patience == pytest.approx(0.005)


def test_during_a_rest_partitions_are_not_looked_through_again(pace: BatchingPace, watch: Watch) -> None:
    """With dozens of partitions that was a fifteenth of a service; a new assignment is looked at."""
    looked: list[str] = []

    def plan(assignment: str) -> Any:
        looked.append(assignment)
        return ["fetch"], {}, 0.2, False, []

    fetcher = SimpleNamespace(_get_actions_per_node=plan)
    pace_fetches(SimpleNamespace(_fetcher=fetcher), pace)
    assert fetcher._get_actions_per_node("first")[0] == ["fetch"]
    pace.record_round_trip(2)

    for assignment in ("first", "first", "second"):
        assert fetcher._get_actions_per_node(assignment)[:2] == ([], {})
    watch.now += 1.0

    assert fetcher._get_actions_per_node("second")[0] == ["fetch"]
    assert looked == ["first", "second", "second"]


class Accumulator:
    """As much of the library's accumulator as is paced: batches by node, and the waiting tasks."""

    def __init__(self) -> None:
        self.batches: dict[int, dict[str, Any]] = {}
        self._cluster = SimpleNamespace(brokers=lambda: [SimpleNamespace(nodeId=1)])
        self._waiter_future = asyncio.get_running_loop().create_future()
        self._wakeup_handle: Any = None

    def drain_by_nodes(self, ignore_nodes: Any, _muted: Any = frozenset()) -> Any:
        self._waiter_future = asyncio.get_running_loop().create_future()
        taken = {node: batches for node, batches in self.batches.items() if node not in ignore_nodes}
        for node in taken:
            del self.batches[node]
        return taken, False

    @staticmethod
    def _wakeup(waiter: asyncio.Future[None]) -> None:
        waiter.set_result(None)


async def test_what_comes_during_a_rest_is_sent_after_it() -> None:
    """The sender must be woken after the pause: no other event may ever come."""
    pace, accumulator = BatchingPace(0.02), Accumulator()
    pace_sends(SimpleNamespace(_message_accumulator=accumulator), pace)
    accumulator.batches[1] = {"t": SimpleNamespace(record_count=3)}
    assert list(accumulator.drain_by_nodes(set())[0]) == [1]
    accumulator.batches[1] = {"t": SimpleNamespace(record_count=1)}
    assert accumulator.drain_by_nodes(set()) == ({}, False)
    await asyncio.wait_for(accumulator._waiter_future, 1)
    assert list(accumulator.drain_by_nodes(set())[0]) == [1]

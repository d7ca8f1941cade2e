"""Retry policies return exactly the documented waits."""

from __future__ import annotations

from itertools import takewhile
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.politeness import (
    DB_WRITE_RETRY,
    FETCH_RETRY,
    INFRASTRUCTURE_RETRY,
    REDIS_RETRY,
    ROBOTS_RETRY,
    RetryPolicy,
)


class Lowest:
    """Random source that adds nothing."""

    def uniform(self, low: float, high: float) -> float:
        return low


class Highest:
    """Random source that adds the maximum."""

    def uniform(self, low: float, high: float) -> float:
        return high


def _waits(policy: RetryPolicy, chance: Lowest | Highest) -> list[float]:
    return list(
        takewhile(
            lambda wait: wait is not None, (policy.wait_seconds(number, chance) for number in range(1, 9))
        )
    )


@pytest.mark.parametrize(
    ("policy", "waits", "deadline_seconds"),
    [
        pytest.param(FETCH_RETRY, [1, 2, 4], 30, id="fetch", marks=pytest.mark.req("S3.19.4")),
        pytest.param(ROBOTS_RETRY, [2, 4], 10, id="robots"),
        pytest.param(DB_WRITE_RETRY, [0.1, 0.2, 0.4], 5, id="db-write", marks=pytest.mark.req("S3.19.6")),
        pytest.param(REDIS_RETRY, [0.1, 0.1, 0.1], 1, id="redis", marks=pytest.mark.req("S3.19.7")),
    ],
)
def test_waits_are_those_of_the_table(
    policy: RetryPolicy, waits: list[float], deadline_seconds: float
) -> None:
    """Numbers that operators rely on."""
    assert _waits(policy, Lowest()) == waits
    assert policy.deadline_seconds == deadline_seconds


@pytest.mark.req("S3.19.8")
@pytest.mark.parametrize(
    "policy",
    [FETCH_RETRY, ROBOTS_RETRY, DB_WRITE_RETRY, REDIS_RETRY],
    ids=["fetch", "robots", "db", "redis"],
)
def test_jitter_stays_below_half_a_second_and_within_the_deadline(policy: RetryPolicy) -> None:
    """More than the wait itself would push the last retry past the deadline."""
    plain, late = _waits(policy, Lowest()), _waits(policy, Highest())

    assert all(0 < high - low <= 0.5 for low, high in zip(plain, late, strict=True))
    assert sum(late) < policy.deadline_seconds


@given(st.integers(min_value=1, max_value=10**9))
def test_infrastructure_is_waited_for_without_end(attempt: int) -> None:
    """A broker that is down for a night must be retried at least every half minute."""
    wait = INFRASTRUCTURE_RETRY.wait_seconds(attempt, Highest())

    assert wait is not None
    assert 0.5 <= wait <= 30.5
    assert inf == INFRASTRUCTURE_RETRY.deadline_seconds


@pytest.mark.parametrize(
    "change",
    [{"retries": -1}, {"first_seconds": 0}, {"factor": 0.5}, {"cap_seconds": 0.5}, {"deadline_seconds": 0}],
    ids=lambda change: next(iter(change)),
)
def test_nonsense_is_no_policy(change: dict[str, float]) -> None:
    """A policy that never waits would flood a server that is down."""
    sound = {
        "retries": 1,
        "first_seconds": 1,
        "factor": 1,
        "cap_seconds": 1,
        "jitter_seconds": 0,
        "deadline_seconds": 9,
    }

    with pytest.raises(ValueError, match="invalid retry policy"):
        RetryPolicy(**(sound | change))

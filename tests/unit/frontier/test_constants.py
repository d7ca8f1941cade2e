"""Names of leases, and numbers that never come twice."""

from __future__ import annotations

from typing import Any

import pytest

from strider.contracts.generated.events import EntryRecorded
from strider.frontier.constants import first_sequence, lease_id, parse_lease_id, queue_priority


def test_a_lease_is_named_by_shard_epoch_and_sequence() -> None:
    name = lease_id(7, 255, 1_795_018_180_635)

    assert name == "7-ff-1795018180635"
    assert parse_lease_id(name) == (255, 1_795_018_180_635)


@pytest.mark.parametrize("name", ["", "7", "x-y-z", "7-FF-", "7--", "7-zz-²", "-"])
def test_what_is_no_lease_has_no_numbers(name: str) -> None:
    """It comes from a message, and messages can be wrong."""
    assert parse_lease_id(name) == (0, 0)


@pytest.mark.parametrize(
    ("recorded", "now_ms", "first"),
    [
        pytest.param(5, 1_000, 1_000, id="the-clock-outgrows-what-was-never-recorded"),
        pytest.param(2_000, 1_000, 2_000, id="records-win-over-a-clock-that-was-set-back"),
    ],
)
def test_sequences_continue_above_all_that_were_issued(recorded: int, now_ms: int, first: int) -> None:
    assert first_sequence(recorded, now_ms) == first


@pytest.mark.parametrize(("priority", "queue"), [(-3, 0), (0, 0), (2, 2), (3, 3), (10, 3)])
def test_a_priority_outside_of_all_belongs_to_the_nearest_queue(priority: int, queue: int) -> None:
    assert queue_priority(EntryRecorded("j", "k", "u", "g", "s", "x", "c", 0, 0, priority=priority)) == queue


WEEK_MS = 7 * 24 * 3600 * 1000


@pytest.mark.req("S4.8.3", part="recent failures and staleness")
@pytest.mark.parametrize(
    ("changes", "queue"),
    [
        pytest.param({}, 1, id="as-good-as-ever"),
        pytest.param({"error_class": "server_error"}, 2, id="failed-last-time"),
        pytest.param({"fetched_at_ms": 1}, 2, id="stale"),
        pytest.param({"fetched_at_ms": 1, "error_class": "server_error"}, 2, id="both-count-once"),
        pytest.param({"fetched_at_ms": 1, "priority": 3}, 3, id="no-higher-than-high"),
        pytest.param({"fetched_at_ms": 1, "priority": 0}, 0, id="discovery-waits-behind-all"),
        pytest.param({"fetched_at_ms": 0, "reason": "accepted"}, 1, id="new-not-stale"),
        pytest.param({"error_class": "server_error", "reason": "retry"}, 1, id="a-retry-keeps-its-place"),
    ],
)
def test_what_comes_again_is_more_urgent_where_it_failed_or_is_stale(
    changes: dict[str, Any], queue: int
) -> None:
    values: dict[str, Any] = {
        "reason": "due_again",
        "priority": 1,
        "fetched_at_ms": 9,
        "due_at_ms": WEEK_MS + 1,
    }

    assert (
        queue_priority(EntryRecorded("j", "k", "u", "g", "pending", "x", "c", 0, 0, **(values | changes)))
        == queue
    )

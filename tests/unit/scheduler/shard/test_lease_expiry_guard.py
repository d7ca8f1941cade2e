"""Expired leases are decided once their outcomes cannot be unread."""

from __future__ import annotations

from strider.frontier.models import Lease, LeaseState
from strider.scheduler.shard.lease_expiry_guard import LeaseExpiryGuard
from tests.unit.scheduler.builders import an_entry


def a_lease(name: str) -> Lease:
    return Lease(name, an_entry(), issued_at_ms=1, expires_at_ms=2, state=LeaseState.STARTED)


def test_what_ran_out_waits_until_the_outcomes_of_its_time_were_read() -> None:
    """What was read before it was noticed proves nothing: its outcome may have come in between."""
    hindsight = LeaseExpiryGuard(taken_at=0.0)
    early, late = a_lease("early"), a_lease("late")
    hindsight.note_outcomes_read(9.0)

    assert hindsight.select_decidable([early], now=10.0) == []
    assert hindsight.select_decidable([early, late], now=12.0) == []
    hindsight.note_outcomes_read(11.0)
    assert hindsight.select_decidable([early, late], now=13.0) == [early]
    hindsight.note_outcomes_read(12.0)
    assert hindsight.select_decidable([early, late], now=14.0) == [early, late]


def test_only_progress_that_helps_a_lease_is_worth_a_look() -> None:
    """A search at every progress event would find nothing, most of the time."""
    hindsight = LeaseExpiryGuard(taken_at=0.0)
    hindsight.note_outcomes_read(0.0)

    assert not hindsight.note_outcomes_read(5.0)
    hindsight.select_decidable([a_lease("one")], now=6.0)
    assert not hindsight.note_outcomes_read(5.5)
    assert hindsight.note_outcomes_read(6.0)


def test_a_lease_whose_outcome_came_is_forgotten() -> None:
    """It is not named any more; should it run out once more, it waits once more."""
    hindsight = LeaseExpiryGuard(taken_at=0.0)
    lease = a_lease("one")
    hindsight.select_decidable([lease], now=1.0)
    hindsight.select_decidable([], now=2.0)
    hindsight.note_outcomes_read(3.0)

    assert hindsight.select_decidable([lease], now=4.0) == []


def test_a_shard_has_caught_up_when_all_outcomes_for_its_last_owner_were_read() -> None:
    """What was read as of before it was taken may leave out what its last owner heard at the end."""
    hindsight = LeaseExpiryGuard(taken_at=10.0)

    assert (hindsight.note_outcomes_read(9.9), hindsight.has_caught_up) == (False, False)
    assert (hindsight.note_outcomes_read(10.0), hindsight.has_caught_up) == (True, True)
    assert (hindsight.note_outcomes_read(10.5), hindsight.has_caught_up) == (False, True)

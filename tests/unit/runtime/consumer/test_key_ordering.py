"""Order for each key."""

from __future__ import annotations

from strider.runtime.consumer.key_ordering import KeyOrdering


def test_a_lane_has_one_holder_and_a_queue_in_order() -> None:
    lanes: KeyOrdering[str] = KeyOrdering()
    entered = [lanes.acquire(b"k", item) for item in ("a", "b", "c")]
    followers = [lanes.release(b"k") for _ in range(3)]

    assert entered == [True, False, False]
    assert followers == ["b", "c", None]
    assert len(lanes) == 0


def test_lanes_do_not_know_of_each_other() -> None:
    lanes: KeyOrdering[str] = KeyOrdering()

    assert [lanes.acquire(key, "x") for key in (b"k", b"l", b"")] == [True, True, True]
    assert len(lanes) == 3


def test_no_key_is_no_lane() -> None:
    lanes: KeyOrdering[str] = KeyOrdering()

    assert [lanes.acquire(None, "a"), lanes.acquire(None, "b")] == [True, True]
    assert lanes.release(None) is None
    assert len(lanes) == 0


def test_a_lane_can_be_taken_again_when_its_queue_has_run_out() -> None:
    lanes: KeyOrdering[str] = KeyOrdering()
    lanes.acquire(b"k", "a")
    lanes.acquire(b"k", "b")
    lanes.release(b"k")
    queued = lanes.acquire(b"k", "c")

    assert queued is False
    assert [lanes.release(b"k"), lanes.release(b"k")] == ["c", None]
    assert lanes.acquire(b"k", "d") is True

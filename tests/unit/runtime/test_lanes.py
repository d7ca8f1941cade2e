"""Order for each key."""

from __future__ import annotations

from strider.runtime.lanes import Lanes


def test_a_lane_has_one_holder_and_a_queue_in_order() -> None:
    lanes: Lanes[str] = Lanes()
    entered = [lanes.enter(b"k", item) for item in ("a", "b", "c")]
    followers = [lanes.leave(b"k") for _ in range(3)]

    assert entered == [True, False, False]
    assert followers == ["b", "c", None]
    assert len(lanes) == 0


def test_lanes_do_not_know_of_each_other() -> None:
    lanes: Lanes[str] = Lanes()

    assert [lanes.enter(key, "x") for key in (b"k", b"l", b"")] == [True, True, True]
    assert len(lanes) == 3


def test_no_key_is_no_lane() -> None:
    lanes: Lanes[str] = Lanes()

    assert [lanes.enter(None, "a"), lanes.enter(None, "b")] == [True, True]
    assert lanes.leave(None) is None
    assert len(lanes) == 0


def test_a_lane_can_be_taken_again_when_its_queue_has_run_out() -> None:
    lanes: Lanes[str] = Lanes()
    lanes.enter(b"k", "a")
    lanes.enter(b"k", "b")
    lanes.leave(b"k")
    queued = lanes.enter(b"k", "c")

    assert queued is False
    assert [lanes.leave(b"k"), lanes.leave(b"k")] == ["c", None]
    assert lanes.enter(b"k", "d") is True

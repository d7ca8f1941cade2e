"""Order for each key."""

from __future__ import annotations

from strider.runtime.consumer.start_order import KeyOrdering


def test_a_key_has_one_holder_and_a_queue_in_order() -> None:
    lanes: KeyOrdering[str] = KeyOrdering()
    entered = [lanes.acquire(b"k", item) for item in ("a", "b", "c")]
    followers = [lanes.release(b"k") for _ in range(3)]

    assert entered == [True, False, False]
    assert followers == ["b", "c", None]
    assert len(lanes) == 0


def test_keys_are_independent() -> None:
    lanes: KeyOrdering[str] = KeyOrdering()

    assert [lanes.acquire(key, "x") for key in (b"k", b"l", b"")] == [True, True, True]
    assert len(lanes) == 3


def test_messages_without_a_key_never_queue() -> None:
    lanes: KeyOrdering[str] = KeyOrdering()

    assert [lanes.acquire(None, "a"), lanes.acquire(None, "b")] == [True, True]
    assert lanes.release(None) is None
    assert len(lanes) == 0


def test_a_key_can_be_acquired_again_when_its_queue_is_empty() -> None:
    lanes: KeyOrdering[str] = KeyOrdering()
    lanes.acquire(b"k", "a")
    lanes.acquire(b"k", "b")
    lanes.release(b"k")
    queued = lanes.acquire(b"k", "c")

    assert queued is False
    assert [lanes.release(b"k"), lanes.release(b"k")] == ["c", None]
    assert lanes.acquire(b"k", "d") is True

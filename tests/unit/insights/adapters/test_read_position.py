"""Which message is accepted, and where reading seeks back."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.insights.adapters.read_position import ReadDecision, ReadPositions

GO_BACK, SKIP, TAKE = ReadDecision.SEEK_BACK, ReadDecision.SKIP, ReadDecision.ACCEPT


def turns(following: ReadPositions[str], *readings: Iterable[int]) -> list[list[ReadDecision]]:
    told = []
    for reading in readings:
        following.start_poll()
        told.append([following.decide("p", offset) for offset in reading])
    return told


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([[10, 11], [12]], [[TAKE, TAKE], [TAKE]], id="one after the other"),
        pytest.param([[8, 9, 10]], [[SKIP, SKIP, TAKE]], id="read before"),
        pytest.param([[13, 14], [10, 11]], [[GO_BACK, SKIP], [TAKE, TAKE]], id="passed over"),
        pytest.param([[13, 14], [13, 14]], [[GO_BACK, SKIP], [TAKE, TAKE]], id="a hole in the log"),
        pytest.param(
            [[10, 12], [12, 13, 15], [15]], [[TAKE, GO_BACK], [TAKE, TAKE, GO_BACK], [TAKE]], id="two holes"
        ),
    ],
)
def test_a_hole_is_believed_when_it_is_found_again(
    readings: list[list[int]], expected: list[list[ReadDecision]]
) -> None:
    """Dropped messages arrive on a second read; missing ones never do."""
    following = ReadPositions[str]()
    following.reset({"p": 10})

    assert turns(following, *readings) == expected


def test_a_partition_without_offset_starts_with_its_first_message() -> None:
    following = ReadPositions[str]()
    following.reset({"p": None})

    assert turns(following, [7, 8]) == [[TAKE, TAKE]]


def test_what_nothing_follows_is_read_again_after_two_looks_and_once() -> None:
    """Between two checks a message may be in flight; a log may end with a marker."""
    following = ReadPositions[str]()
    following.reset({"p": 10})
    looks = [following.skipped_offset("p", 14) for _ in range(4)]
    turns(following, [10, 11])
    moved = [following.skipped_offset("p", 14) for _ in range(3)]
    turns(following, [12, 13])

    assert looks == [None, 10, None, None]
    assert moved == [None, 12, None]
    assert [following.skipped_offset("p", 14) for _ in range(3)] == [None] * 3


@given(
    st.lists(st.integers(0, 30), unique=True, max_size=25).map(sorted), st.integers(0, 9), st.integers(1, 9)
)
def test_messages_dropped_once_are_read_once_and_in_order(log: list[int], dropped: int, size: int) -> None:
    """With gaps anywhere: a client that reads on, and seeks back when it has to."""
    following, taken, position = ReadPositions[str](), list[int](), 0
    following.reset({"p": 0})
    for _ in range(4 * len(log) + 4):
        batch = [offset for offset in log if offset >= position][:size]
        following.start_poll()
        position = batch[-1] + 1 if batch else position
        for offset in batch[dropped:]:
            turn = following.decide("p", offset)
            if turn is TAKE:
                taken.append(offset)
            elif turn is GO_BACK:
                position = following.expected_offset("p") or 0
        dropped = 0
        again = following.skipped_offset("p", position) if not batch else None
        position = position if again is None else again

    assert taken == log

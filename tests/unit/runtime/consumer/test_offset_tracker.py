"""What may be committed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.runtime.consumer.offset_tracker import OffsetTracker


def test_nothing_done_is_nothing_to_commit() -> None:
    done = OffsetTracker()
    done.add(5)

    assert (done.position, done.first_incomplete, done.redelivery_span) == (None, 5, 1)


def test_what_is_done_out_of_order_waits_for_the_first() -> None:
    done = OffsetTracker()
    for offset in (5, 6, 9):
        done.add(offset)
    done.complete(9)
    done.complete(6)
    before = (done.position, done.first_incomplete, done.redelivery_span)
    done.complete(5)

    assert before == (None, 5, 3)
    assert (done.position, done.first_incomplete, done.redelivery_span) == (10, None, 0)


def test_an_offset_that_does_not_rise_is_refused() -> None:
    """Taken twice, it would let the prefix run over what is not done."""
    done = OffsetTracker()
    done.add(5)

    with pytest.raises(ValueError, match="offset 5 was read after 5"):
        done.add(5)


@pytest.mark.parametrize("order", [(), (4,), (4, 5), (5, 4)])
def test_a_skipped_range_is_committed_once_all_before_it_is_done(order: tuple[int, ...]) -> None:
    """Also where no message follows it: its partition would show a lag for ever."""
    done = OffsetTracker()
    done.add(3)
    done.complete(3)
    for offset in sorted(order):
        done.add(offset)
    done.skip_to(9)
    before = done.position
    for offset in order:
        done.complete(offset)

    assert before == (4 if order else 9)
    assert (done.position, done.first_incomplete, done.redelivery_span) == (9, None, 0)


def test_what_follows_a_skipped_range_waits_for_what_is_before_it() -> None:
    done = OffsetTracker()
    done.add(3)
    done.skip_to(9)
    done.add(9)
    done.complete(9)
    before = done.position
    done.complete(3)

    assert (before, done.position) == (None, 10)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_the_position_is_that_of_a_plain_model(gaps: list[int], random: object) -> None:
    """Any offsets, done in any order: the position is the first one that is open, or behind the last."""
    offsets = [sum(gaps[: index + 1]) for index in range(len(gaps))]
    order = list(offsets)
    random.shuffle(order)  # type: ignore[attr-defined]
    done, still_open = OffsetTracker(), set(offsets)
    for offset in offsets:
        done.add(offset)
    for offset in order:
        done.complete(offset)
        still_open.discard(offset)
        before_first = [each for each in offsets if not still_open or each < min(still_open)]

        assert done.position == (before_first[-1] + 1 if before_first else None)
        assert done.first_incomplete == min(still_open, default=None)

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


@pytest.mark.parametrize(
    ("is_open", "position"), [pytest.param(False, 9, id="all done"), pytest.param(True, 4, id="one open")]
)
def test_only_an_idle_partition_skips(is_open: bool, position: int) -> None:
    done = OffsetTracker()
    done.add(3)
    done.complete(3)
    if is_open:
        done.add(4)
    done.skip_to(9)

    assert done.position == position


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

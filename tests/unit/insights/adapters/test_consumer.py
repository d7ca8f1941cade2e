"""The offset that Faust may commit."""

from __future__ import annotations

import pytest

from strider.insights.adapters.consumer import RetentionGap, contiguous_end, find_retention_gaps, start_offset
from strider.messaging.ports import TopicPartition


@pytest.mark.parametrize(
    ("acked", "gaps", "committed", "end"),
    [
        pytest.param(set(), [], 10, None, id="nothing-done"),
        pytest.param({10, 11, 12}, [], 10, 13, id="all-done"),
        pytest.param({5, 6}, [], None, 7, id="nothing-committed-yet"),
        pytest.param({11, 12}, [], 10, None, id="the-next-is-in-flight"),
        pytest.param({10, 12}, [], 10, 11, id="up-to-what-is-in-flight"),
        pytest.param({7, 8, 9}, [], 10, None, id="done-again"),
        pytest.param({10, 11, 12, 13}, [(11, 13)], 10, 14, id="a-gap-that-was-none"),
        pytest.param({10, 13}, [(11, 13)], 10, 14, id="a-gap"),
        pytest.param({10, 14}, [(11, 13)], 10, 13, id="something-in-flight-after-a-gap"),
        pytest.param({90_000_000}, [(11, 90_000_001)], 10, 90_000_001, id="retention-took-what-was-next"),
    ],
)
def test_the_end_of_what_is_done(acked, gaps, committed, end):
    """An offset that is too low has hours counted again after a kill."""
    assert contiguous_end(acked, gaps, committed=committed) == end


@pytest.mark.parametrize(
    ("committed", "begin", "found"),
    [
        pytest.param(10, 10, False, id="nothing-was-taken"),
        pytest.param(10, 3, False, id="only-what-was-read"),
        pytest.param(10, 30, True, id="what-was-next"),
        pytest.param(0, 30, True, id="all-that-there-was"),
        pytest.param(None, 0, False, id="a-new-group"),
        pytest.param(None, 30, True, id="a-new-group-that-comes-late"),
    ],
)
def test_a_log_that_starts_behind_the_committed_offset_has_a_gap(committed, begin, found):
    """Without further messages it would be a lag that never ends."""
    place = TopicPartition("t", 0)

    holes = find_retention_gaps({place: committed}, {place: begin})

    assert holes == ([RetentionGap(place, committed, begin)] if found else [])


@pytest.mark.parametrize(
    ("committed", "begin", "start"),
    [
        pytest.param(None, 0, 0, id="a-new-group"),
        pytest.param(-1, 30, 30, id="a-new-group-that-comes-late"),
        pytest.param(10, 3, 10, id="a-group-that-has-committed"),
    ],
)
def test_a_group_that_has_committed_nothing_reads_from_the_start_of_the_log(committed, begin, start):
    """Faust drops messages at a start: the first that arrives need not be the first of the log."""
    assert start_offset(committed, begin) == start

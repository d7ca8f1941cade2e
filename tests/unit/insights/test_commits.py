"""Which offset may be committed."""

from __future__ import annotations

import pytest

from strider.insights.adapters.commits import end_of_done


@pytest.mark.parametrize(
    ("acked", "gaps", "committed", "end"),
    [
        pytest.param(set(), [], 10, None, id="nothing-done"),
        pytest.param({10, 11, 12}, [], 10, 13, id="all-done"),
        pytest.param({5, 6}, [], None, 7, id="nothing-committed-yet"),
        pytest.param({11, 12}, [], 10, None, id="the-next-is-in-hand"),
        pytest.param({10, 12}, [], 10, 11, id="up-to-what-is-in-hand"),
        pytest.param({7, 8, 9}, [], 10, None, id="done-again"),
        pytest.param({10, 11, 12, 13}, [(11, 13)], 10, 14, id="a-gap-that-was-none"),
        pytest.param({10, 13}, [(11, 13)], 10, 14, id="a-gap"),
        pytest.param({10, 14}, [(11, 13)], 10, 13, id="something-in-hand-after-a-gap"),
        pytest.param({90_000_000}, [(11, 90_000_001)], 10, 90_000_001, id="retention-took-what-was-next"),
    ],
)
def test_the_end_of_what_is_done(acked, gaps, committed, end):
    """An offset that is too low has hours counted again after a kill."""
    assert end_of_done(acked, gaps, committed=committed) == end

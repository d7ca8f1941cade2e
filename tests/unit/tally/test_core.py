"""Counting exactly although echoes come again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.generated.events import Echoed, TallyKept
from strider.tally.core import count


def an_echo(number: int = 1, *, outcome: str = "echoed") -> Echoed:
    return Echoed(request_id=f"r{number}", host="a.test", outcome=outcome, text="hi")


def test_the_first_echo_of_a_host_begins_its_tally() -> None:
    assert count(None, an_echo(1), offset=0, timestamp_ms=7) == TallyKept(
        host="a.test", count=1, counted_offset=0, refused=0, last_request_id="r1", updated_at_ms=7
    )


def test_a_refusal_is_counted_apart() -> None:
    before = TallyKept(host="a.test", count=4, counted_offset=9)

    after = count(before, an_echo(2, outcome="refused_empty"), offset=10, timestamp_ms=7)

    assert after == TallyKept("a.test", 4, 10, refused=1, last_request_id="r2", updated_at_ms=7)


def test_an_echo_at_or_below_the_counted_offset_changes_nothing() -> None:
    """After a crash the log is read again from the last commit, which lies below what is kept."""
    before = TallyKept(host="a.test", count=4, counted_offset=9)

    assert [count(before, an_echo(), offset=offset, timestamp_ms=7) for offset in (0, 9)] == [None, None]


@given(
    log=st.lists(st.sampled_from(["echoed", "refused_empty", "refused_long"]), max_size=30),
    restarts=st.lists(st.integers(0, 30), max_size=6),
)
def test_any_number_of_returns_to_earlier_offsets_counts_the_same(
    log: list[str], restarts: list[int]
) -> None:
    """The property that the example stands for: redelivery is harmless, wherever it begins."""
    tally: TallyKept | None = None
    for start in [0, *restarts, 0]:
        for offset in range(min(start, len(log)), len(log)):
            if tally is None and offset > 0:
                continue  # a first reading begins at the beginning
            tally = count(tally, an_echo(offset, outcome=log[offset]), offset=offset, timestamp_ms=0) or tally

    counted = (0, 0) if tally is None else (tally.count, tally.refused)
    assert counted == (log.count("echoed"), len(log) - log.count("echoed"))

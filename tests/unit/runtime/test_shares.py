"""Shares: however much others take, a newcomer finds something."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strider.runtime.shares import SharePath, Shares

DIVISORS = (8, 4, 4)


def _take_all(shares: Shares, *paths: SharePath) -> list[int]:
    """Let these take one after the other until none may take more; return how much each has."""
    held = [0] * len(paths)
    while any(shares.free_for(path) >= 1 for path in paths):
        for number, path in enumerate(paths):
            if shares.free_for(path) >= 1:
                shares.take(path)
                held[number] += 1
    return held


def test_a_single_claimant_gets_most_and_leaves_a_part() -> None:
    shares = Shares(256, divisors=DIVISORS)

    assert _take_all(shares, ("raw",)) == [224]
    assert _take_all(Shares(256, divisors=DIVISORS), ("raw", "run")) == [168]
    assert _take_all(Shares(256, divisors=DIVISORS), ("raw", "run", "silent")) == [126]


def test_greedy_claimants_get_the_same() -> None:
    first, second = _take_all(Shares(256, divisors=DIVISORS), ("raw", 1), ("raw", 2))

    assert abs(first - second) <= 1
    assert first + second > 150


def test_however_many_are_greedy_a_newcomer_finds_a_place() -> None:
    shares = Shares(256, divisors=DIVISORS)
    _take_all(shares, *(("raw", number) for number in range(32)))

    assert shares.free_for(("raw", "newcomer")) >= 1
    assert _take_all(shares, ("owner", "run"))[0] >= 20


def test_what_is_given_back_may_be_taken_again() -> None:
    shares = Shares(8, divisors=DIVISORS)
    path: SharePath = ("raw", "run")
    most = _take_all(shares, path)[0]

    shares.give_back(path, most)

    assert shares.held == shares.held_by("raw") == shares.held_by("run") == 0
    assert _take_all(shares, path) == [most]


def test_one_place_is_enough_for_everybody_in_turn() -> None:
    """The smallest deployments fetch one at a time, for every sender."""
    shares = Shares(1, divisors=DIVISORS)
    for name in ("raw", "owner"):
        path: SharePath = (name, f"{name} run", f"{name} silent")
        assert shares.free_for(path) == 1
        shares.take(path)
        assert shares.free_for(("other",)) < 1
        shares.give_back(path)


@given(
    total=st.integers(1, 64),
    turns=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 3), st.booleans(), st.booleans()), max_size=120
    ),
)
def test_claims_take_no_more_than_there_is(total: int, turns: list[tuple[int, int, bool, bool]]) -> None:
    shares = Shares(total, divisors=DIVISORS)
    held: list[SharePath] = []
    for role, run, is_silent, gives_back in turns:
        path: SharePath = (role, (role, run), (role, run, "silent"))[: 3 if is_silent else 2]
        if gives_back and held:
            shares.give_back(held.pop(0))
        elif shares.free_for(path) >= 1:
            shares.take(path)
            held.append(path)
        assert 0 <= shares.held == len(held) <= total
    while held:
        shares.give_back(held.pop())
    assert shares.held == 0

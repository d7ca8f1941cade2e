"""Numbered seeds: which ids are numbers, and which never are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.numbered_seeds import SeedNumber, parse_seed_number


@given(st.from_regex(r"\S{1,200}", fullmatch=True), st.integers(1, 10**15 - 1))
def test_a_number_is_parsed_as_it_was_written(name: str, number: int) -> None:
    numbered = SeedNumber(name, number)

    assert parse_seed_number(numbered.seed_id) == numbered
    assert 0 <= numbered.partition < 2**31


@pytest.mark.parametrize(
    "seed_id",
    [
        *("", None, "7", "job-7", "/7", "job/", "job/0", "job/07", "job/-7", "job/7.0", "job/7 ", "a b/7"),
        *("job/\u0667", f"job/{10**15}", f"{'x' * 201}/7"),
    ],
)
def test_every_other_id_is_no_number(seed_id: str | None) -> None:
    assert parse_seed_number(seed_id) is None


def test_a_name_may_have_slashes() -> None:
    assert parse_seed_number("a/b/7") == SeedNumber("a/b", 7)

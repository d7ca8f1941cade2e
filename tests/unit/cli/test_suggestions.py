"""Suggestions for misspelt names."""

from __future__ import annotations

import pytest

from strider.cli.suggestions import closest, unknown_name


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("topcs", "no command 'topcs'; did you mean topics?"),
        ("zzz", "no command 'zzz'; there are: topics, seeds"),
    ],
)
def test_an_unknown_name_gets_the_nearest_names_or_all(name: str, sentence: str) -> None:
    assert unknown_name("command", name, ["topics", "seeds"]) == sentence


def test_of_many_names_some_are_listed() -> None:
    assert unknown_name("schema", "zzz", [f"a{number}" for number in range(30)]).endswith("a11, …")


def test_of_no_names_none_is_listed() -> None:
    assert unknown_name("profile", "x", []) == "no profile 'x'; there are: none"
    assert closest("x", []) == ""

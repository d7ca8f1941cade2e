"""The comparison of own code with libraries: its cases hold for own code, faults are rows of its table."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.bench.libraries import comparison
from tests.bench.libraries.comparison import OWN, Candidate, Case, Task, compare, hostile_cost, parameters
from tests.bench.libraries.json_values import broken_json, object_literals
from tests.bench.libraries.lists import sitemaps
from tests.bench.libraries.text_values import dates, declarations, prices

CASES = [Case("1", lambda found: found == 1), Case("x", lambda found: found == 0)]


def a_task(*candidates: Candidate, hostile: str = "2") -> Task:
    return Task("Numbers", candidates, CASES, {"input": hostile})


@pytest.mark.parametrize("make", [broken_json, object_literals, dates, prices, declarations, sitemaps])
def test_own_code_is_right_in_all_cases(make: Callable[[], Task]) -> None:
    task = make()
    own = next(each for each in task.candidates if each.name == OWN).load()

    assert task.cases
    assert [case.given for case in task.cases if not case.is_right(own(case.given))] == []


def test_a_library_that_is_not_installed_is_skipped_with_its_name() -> None:
    def load() -> Any:
        raise AssertionError("must not be imported")

    table = compare(a_task(Candidate("other", "no-such-package-at-all", load)))

    assert "| other | skipped: no-such-package-at-all is not installed |" in table


def test_errors_and_wrong_results_are_not_exact() -> None:
    table = compare(a_task(Candidate("integers", "", lambda: int), Candidate("texts", "", lambda: str)))

    assert "| integers | 1 of 2 |" in table
    assert "| texts | 0 of 2 |" in table


@pytest.mark.parametrize(
    ("read", "outcome"),
    [
        pytest.param(lambda _: time.sleep(60), ", ended at the limit", id="endless"),
        pytest.param(lambda _: __import__("os")._exit(1), ", process died", id="crash"),
        pytest.param(len, "", id="harmless"),
    ],
)
def test_hostile_input_ends_its_own_process_only(
    read: Callable[[Any], Any], outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "HOSTILE_SECONDS", 1.0)

    cost = hostile_cost("input", read, "x")

    assert (cost.name, cost.outcome) == ("input", outcome)
    assert (cost.seconds >= 1.0) is bool(outcome)


@pytest.mark.parametrize("text", ["a", pytest.param("b", id="named")])
def parametrized(text: str) -> None:
    """Not a test: what `parameters` reads."""


def test_parameters_of_a_test_are_its_cases() -> None:
    assert parameters(parametrized) == [("a",), ("b",)]

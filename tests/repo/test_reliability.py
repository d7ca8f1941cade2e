"""docs/reliability.md says what the tests' marks say; no row is lost, and no mark names an unknown one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from .rules.sources import load_tool

reliability = load_tool("reliability")

ROOT = Path(__file__).parents[2]
ROWS = reliability.FaultRows({"Faults": {"F1": "A fault.", "F2": "Another."}}, {"F2": "It cannot happen."})
TEST = "tests/unit/test_x.py::test_a"


def a_mark(*, level: str = "unit", part: str = "", is_slow: bool = False) -> object:
    return reliability.TestMark(TEST, level, part, is_slow)


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8") == reliability.render()


def test_every_fault_of_the_design_has_a_row() -> None:
    expected = {
        *(f"F{number}" for number in range(1, 33)),
        *(f"S{number}" for number in range(1, 23)),
        *(f"A{number}" for number in range(1, 14)),
        *(f"A{number}" for number in range(16, 22)),
        *(f"B{number}" for number in range(1, 12)),
        *(f"C{number}" for number in range(1, 3)),
    }

    assert reliability.read_rows().ids == expected


def test_a_mark_that_names_no_row_is_refused() -> None:
    assert reliability.unknown({"F99": [a_mark()]}, ROWS) == [
        f"{TEST} marks F99, which docs/reliability.yaml does not declare"
    ]


@pytest.mark.parametrize(
    ("marked", "fault"),
    [
        ({"F1": [a_mark(part="both")]}, "the part 'both', which"),
        ({"F2": [a_mark(part="half")]}, "no test marks F2 whole"),
    ],
)
def test_a_part_that_its_row_does_not_have_is_refused(marked: dict[str, list[object]], fault: str) -> None:
    (text,) = reliability.unknown(marked, replace(ROWS, parts={"F1": ["one", "other"]}))

    assert fault in text


def test_parts_of_no_row_are_refused() -> None:
    (text,) = reliability.unknown({}, replace(ROWS, parts={"F9": ["one"]}))

    assert "parts of F9" in text


@pytest.mark.parametrize(
    ("marks", "state"),
    [
        ([], "open"),
        ([a_mark()], "shown (unit)"),
        ([a_mark(level="process", is_slow=True)], "shown (process, long)"),
        ([a_mark(level="e2e", part="one")], "partly (e2e): one. Not shown: two"),
        ([a_mark(level="e2e", part="one"), a_mark()], "shown (unit)"),
        ([a_mark(level="e2e", part="one"), a_mark(part="two")], "shown (unit), in 2 parts"),
        (
            [
                a_mark(part="one"),
                a_mark(level="e2e", part="one"),
                a_mark(level="e2e", part="two", is_slow=True),
            ],
            "shown (e2e, long), in 2 parts",
        ),
    ],
)
def test_the_state_follows_from_the_marks(marks: list[object], state: str) -> None:
    assert reliability.state_of(marks, "", ["one", "two"]) == state


def test_the_page_has_each_row_with_its_test_and_its_last_figure() -> None:
    figures = reliability.collect(
        [json.dumps({"test": TEST, "figure": "lost=0", "measured": "2026-11-20"})],
        {TEST: {"figure": "lost=9", "measured": "2026-01-01"}},
    )

    page = reliability.page(ROWS, {"F1": [a_mark()]}, figures)

    assert f"| F1 | A fault. | shown (unit) | `{TEST}` | lost=0 (2026-11-20) |" in page
    assert "| F2 | Another. | decided: It cannot happen. |  |  |" in page
    assert "Of 2 rows: 1 shown, 0 partly, 1 decided, 0 open." in page


def test_a_recorded_figure_is_kept_for_its_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.figures import FILE_VARIABLE, record_figure  # noqa: PLC0415  # the variable is set first

    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "figures"))

    record_figure("lost=0")

    (name,) = reliability.collect((tmp_path / "figures").read_text().splitlines(), {})
    assert name == "tests/repo/test_reliability.py::test_a_recorded_figure_is_kept_for_its_test"


def test_the_threat_model_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"(?m)^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"))
    }

    assert len(named) > 10
    assert named - defined == set()

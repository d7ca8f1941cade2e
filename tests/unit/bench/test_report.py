"""A part that is measured again takes the place of what was known of it, and of nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench.measure import Row
from tests.bench.report import Part, keep

ORDER = ("first", "second")


def part(*rows: Row, speed: float = 0.02) -> Part:
    return Part.measured(rows, is_short=False, speed=speed)


def test_what_was_measured_before_stays_until_it_is_measured_again(tmp_path: Path) -> None:
    keep("second", part(Row("a bar that holds", 3.0, "µs", 4.0)), order=ORDER, folder=tmp_path)
    keep(
        "first",
        part(Row("one that does not", 5.0, "×", 6.0, more_is_better=True)),
        order=ORDER,
        folder=tmp_path,
    )
    keep("second", part(Row("a bar that holds", 2.0, "µs", 4.0), speed=0.03), order=ORDER, folder=tmp_path)

    page = (tmp_path / "performance.md").read_text()
    told = json.loads((tmp_path / "performance.json").read_text())

    assert page.index("## first") < page.index("## second")
    assert "| one that does not | 5 × | ≥ 6 × | **no** |" in page
    assert "| a bar that holds | 2 µs | ≤ 4 µs | yes |" in page
    assert "30.0 ms" in page
    assert "| 3 µs" not in page
    assert [row["holds"] for name in ORDER for row in told[name]["rows"]] == [False, True]


def test_a_part_that_is_no_more_goes(tmp_path: Path) -> None:
    keep("gone", part(Row("a", 1.0, "s", None)), order=("gone",), folder=tmp_path)
    keep("first", part(Row("b", 1.0, "s", None)), order=ORDER, folder=tmp_path)

    assert [*json.loads((tmp_path / "performance.json").read_text())] == ["first"]

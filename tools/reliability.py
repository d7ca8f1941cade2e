"""docs/reliability.md: each fault, bad input and attack with the tests that show how it is survived.

The rows stand in docs/reliability.yaml; the tests name them with `@pytest.mark.fault("F12")`, or a part of
one with `part="..."`. Figures are what the tests recorded in their last run with `FIGURES_FILE=FILE`:
`tools/reliability.py --collect FILE` adds them to docs/reliability.json. A mark that names no row is refused.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from levels import LEVELS  # neighbours of this file
from marks import MarksByName, TestMark, UnreadableMark, read_marks

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "docs" / "reliability.yaml"
FIGURES = ROOT / "docs" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"

Figures = dict[str, dict[str, str]]
"""Test -> its last figure, and the day of it."""

HEAD = """\
# Reliability

Written by `make docs` from [reliability.yaml](reliability.yaml), the marks of the tests
(`@pytest.mark.fault`) and the figures of their last run ([reliability.json](reliability.json));
do not edit. *shown*: a test survives the whole of it, with the level of the best such test
([requirements.md](requirements.md) explains levels; *long* tests run with `make faults` or
`make slow` only). *partly*: tests survive the named parts. *decided*: it cannot happen, for the
reason given. *open*: no test shows it.
"""


@dataclass(frozen=True, slots=True)
class FaultRows:
    """What docs/reliability.yaml declares."""

    groups: Mapping[str, Mapping[str, str]]
    decided: Mapping[str, str]

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all rows."""
        return frozenset(name for rows in self.groups.values() for name in rows)


def read_rows(path: Path = ROWS) -> FaultRows:
    """Read the declared rows."""
    declared = yaml.safe_load(path.read_text(encoding="utf-8"))
    return FaultRows(declared["groups"], declared.get("decided", {}))


def unknown(marked: MarksByName, rows: FaultRows) -> list[str]:
    """Return the marks that name no row."""
    return [
        f"{found[0].test} marks {name}, which docs/reliability.yaml does not declare"
        for name, found in marked.items()
        if name not in rows.ids
    ]


def state_of(found: list[TestMark], decision: str) -> str:
    """Return the state of one row: with the level of its best test."""
    if decision:
        return f"decided: {decision}"
    if not found:
        return "open"
    whole = [mark for mark in found if not mark.part]
    best = best_of(found)
    length = ", long" if best.is_slow else ""
    if whole:
        return f"shown ({best.level}{length})"
    return f"partly ({best.level}{length}): {'; '.join(dict.fromkeys(mark.part for mark in found))}"


def best_of(found: list[TestMark]) -> TestMark:
    """Return the mark of the best test: of the whole before a part, in CI before long, highest level."""
    return max(found, key=lambda mark: (not mark.part, not mark.is_slow, LEVELS.index(mark.level)))


def figures_of(found: Iterable[TestMark], figures: Figures) -> str:
    """Return the last figures of a row's tests."""
    own = [figures[mark.test] for mark in found if mark.test in figures]
    return "; ".join(dict.fromkeys(f"{each['figure']} ({each['measured']})" for each in own))


def page(rows: FaultRows, marked: MarksByName, figures: Figures) -> str:
    """Return the whole page."""
    lines = [HEAD]
    counts: Counter[str] = Counter()
    tables: list[str] = []
    for group, faults in rows.groups.items():
        tables += ["", f"## {group}", "", "| id | what happens | state | tests | last figures |"]
        tables.append("|---|---|---|---|---|")
        for name, text in faults.items():
            found = marked.get(name, [])
            state = state_of(found, rows.decided.get(name, ""))
            counts[state.partition(" ")[0].rstrip(":")] += 1
            cells = (name, text, state, _tests_cell(found), figures_of(found, figures))
            tables.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    summary = ", ".join(f"{counts[state]} {state}" for state in ("shown", "partly", "decided", "open"))
    lines.append(f"Of {counts.total()} rows: {summary}.")
    return "\n".join([*lines, *tables]) + "\n"


def _tests_cell(found: list[TestMark]) -> str:
    if not found:
        return ""
    more = len({mark.test for mark in found}) - 1
    return f"`{best_of(found).test}`" + (f" and {more} more" if more else "")


def read_figures(path: Path = FIGURES) -> Figures:
    """Read the figures that were collected."""
    found: Figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def collect(lines: Iterable[str], known: Figures) -> Figures:
    """Return the known figures with those of a run; the last of a test's parameters counts."""
    figures = dict(known)
    for line in lines:
        record: dict[str, Any] = json.loads(line)
        figures[record["test"]] = {"figure": record["figure"], "measured": record["measured"]}
    return dict(sorted(figures.items()))


def render() -> str:
    """Return the page as it must be now; raise where a mark names nothing."""
    rows = read_rows()
    try:
        marked = read_marks(ROOT / "tests", "fault")
    except UnreadableMark as failure:
        raise SystemExit(str(failure)) from failure
    if wrong := unknown(marked, rows):
        raise SystemExit("\n".join(wrong))
    return page(rows, marked, read_figures())


def main() -> None:
    """Add the figures of a run: `tools/reliability.py --collect FILE`."""
    match sys.argv[1:]:
        case ["--collect", name]:
            lines = Path(name).read_text(encoding="utf-8").splitlines()
            FIGURES.write_text(json.dumps(collect(lines, read_figures()), indent=1) + "\n", encoding="utf-8")
            PAGE.write_text(render(), encoding="utf-8")
        case _:
            raise SystemExit("usage: tools/reliability.py --collect FILE")


if __name__ == "__main__":
    main()

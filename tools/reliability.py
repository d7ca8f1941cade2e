"""docs/reliability.md: each fault, bad input and attack with the tests that show how it is survived.

The rows stand in docs/reliability.yaml; the tests name them with `@pytest.mark.fault("F12")`, or a part of
one with `part="..."`. `parts` there lists what a row consists of where no single test survives the whole: it
is shown once each of them is. Figures are what the tests recorded in their last run with `FIGURES_FILE=FILE`:
`tools/reliability.py --collect FILE` adds them to docs/reliability.json. A mark that names no row is refused.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
do not edit. *shown*: a test survives the whole of it, with the level of the best such test, or
tests survive each of its parts, with the lowest of their levels
([requirements.md](requirements.md) explains levels; *long* tests run with `make faults` or
`make slow` only). *partly*: tests survive some parts; those that no test survives are named.
*decided*: it cannot happen, for the reason given. *open*: no test shows it.
"""


@dataclass(frozen=True, slots=True)
class FaultRows:
    """What docs/reliability.yaml declares."""

    groups: Mapping[str, Mapping[str, str]]
    decided: Mapping[str, str]
    parts: Mapping[str, list[str]] = field(default_factory=dict)
    """Row -> what it consists of, where tests survive it in parts."""

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all rows."""
        return frozenset(name for rows in self.groups.values() for name in rows)


def read_rows(path: Path = ROWS) -> FaultRows:
    """Read the declared rows."""
    declared = yaml.safe_load(path.read_text(encoding="utf-8"))
    return FaultRows(declared["groups"], declared.get("decided", {}), declared.get("parts", {}))


def unknown(marked: MarksByName, rows: FaultRows) -> list[str]:
    """Return the marks that name no row, or a part that its row does not have; and parts of no row."""
    wrong = [f"docs/reliability.yaml declares parts of {name}, which is no row" for name in _strangers(rows)]
    for name, found in marked.items():
        if name not in rows.ids:
            wrong.append(f"{found[0].test} marks {name}, which docs/reliability.yaml does not declare")
        elif name in rows.parts:
            wrong += [
                f"{mark.test} marks {name} with the part {mark.part!r}, which docs/reliability.yaml does not"
                " declare"
                for mark in found
                if mark.part and mark.part not in rows.parts[name]
            ]
        elif all(mark.part for mark in found):
            wrong.append(f"no test marks {name} whole: declare its parts in docs/reliability.yaml")
    return wrong


def _strangers(rows: FaultRows) -> list[str]:
    return sorted(set(rows.parts) - rows.ids)


def state_of(found: list[TestMark], decision: str, parts: Sequence[str] = ()) -> str:
    """Return the state of one row: with the level of its best test, or the lowest one of its parts."""
    if decision:
        return f"decided: {decision}"
    if not found:
        return "open"
    best = best_of(found)
    if not best.part:
        return f"shown ({_level(best)})"
    shown = {part: best_of([mark for mark in found if mark.part == part]) for part in _marked(found)}
    if missing := [part for part in parts if part not in shown]:
        return f"partly ({_level(best)}): {'; '.join(shown)}. Not shown: {'; '.join(missing)}"
    return f"shown ({_level(min(shown.values(), key=_rank))}), in {len(shown)} parts"


def _marked(found: Iterable[TestMark]) -> list[str]:
    return list(dict.fromkeys(mark.part for mark in found))


def _level(mark: TestMark) -> str:
    return f"{mark.level}{', long' if mark.is_slow else ''}"


def _rank(mark: TestMark) -> tuple[bool, bool, int]:
    return (not mark.part, not mark.is_slow, LEVELS.index(mark.level))


def best_of(found: list[TestMark]) -> TestMark:
    """Return the mark of the best test: of the whole before a part, in CI before long, highest level."""
    return max(found, key=_rank)


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
            state = state_of(found, rows.decided.get(name, ""), rows.parts.get(name, ()))
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

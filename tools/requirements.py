"""docs/requirements.md: each acceptance line with its state, as the marks of the tests state it.

A line is *shown* when a test that runs in CI carries its id in `@pytest.mark.req("S1.2.3")`, at the level
that the line is about; *partly* when a mark names the part that it shows (`part="..."`), or when the line is
about a running process (api, ops, idx, a setting) and no test runs one; *decided* when docs/scope.md settles
it; else *open*. `levels.py` reads the level of a test from its source. A mark that names no line is refused.
The wording comes from the design's acceptance page where that stands beside the project, else from the page
written before, so it can be checked anywhere.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from levels import LEVELS  # neighbours of this file
from marks import MarksByName, TestMark, UnreadableMark, read_marks

ROOT = Path(__file__).parents[1]
DESIGN = ROOT.parent / "shared" / "design" / "acceptance.md"
PAGE = ROOT / "docs" / "requirements.md"
SCOPE = ROOT / "docs" / "scope.md"

PROCESS_OWNERS = frozenset({"api", "ops", "idx"})
"""Owners whose lines are about a running process: a function alone cannot show them."""

_DESIGN_LINE = re.compile(r"^- \*\*(S\d\.\d+\.\d+)\*\* (.+?) \[([^\]]+)\]$")
_PAGE_LINE = re.compile(r"^\| (S\d\.\d+\.\d+) \| (.+?) \| ([^|]+?) \| (?:open|shown|partly|decided).*\|$")
_VARIABLE = re.compile(r"`[A-Z][A-Z0-9]*_[A-Z0-9_]+")


Lines = dict[str, tuple[str, str]]
"""Line id -> (text, owner)."""


def wording() -> Lines:
    """Return every acceptance line."""
    source, pattern = (DESIGN, _DESIGN_LINE) if DESIGN.exists() else (PAGE, _PAGE_LINE)
    found = {}
    for line in source.read_text(encoding="utf-8").splitlines():
        if match := pattern.match(line):
            name, text, owner = match.groups()
            found[name] = (text.replace("\\|", "|"), owner.strip())
    return found


def decisions() -> frozenset[str]:
    """Return the lines that docs/scope.md settles: ids in the first column of its table."""
    text = SCOPE.read_text(encoding="utf-8") if SCOPE.exists() else ""
    return frozenset(re.findall(r"(?m)^\| (S\d\.\d+\.\d+) \|", text))


def marks(tests: Path) -> MarksByName:
    """Return line id -> the marks of tests that run in CI. Raises UnreadableMark."""
    found = read_marks(tests, "req")
    in_ci = {name: [mark for mark in all_marks if not mark.is_slow] for name, all_marks in found.items()}
    return {name: kept for name, kept in in_ci.items() if kept}


def unknown(marked: MarksByName, lines: Lines) -> list[str]:
    """Return the marks that name no acceptance line."""
    return [
        f"{found[0].test} marks {name}, which is no acceptance line"
        for name, found in marked.items()
        if name not in lines
    ]


def needs_process(text: str, owner: str) -> bool:
    """Whether a line is about a running process: of api, ops or idx, or of a setting."""
    return bool(PROCESS_OWNERS & set(re.split(r"[ →]+", owner))) or bool(_VARIABLE.search(text))


def state_of(text: str, owner: str, found: list[TestMark], *, decided: bool) -> str:
    """Return the state of one line, with its best level and the first test that shows it."""
    if decided:
        return "decided: [scope](scope.md)"
    if not found:
        return "open"
    whole = [mark for mark in found if not mark.part]
    best = max(whole or found, key=lambda mark: LEVELS.index(mark.level))
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    by = f"by `{best.test}`{more}"
    if not whole:
        parts = "; ".join(dict.fromkeys(mark.part for mark in found))
        return f"partly ({best.level}): {parts}, {by}"
    if needs_process(text, owner) and LEVELS.index(best.level) < LEVELS.index("process"):
        return f"partly ({best.level}): not on a running process, {by}"
    return f"shown ({best.level}) {by}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(lines: Lines, marked: MarksByName, decided: frozenset[str] = frozenset()) -> str:
    """Return the whole page."""
    states = {
        name: state_of(text, owner, marked.get(name, []), decided=name in decided)
        for name, (text, owner) in lines.items()
    }
    counts = Counter(re.split(r"[ :]", state, maxsplit=1)[0] for state in states.values())
    levels = Counter(match[1] for state in states.values() if (match := re.match(r"shown \((\w+)\)", state)))
    rows = [
        f"| {name} | {_cell(text)} | {owner} | {_cell(states[name])} |"
        for name, (text, owner) in lines.items()
    ]
    head = [
        "# Requirements",
        "",
        "Written by `make docs` from the marks of the tests (`@pytest.mark.req`); do not edit. A line is",
        "*shown* when a test that runs in CI carries its id, with the best level of such a test in brackets;",
        "*partly* when only a part is shown, or a line about a running process is shown without one;",
        "*decided* where [scope.md](scope.md) settles it; *open* otherwise.",
        "",
        "The level says what the test runs, and follows from its source. *unit*: functions. *contract*: one",
        "suite on a fake and on the real part. *adapter*: our code within the test, on a real server.",
        "*process*: at least one process of Strider, a service or the command. *e2e*: a whole crawl by",
        "processes. Lines of the API, operations, the indexer and of settings need a process.",
        "",
        f"Of {len(lines)} lines {counts['shown']} are shown ("
        + ", ".join(f"{level} {levels[level]}" for level in reversed(LEVELS))
        + f"), {counts['partly']} partly, {counts['decided']} decided, {counts['open']} open.",
        "",
        "| line | requirement | owner | state |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def render() -> str:
    """Return the page as it must be now; raise where a mark names nothing."""
    lines = wording()
    try:
        marked = marks(ROOT / "tests")
    except UnreadableMark as failure:
        raise SystemExit(str(failure)) from failure
    if wrong := unknown(marked, lines):
        raise SystemExit("\n".join(wrong))
    return page(lines, marked, decisions())

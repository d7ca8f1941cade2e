"""docs/requirements.md: each acceptance line with its state, as the marks of the tests state it.

A line is *shown* when a test that runs in CI carries its id in `@pytest.mark.req("S1.2.3")`, at the level
that the line is about; *partly* when a mark names the part that it shows (`part="..."`), or when the line is
about a running process (api, ops, idx, a setting) and no test runs one; *decided* when docs/scope.md settles
it; else *open*. `levels.py` reads the level of a test from its source. A mark that names no line is refused.
The wording comes from the design's acceptance page where that stands beside the project, else from the page
written before, so it can be checked anywhere.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from levels import LEVELS, ProcessTests  # a neighbour of this file

ROOT = Path(__file__).parents[1]
DESIGN = ROOT.parent / "shared" / "design" / "acceptance.md"
PAGE = ROOT / "docs" / "requirements.md"
SCOPE = ROOT / "docs" / "scope.md"

PROCESS_OWNERS = frozenset({"api", "ops", "idx"})
"""Owners whose lines are about a running process: a function alone cannot show them."""
OUT_OF_CI = frozenset({"slow", "skip", "skipif", "xfail"})
"""Marks that take a test out of the run that CI makes."""

_DESIGN_LINE = re.compile(r"^- \*\*(S\d\.\d+\.\d+)\*\* (.+?) \[([^\]]+)\]$")
_PAGE_LINE = re.compile(r"^\| (S\d\.\d+\.\d+) \| (.+?) \| ([^|]+?) \| (?:open|shown|partly|decided).*\|$")
_VARIABLE = re.compile(r"`[A-Z][A-Z0-9]*_[A-Z0-9_]+")


@dataclass(frozen=True, slots=True)
class ReqMark:
    """One mark: which test carries it, at which level, and which part of the line it shows (empty: all)."""

    test: str
    level: str
    part: str = ""


Test = ast.FunctionDef | ast.AsyncFunctionDef
Lines = dict[str, tuple[str, str]]
"""Line id -> (text, owner)."""
MarksOfLines = dict[str, list[ReqMark]]


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


class UnreadableMark(Exception):
    """A mark whose lines or part cannot be read from the source of its file."""


@dataclass(frozen=True, slots=True)
class _TestFile:
    """What the marks of one file may refer to."""

    where: str
    constants: dict[str, tuple[str, ...]]
    """Constants of the module that hold a text, or several."""

    def texts(self, node: ast.expr) -> tuple[str, ...]:
        """Return the texts that an expression stands for: a literal, or a constant of the module."""
        if isinstance(node, ast.Starred):
            return self.texts(node.value)
        if isinstance(node, ast.Name) and node.id in self.constants:
            return self.constants[node.id]
        if (found := _literal_texts(node)) is not None:
            return found
        raise UnreadableMark(
            f"{self.where}:{node.lineno}: {ast.unparse(node)} in pytest.mark.req: write texts, or a constant"
            " of the module that holds texts"
        )

    def req_calls(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        """Yield (line id, part) of the `pytest.mark.req(...)` calls below a node."""
        for call in ast.walk(node):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == "req"
            ):
                part = "".join(
                    text for word in call.keywords if word.arg == "part" for text in self.texts(word.value)
                )
                yield from ((name, part) for arg in call.args for name in self.texts(arg))


def _literal_texts(node: ast.expr) -> tuple[str, ...] | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, (ast.Tuple, ast.List)):
        texts = [each.value for each in node.elts if isinstance(each, ast.Constant)]
        if len(texts) == len(node.elts) and all(isinstance(text, str) for text in texts):
            return tuple(map(str, texts))
    return None


def _constants(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    return {
        target.id: texts
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and (texts := _literal_texts(node.value)) is not None
    }


def _is_left_out(nodes: list[ast.expr]) -> bool:
    """Whether decorators, or the value of a `pytestmark`, take tests out of the run that CI makes."""
    return any(
        isinstance(name, ast.Attribute) and name.attr in OUT_OF_CI
        for node in nodes
        for name in ast.walk(node)
    )


def _module_marks(tree: ast.Module) -> list[ast.expr]:
    return [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)
    ]


def _marks_in(
    body: list[ast.stmt], given: list[ast.expr], file: _TestFile
) -> Iterator[tuple[Test, str, str]]:
    """Yield (test, line id, part) of the tests that CI runs; the marks given are those of what is around."""
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        own = [*given, *node.decorator_list]
        if _is_left_out(own):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _marks_in(node.body, own, file)
        elif node.name.startswith("test_"):
            yield from ((node, name, part) for mark in own for name, part in file.req_calls(mark))


def marks(tests: Path) -> MarksOfLines:
    """Return line id -> the marks of tests that run in CI. Raises UnreadableMark."""
    found: MarksOfLines = defaultdict(list)
    levels = ProcessTests(tests)
    for path in sorted(tests.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        file = _TestFile(path.relative_to(tests.parent).as_posix(), _constants(tree))
        for test, name, part in _marks_in(tree.body, _module_marks(tree), file):
            found[name].append(ReqMark(f"{file.where}::{test.name}", levels.level(path, test), part))
    return dict(found)


def unknown(marked: MarksOfLines, lines: Lines) -> list[str]:
    """Return the marks that name no acceptance line."""
    return [
        f"{found[0].test} marks {name}, which is no acceptance line"
        for name, found in marked.items()
        if name not in lines
    ]


def needs_process(text: str, owner: str) -> bool:
    """Whether a line is about a running process: of api, ops or idx, or of a setting."""
    return bool(PROCESS_OWNERS & set(re.split(r"[ →]+", owner))) or bool(_VARIABLE.search(text))


def state_of(text: str, owner: str, found: list[ReqMark], *, decided: bool) -> str:
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


def page(lines: Lines, marked: MarksOfLines, decided: frozenset[str] = frozenset()) -> str:
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

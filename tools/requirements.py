"""docs/requirements.md: each acceptance line with its state, as the tests' own marks say.

A line is `shown` when a test that runs in CI carries its id in `@pytest.mark.req(...)`; nothing else can
make it so, and a mark that names no line is refused. The wording comes from the design's acceptance page
where that stands beside the project, else from the page written before, so it can be checked anywhere.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
DESIGN = ROOT.parent / "shared" / "design" / "acceptance.md"
PAGE = ROOT / "docs" / "requirements.md"

_DESIGN_LINE = re.compile(r"^- \*\*(S\d\.\d+\.\d+)\*\* (.+?) \[([^\]]+)\]$")
_PAGE_LINE = re.compile(r"^\| (S\d\.\d+\.\d+) \| (.+?) \| ([^|]+?) \| (?:open|shown).*\|$")


def wording() -> dict[str, tuple[str, str]]:
    """Line id → (text, owner)."""
    source, pattern = (DESIGN, _DESIGN_LINE) if DESIGN.exists() else (PAGE, _PAGE_LINE)
    found = {}
    for line in source.read_text(encoding="utf-8").splitlines():
        if match := pattern.match(line):
            name, text, owner = match.groups()
            found[name] = (text.replace("\\|", "|"), owner.strip())
    return found


def _marked_ids(node: ast.AST) -> list[str]:
    """Ids in the `pytest.mark.req(...)` decorators of a test, or in a module's `pytestmark`."""
    ids = []
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "req":
            ids += [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
    return ids


def _runs_in_ci(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """False where a decorator takes the test out of the run that CI makes."""
    words = {
        name.attr
        for call in node.decorator_list
        for name in ast.walk(call)
        if isinstance(name, ast.Attribute)
    }
    return not words & {"slow", "skip", "skipif", "xfail"}


def marks(tests: Path) -> dict[str, list[str]]:
    """Line id → the tests that carry it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(tests.rglob("test_*.py")):
        where = path.relative_to(tests.parent).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and _runs_in_ci(node):
                for decorator in node.decorator_list:
                    for name in _marked_ids(decorator):
                        found[name].append(f"{where}::{node.name}")
            elif isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
            ):
                for name in _marked_ids(node.value):
                    found[name].append(where)
    return dict(found)


def unknown(marked: dict[str, list[str]], lines: dict[str, tuple[str, str]]) -> list[str]:
    """Marks that name no acceptance line."""
    return [
        f"{tests[0]} marks {name}, which is no acceptance line"
        for name, tests in marked.items()
        if name not in lines
    ]


def _state(tests: list[str]) -> str:
    if not tests:
        return "open"
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    return f"shown by `{tests[0]}`{more}"


def page(lines: dict[str, tuple[str, str]], marked: dict[str, list[str]]) -> str:
    """The whole page."""
    shown = sum(1 for name in lines if name in marked)
    rows = [
        f"| {name} | {text.replace('|', chr(92) + '|')} | {owner} | {_state(marked.get(name, []))} |"
        for name, (text, owner) in lines.items()
    ]
    head = [
        "# Requirements",
        "",
        "Written by `make docs` from the marks of the tests (`@pytest.mark.req`); do not edit. A line is",
        "*shown* when a test that runs in CI carries its id, and *open* otherwise.",
        "",
        f"Shown: {shown} of {len(lines)}.",
        "",
        "| line | requirement | owner | state |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def render() -> str:
    """The page as it must be now; raises where a mark names nothing."""
    lines, marked = wording(), marks(ROOT / "tests")
    if wrong := unknown(marked, lines):
        raise SystemExit("\n".join(wrong))
    return page(lines, marked)

"""Marks of tests that name what they show, read from the source: `@pytest.mark.req("S1.2.3", part="...")`.

Imports no test. The level of each test comes from `levels.py`. A mark whose texts cannot be read is refused,
so that none is lost in silence.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from levels import ProcessTests  # a neighbour of this file

NEVER_RUN = frozenset({"skip", "skipif", "xfail"})
"""Marks that take a test out of every run, or may."""
LONG_RUN = frozenset({"slow"})
"""Marks that take a test out of the run that CI makes."""

Test = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class TestMark:
    """One mark: which test carries it, at which level, and which part it shows (empty: all)."""

    __test__ = False

    test: str
    level: str
    part: str = ""
    is_slow: bool = False
    """Whether CI leaves the test out."""


MarksByName = dict[str, list[TestMark]]


class UnreadableMark(Exception):
    """A mark whose names or part cannot be read from the source of its file."""


@dataclass(frozen=True, slots=True)
class _TestFile:
    """What the marks of one file may refer to."""

    where: str
    mark: str
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
            f"{self.where}:{node.lineno}: {ast.unparse(node)} in pytest.mark.{self.mark}: write texts, or a"
            " constant of the module that holds texts"
        )

    def named(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        """Yield (name, part) of the calls of the mark below a node."""
        for call in ast.walk(node):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == self.mark
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


def _has_mark(nodes: list[ast.expr], names: frozenset[str]) -> bool:
    """Whether decorators, or the value of a `pytestmark`, carry one of these marks."""
    return any(
        isinstance(name, ast.Attribute) and name.attr in names for node in nodes for name in ast.walk(node)
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
) -> Iterator[tuple[Test, str, str, bool]]:
    """Yield (test, name, part, whether it is slow); the marks given are those of what is around."""
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        own = [*given, *node.decorator_list]
        if _has_mark(own, NEVER_RUN):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _marks_in(node.body, own, file)
        elif node.name.startswith("test_"):
            is_slow = _has_mark(own, LONG_RUN)
            yield from ((node, name, part, is_slow) for mark in own for name, part in file.named(mark))


def read_marks(tests: Path, mark: str) -> MarksByName:
    """Return name -> the marks of tests that are run. Raises UnreadableMark."""
    found: MarksByName = defaultdict(list)
    levels = ProcessTests(tests)
    for path in sorted(tests.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        file = _TestFile(path.relative_to(tests.parent).as_posix(), mark, _constants(tree))
        for test, name, part, is_slow in _marks_in(tree.body, _module_marks(tree), file):
            level = levels.level(path, test)
            found[name].append(TestMark(f"{file.where}::{test.name}", level, part, is_slow))
    return dict(found)

"""Tracked files, Python trees and the names in them, for the rules of this folder; programs of tools/."""

from __future__ import annotations

import ast
import importlib.util
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

__all__ = [
    "Name",
    "comments",
    "docstrings",
    "labels_of_tests",
    "load_tool",
    "messages",
    "names",
    "python_files",
    "shipped",
    "tracked",
    "tree",
    "written",
]


TOOLS = Path(__file__).parents[3] / "tools"


@dataclass(frozen=True, slots=True)
class Name:
    """A name that a source file declares."""

    kind: str
    """module, class, function, method or field; of a test also test or case."""
    text: str
    path: Path
    line: int


@cache
def tracked(root: Path) -> tuple[Path, ...]:
    """Return every file that git tracks or would track, or every file where there is no git."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode == 0 and (root / ".git").exists():
        return tuple(root / line for line in found.stdout.splitlines() if (root / line).is_file())
    return tuple(path for path in root.rglob("*") if path.is_file())


def python_files(root: Path, *, with_generated: bool = False) -> Iterator[Path]:
    """Yield every Python file, tests included; generated ones on request."""
    yield from sorted(
        path
        for path in tracked(root)
        if path.suffix == ".py" and (with_generated or "generated" not in path.relative_to(root).parts)
    )


def shipped(root: Path, *, with_generated: bool = False) -> Iterator[Path]:
    """Yield the Python files that ship: those below a `src` folder of the repository."""
    files = python_files(root, with_generated=with_generated)
    yield from (path for path in files if "src" in path.relative_to(root).parts)


def written(root: Path) -> Iterator[Path]:
    """Yield the Python files that do not ship: tests and tools."""
    yield from (path for path in python_files(root) if "src" not in path.relative_to(root).parts)


@cache
def tree(path: Path) -> ast.Module:
    """Return a file as a syntax tree, read once for all rules."""
    return ast.parse(path.read_text(encoding="utf-8"))


def names(path: Path) -> Iterator[Name]:
    """Yield the module, its classes, functions, methods and annotated fields."""
    if path.stem not in {"__init__", "__main__"}:
        yield Name("module", path.stem, path, 1)
    yield from _names_in(tree(path).body, path, in_class=False)


def labels_of_tests(path: Path) -> Iterator[Name]:
    """Yield the names of test functions, and the ids of their cases."""
    for node in ast.walk(tree(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            yield Name("test", node.name, path, node.lineno)
        elif isinstance(node, ast.keyword) and node.arg == "id" and isinstance(node.value, ast.Constant):
            yield Name("case", str(node.value.value), path, node.value.lineno)


def _names_in(body: list[ast.stmt], path: Path, *, in_class: bool) -> Iterator[Name]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield Name("class", node.name, path, node.lineno)
            yield from _names_in(node.body, path, in_class=True)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Name("method" if in_class else "function", node.name, path, node.lineno)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and in_class:
            yield Name("field", node.target.id, path, node.lineno)
        elif isinstance(node, ast.If):
            yield from _names_in([*node.body, *node.orelse], path, in_class=in_class)


def _documenting(node: ast.stmt) -> ast.Constant | None:
    value = node.value if isinstance(node, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


@cache
def docstrings(path: Path) -> tuple[tuple[int, str, str], ...]:
    """Return (line, kind of what it documents, text) of every docstring, those of attributes included."""
    found = []
    for node in ast.walk(tree(path)):
        body = getattr(node, "body", None)
        for position, statement in enumerate(body if isinstance(body, list) else []):
            if (text := _documenting(statement)) is not None:
                kind = type(node).__name__ if position == 0 else "attribute"
                found.append((text.lineno, kind, str(text.value).strip()))
    return tuple(found)


@cache
def messages(path: Path) -> tuple[tuple[int, str], ...]:
    """Return (line, text) of every string with more than one word that is no docstring."""
    documentation = {line for line, _, _ in docstrings(path)}
    found = []
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if " " in node.value.strip() and node.lineno not in documentation:
            found.append((node.lineno, node.value))
    return tuple(found)


@cache
def comments(path: Path) -> tuple[tuple[int, str], ...]:
    """Return (line, text) of every comment."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return tuple((token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT)


def parts_of(name: str) -> list[str]:
    """Return the words of a name in snake or camel case, in lower case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [part for part in spaced.lower().split("_") if part]


@cache
def load_tool(name: str) -> ModuleType:
    """Return a program of tools/ as a module, imported once; the folder is no package."""
    spec = importlib.util.spec_from_file_location(f"strider_tool_{name}", TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module

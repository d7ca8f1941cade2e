"""What a test runs, read from its source: functions, a port, a real server, one of our processes, or all.

A test runs one of our processes when its own body, the fixtures it takes or the helpers that these refer to
start a Python of ours (`subprocess` with `sys.executable`) and name what it runs: `-m strider.<name>`, or a
program of the tests that calls `run_service`. Everything else follows from the folder of the test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

LEVELS = ("unit", "contract", "adapter", "process", "e2e")
"""Functions, a port on its fake and the real part, a real server, one of our processes, all of them."""
LEVEL_OF_FOLDER = {"contract": "contract", "integration": "adapter", "faults": "adapter", "e2e": "adapter"}
"""Folder of tests/ -> level of a test that starts no process of ours; every other folder is `unit`."""

STARTS = frozenset({"Popen", "create_subprocess_exec", "create_subprocess_shell"})
RUNS = frozenset({"run", "call", "check_call", "check_output"})
"""Functions that start a process: by their own name, and as `subprocess.<name>`."""
PYTHON, SPAWN, PROGRAM = "python", "spawn", "program"
"""What must come together in a test, its fixtures and its helpers, so that it runs one of our processes."""
_MODULE_OPTION = re.compile(r"(^|\s)-m strider\.")

Symbol = tuple[Path, str]
"""A name at the top of a module."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def _without_annotations(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one, but those of type hints: a hint starts nothing."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _without_annotations(child)


def _is_spawn(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id in STARTS
    if not isinstance(node, ast.Attribute):
        return False
    of_subprocess = isinstance(node.value, ast.Name) and node.value.id == "subprocess"
    return node.attr in STARTS or (of_subprocess and node.attr in RUNS)


def facts(node: ast.AST) -> set[str]:
    """Return which of python, spawn and program stand in a piece of source."""
    nodes = list(_without_annotations(node))
    texts = {each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    is_module = "-m" in texts and any(text.startswith("strider.") for text in texts)
    is_program = any(isinstance(each, ast.Name) and each.id == "run_service" for each in nodes)
    python = any(isinstance(each, ast.Attribute) and ast.unparse(each) == "sys.executable" for each in nodes)
    found = {
        PYTHON: python,
        SPAWN: any(map(_is_spawn, nodes)),
        PROGRAM: is_module or is_program or any(map(_MODULE_OPTION.search, texts)),
    }
    return {name for name, is_there in found.items() if is_there}


class TestModule:
    """One module below tests/: its names, what it imports and what each name refers to."""

    __test__ = False

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self._root = root
        self.tree = ast.parse(path.read_text(encoding="utf-8"))

    @cached_property
    def symbols(self) -> dict[str, list[ast.stmt]]:
        """Return name -> the statements at the top of the module that define it; "" is all the others."""
        found: dict[str, list[ast.stmt]] = {}
        for node in self.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names = [node.name]
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [
                    each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
                ]
            else:
                names = [""]
            for name in names:
                found.setdefault(name, []).append(node)
        return found

    @cached_property
    def imports(self) -> dict[str, Symbol]:
        """Return local name -> the module of the tests and the name there (empty: the module itself)."""
        found = {}
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            for alias in node.names:
                for words, name in ((node.module, alias.name), (f"{node.module or ''}.{alias.name}", "")):
                    if path := self._resolve(words or "", node.level):
                        found[alias.asname or alias.name] = (path, name)
                        break
        return found

    def _resolve(self, dotted: str, level: int) -> Path | None:
        base = self._root.parent if not level else self.path.parents[level - 1]
        words = [word for word in dotted.split(".") if word]
        path = base.joinpath(*words).with_suffix(".py") if words else base / "__init__.py"
        return path if path.is_file() and path.is_relative_to(self._root) else None

    def is_fixture(self, name: str) -> bool:
        """Whether this name is a fixture that the module defines."""
        return any(
            "fixture" in ast.unparse(decorator)
            for node in self.symbols.get(name, ())
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for decorator in node.decorator_list
        )

    def refers_to(self, node: ast.AST) -> Iterator[Symbol]:
        """Yield the names of the tests that a piece of source refers to, and programs that lie beside it."""
        for each in _without_annotations(node):
            if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
                path, name = self.imports.get(each.value.id, (None, ""))
                if path and not name:
                    yield path, each.attr
            if isinstance(each, ast.Name):
                yield self.imports.get(each.id, (self.path, each.id))
            if isinstance(each, ast.Constant) and str(each.value).endswith(".py"):
                yield self.path.parent / str(each.value), ""


class ProcessTests:
    """Knows of each test below a folder whether it runs one of our processes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._modules: dict[Path, TestModule | None] = {}

    def level(self, path: Path, test: Function | ast.ClassDef) -> str:
        """Return the level of a test."""
        folder = path.relative_to(self._root).parts[0]
        if not self._runs_process(path, test):
            return LEVEL_OF_FOLDER.get(folder, "unit")
        return "e2e" if folder == "e2e" else "process"

    def _runs_process(self, path: Path, test: ast.AST) -> bool:
        module = self._module(path)
        assert module is not None
        found = facts(test)
        waiting = [*module.refers_to(test), *self._fixtures(path, test)]
        seen: set[Symbol] = set()
        while waiting:
            symbol = waiting.pop()
            if symbol in seen:
                continue
            seen.add(symbol)
            owner = self._module(symbol[0])
            for node in owner.symbols.get(symbol[1], ()) if owner else ():
                found |= facts(node)
                waiting += owner.refers_to(node)
                if owner.is_fixture(symbol[1]):
                    waiting += self._fixtures(symbol[0], node)
        return {PYTHON, SPAWN, PROGRAM} <= found

    def _fixtures(self, path: Path, node: ast.AST) -> Iterator[Symbol]:
        """Yield the fixtures that a test or fixture takes: of its module, else of the nearest conftest.py."""
        functions = [
            each for each in ast.walk(node) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        taken = {each.arg for function in functions for each in function.args.args + function.args.kwonlyargs}
        places = [
            path,
            *(folder / "conftest.py" for folder in path.parents if folder.is_relative_to(self._root)),
        ]
        for name in taken:
            for place in places:
                module = self._module(place)
                if module and (place, name) != (path, getattr(node, "name", "")) and module.is_fixture(name):
                    yield place, name
                    break

    def _module(self, path: Path) -> TestModule | None:
        if path not in self._modules:
            self._modules[path] = TestModule(path, self._root) if path.is_file() else None
        return self._modules[path]

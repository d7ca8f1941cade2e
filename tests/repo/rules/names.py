"""Rules about names and sizes: words of the glossary, unique classes, folders, families of files, functions.

Each rule takes the root of a tree and returns what breaks it, so that it can be shown a tree to reject.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from .sources import labels_of_tests, names, parts_of, python_files, shipped, tree, written

MOST_MODULES = 14
"""Modules in one folder, its `__init__` not counted; more hide each other."""
LISTS_OF_COMMANDS = ("commands",)
"""Folders that are a list by their nature, and their tests: one module for each command."""
MOST_SIBLINGS = 2
"""Modules of one folder that begin with the same word; three are a package."""
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 40
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@cache
def glossary(root: Path) -> dict[str, Any]:
    """Return docs/glossary.yaml, or an empty one where the tree has none."""
    page = root / "docs" / "glossary.yaml"
    loaded = yaml.safe_load(page.read_text(encoding="utf-8")) if page.exists() else {}
    return {"terms": [], "allowed": {}, "banned_turns": {}} | loaded


def banned_turns(root: Path) -> dict[re.Pattern[str], str]:
    """Return the glossary's banned turns of phrase, each with what to write instead."""
    return {re.compile(pattern): better for pattern, better in glossary(root)["banned_turns"].items()}


def _banned_words(root: Path) -> frozenset[str]:
    return frozenset(word for term in glossary(root)["terms"] for word in term["instead_of"])


def foreign_words(root: Path) -> list[str]:
    """Find names with a word that the glossary replaces."""
    banned, allowed = _banned_words(root), glossary(root)["allowed"]
    found = []
    for path in shipped(root):
        for name in names(path):
            wrong = sorted(banned & set(parts_of(name.text)))
            if wrong and name.text not in allowed:
                place = f"{path.relative_to(root)}:{name.line}"
                found.append(f"{place}: {name.kind} {name.text}: {', '.join(wrong)} is not in the glossary")
    return found


def foreign_words_in_tests(root: Path) -> list[str]:
    """Find tests, and ids of their cases, with words that the glossary replaces or bans."""
    banned, turns = _banned_words(root), banned_turns(root)
    found = []
    for path in written(root):
        for label in labels_of_tests(path):
            words = re.split(r"[\W_]+", label.text)
            text = " ".join(words)
            wrong = sorted(banned & {word.lower() for word in words})
            wrong += [match[0] for turn in turns if (match := turn.search(text))]
            if wrong:
                place = f"{path.relative_to(root)}:{label.line}"
                found.append(f"{place}: {label.kind} {label.text}: {', '.join(wrong)} is not in the glossary")
    return found


def repeated_classes(root: Path) -> list[str]:
    """Find class names that stand in more than one place: a class must be found by one search."""
    places = defaultdict(list)
    for path in shipped(root):
        for name in names(path):
            if name.kind == "class":
                places[name.text].append(f"{path.relative_to(root)}:{name.line}")
    return [f"class {name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]


def _modules_by_folder(root: Path) -> dict[Path, list[str]]:
    folders = defaultdict(list)
    for path in python_files(root):
        if path.stem != "__init__":
            folders[path.parent].append(path.stem.removeprefix("test_"))
    return folders


def crowded_folders(root: Path) -> list[str]:
    """Find folders with more modules than a reader can survey."""
    return [
        f"{folder.relative_to(root)}: {len(modules)} modules, at most {MOST_MODULES}"
        for folder, modules in sorted(_modules_by_folder(root).items())
        if len(modules) > MOST_MODULES and folder.name not in LISTS_OF_COMMANDS
    ]


def _families(modules: Iterable[str]) -> list[tuple[str, int]]:
    counts = Counter(module.split("_")[0] for module in modules if not module.startswith("_"))
    return [(word, count) for word, count in counts.items() if count > MOST_SIBLINGS]


def prefix_families(root: Path) -> list[str]:
    """Find modules that share a prefix instead of a folder."""
    return [
        f"{folder.relative_to(root)}: {count} modules begin with {word}: make it a package"
        for folder, modules in sorted(_modules_by_folder(root).items())
        if "src" in folder.relative_to(root).parts and folder.name not in LISTS_OF_COMMANDS
        for word, count in _families(modules)
    ]


def long_files(root: Path) -> list[str]:
    """Find files that are longer than a subject."""
    found = []
    for path in shipped(root):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > MOST_FILE_LINES:
            found.append(f"{path.relative_to(root)}: {lines} lines, at most {MOST_FILE_LINES}")
    return found


def long_functions(root: Path) -> list[str]:
    """Find functions that are longer than one idea."""
    found = []
    for path in shipped(root):
        for node in ast.walk(tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_FUNCTION_LINES:
                    place = f"{path.relative_to(root)}:{node.lineno}"
                    found.append(f"{place}: {node.name} has {lines} lines, at most {MOST_FUNCTION_LINES}")
    return found


def late_constants(root: Path) -> list[str]:
    """Find constants that stand below a function that uses them; tables of functions have to stand there."""
    found = []
    for path in shipped(root):
        body = tree(path).body
        own = {node.name for node in body if isinstance(node, _DEFINITIONS)}
        defined = {
            target.id: node.lineno
            for node in body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            and not own & {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and target.id.lstrip("_").isupper()
        }
        uses = _first_uses(body)
        found += [
            f"{path.relative_to(root)}:{line}: {name} stands below its use in line {uses[name]}"
            for name, line in defined.items()
            if uses.get(name, line) < line
        ]
    return found


def _first_uses(body: list[ast.stmt]) -> dict[str, int]:
    first: dict[str, int] = {}
    for node in body:
        if isinstance(node, _DEFINITIONS):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                    first.setdefault(inner.id, inner.lineno)
    return first

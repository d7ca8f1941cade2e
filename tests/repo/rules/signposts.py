"""Rules about sections "Where is ...?": their files exist, and each names symbols that its file defines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from .sources import tracked

__all__ = ["rows_without_a_symbol", "sections", "wrong_signposts"]

SECTION = re.compile(r"(?ms)^## Where is …[^\n]*\?\n(.*?)(?=^#|\Z)")
"""One spelling, so that the sections are found, by a reader too."""
FILE = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|lua))`(?:\]\(([^)]*)\))?(?:\s+\(((?:[^()]|\(\))*)\))?")
SYMBOL = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)(?:\(\))?`")
LUA_FUNCTION = re.compile(r"(?m)^\s*(?:local )?function ([A-Za-z_]\w*)\(")


def wrong_signposts(root: Path) -> list[str]:
    """Find files of the sections that do not exist or are ambiguous, and symbols that they do not define.

    A symbol stands in parentheses behind its file: `core/retry.py` (`retry_or_close`, `Policy.wait`).
    """
    found = []
    for page, section in sections(root):
        for file, target, remark in FILE.findall(section):
            places = _places(root, page, file, target)
            where = f"{page.relative_to(root).as_posix()}: {file}"
            if len(places) != 1:
                found.append(f"{where}: {'no such file' if not places else 'stands for several files'}")
                continue
            found += [
                f"{where} does not define {symbol}"
                for symbol in SYMBOL.findall(remark)
                if symbol not in _definitions(places[0])
            ]
    return found


def rows_without_a_symbol(root: Path) -> list[str]:
    """Find rows in the table of ARCHITECTURE.md that name no file, and files without a symbol."""
    found = []
    for page, section in sections(root):
        if page != root / "ARCHITECTURE.md":
            continue
        for row in re.findall(r"(?m)^\| (?!rule |-)(.*)$", section):
            files = FILE.findall(row)
            rule = row.split(" | ")[0]
            found += [f"{rule}: names no file"] if not files else []
            found += [
                f"{rule}: {file} without a symbol" for file, _, remark in files if not SYMBOL.search(remark)
            ]
    return found


def sections(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the sections "Where is ...?" of ARCHITECTURE.md and of all members, with their pages."""
    pages = [root / "ARCHITECTURE.md", root / "cli" / "README.md"]
    pages += sorted(
        path for kind in ("libs", "services", "examples") for path in root.glob(f"{kind}/*/README.md")
    )
    for page in filter(Path.exists, pages):
        for section in SECTION.findall(page.read_text(encoding="utf-8")):
            yield page, section


def _places(root: Path, page: Path, file: str, target: str) -> Sequence[Path]:
    """Return the files that a name stands for: where it links, in the member's package, else in any package.

    A path is complete below `src/strider` or below the package; a bare name of a script is unique.
    """
    if target:
        linked = (page.parent / target).resolve()
        return [linked] if linked.is_file() and linked.as_posix().endswith(f"/{file}") else []
    sources = _sources(root)
    member = [path for path in sources if path.is_relative_to(page.parent)] if page.parent != root else []
    for candidates, depth in ((member, 1), (sources, 0)):
        places = [path for path in candidates if _below_package(path, depth) == file]
        if places:
            return places
    return [path for path in sources if path.suffix == ".lua" and path.name == file]


def _below_package(path: Path, depth: int) -> str:
    parts = path.parts
    return "/".join(parts[parts.index("strider", parts.index("src")) + 1 + depth :])


@cache
def _sources(root: Path) -> tuple[Path, ...]:
    return tuple(
        path
        for path in tracked(root)
        if path.suffix in {".py", ".lua"} and "/src/strider/" in path.as_posix()
    )


@cache
def _definitions(path: Path) -> frozenset[str]:
    """Return what a file defines: functions, classes, constants, members as `Class.member` and alone."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".lua":
        return frozenset(LUA_FUNCTION.findall(text))
    return frozenset(_names(ast.parse(text).body))


def _names(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            members = list(_names(node.body))
            yield from (node.name, *members, *(f"{node.name}.{member}" for member in members))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id

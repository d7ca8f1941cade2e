"""The module table of each README: what a package holds, by the first lines of its docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARK = "<!-- modules -->"


def _summary(path: Path) -> str:
    documentation = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return documentation.split("\n")[0].strip().replace("|", "\\|")


def table(package: Path) -> str:
    """One row for each module below a package, folders as headings of their own rows."""
    rows = ["| module | what it holds |", "|---|---|"]
    for path in sorted(package.rglob("*.py"), key=_order):
        place = path.relative_to(package)
        if "generated" in place.parts or "versions" in place.parts or place.as_posix() == "__init__.py":
            continue
        if path.stem != "__init__":
            rows.append(f"| `{place.as_posix().removesuffix('.py')}` | {_summary(path)} |")
        elif _summary(path):
            rows.append(f"| **`{place.parent.as_posix()}/`** | {_summary(path)} |")
    return "\n".join(rows)


def _order(path: Path) -> tuple[str, ...]:
    """A folder's `__init__` comes first, then its modules."""
    return (*path.parts[:-1], "" if path.stem == "__init__" else path.stem)


def readmes() -> dict[Path, Path]:
    """README with a place for the table → the package that it describes."""
    projects = [
        *ROOT.glob("libs/*/src/strider/*/"),
        *ROOT.glob("services/*/src/strider/*/"),
        *ROOT.glob("cli/src/strider/*/"),
        *ROOT.glob("examples/*/src/strider/*/"),
    ]
    found = {}
    for package in sorted(projects):
        page = package.parents[2] / "README.md"
        if package.name != "__pycache__" and page.exists() and MARK in page.read_text(encoding="utf-8"):
            found[page] = package
    return found

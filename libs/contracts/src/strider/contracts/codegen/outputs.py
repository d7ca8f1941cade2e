"""What is made of the declarations: which file, with which text."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .classes import render_classes
from .declarations import DeclarationError, Declarations
from .enums import render_enums
from .layout import NOTICE
from .loader import load_declarations
from .registry import render_registry
from .releases import render_release_files

GENERATED: Final = Path("libs", "contracts", "src", "strider", "contracts", "generated")
"""Where the code goes, seen from the repository's root."""

_INIT: Final = f'"""What is made of the declarations. {NOTICE}"""\n'


def render_outputs(schemas: Path) -> dict[Path, str]:
    """Give every generated file of the package with its text; raises DeclarationError."""
    declarations = load_declarations(schemas)
    folder = schemas.parent / GENERATED
    return {folder / name: content for name, content in render_all(declarations).items()}


def render_all(declarations: Declarations) -> dict[str, str]:
    """Give the text of each file of `generated/`."""
    return {
        "__init__.py": _INIT,
        "events.py": render_classes(declarations.schemas.values()),
        "topics.py": render_registry(declarations),
        "words.py": render_enums(declarations.value_lists.values()),
        "schemas.json": _schemas(declarations),
        "examples.json": _examples(declarations),
    }


def write_outputs(files: Mapping[Path, str]) -> list[Path]:
    """Write what has changed, and say what that was."""
    changed = [path for path, content in files.items() if _current(path) != content]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    return changed


def differences(files: Mapping[Path, str]) -> str:
    """Show what writing would change; empty where all is current."""
    parts: list[str] = []
    for path, content in files.items():
        old, new = _current(path).splitlines(keepends=True), content.splitlines(keepends=True)
        parts += difflib.unified_diff(old, new, f"{path.name} (is)", f"{path.name} (should be)")
    return "".join(parts)


def render_release(schemas: Path, version: str) -> dict[Path, str]:
    """Give the files that freeze the current schemas under a version; raises DeclarationError."""
    return render_release_files(load_declarations(schemas), schemas / "released", version)


def _current(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _schemas(declarations: Declarations) -> str:
    """One line a schema: a change shows in a diff, and nobody reads it by eye."""
    current = {name: schema.resolved for name, schema in declarations.schemas.items()}
    released = sorted(declarations.release.schemas.items())
    older = {name: schema for name, schema in released if name not in current}
    words = {name: list(words.values) for name, words in declarations.value_lists.items()}
    parts = [
        f'"current": {{\n{_lines(current)}\n}}',
        f'"released": {json.dumps(older, ensure_ascii=False)}',
        f'"words": {{\n{_lines(words)}\n}}',
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _examples(declarations: Declarations) -> str:
    examples: dict[str, Any] = {
        f"{example.event}/{example.name}": example.content for example in declarations.examples
    }
    return f"{{\n{_lines(examples)}\n}}\n"


def _lines(values: Mapping[str, Any]) -> str:
    return ",\n".join(
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()
    )


__all__ = [
    "DeclarationError",
    "differences",
    "render_all",
    "render_outputs",
    "render_release",
    "write_outputs",
]

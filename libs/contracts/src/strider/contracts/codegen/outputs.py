"""Generated files: which file gets which text, writing and comparing them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .classes import render_classes, render_enums
from .declarations import Declarations
from .layout import PYTHON_NOTICE
from .loader import load_declarations
from .registry import render_registry
from .releases import render_release_files

GENERATED: Final = Path("libs", "contracts", "src", "strider", "contracts", "generated")
"""Folder of the generated code, relative to the root of the repository."""

_INIT: Final = f'"""Code generated from the declarations. {PYTHON_NOTICE}"""\n'


def render_outputs(schemas: Path) -> dict[Path, str]:
    """Return every generated file of the package with its text; raises DeclarationError."""
    declarations = load_declarations(schemas)
    folder = schemas.parent / GENERATED
    return {folder / name: content for name, content in render_all(declarations).items()}


def render_all(declarations: Declarations) -> dict[str, str]:
    """Return the text of each file of `generated/`."""
    return {
        "__init__.py": _INIT,
        "events.py": render_classes(declarations.schemas.values()),
        "topics.py": render_registry(declarations),
        "enums.py": render_enums(declarations.value_lists.values()),
        "schemas.json": _schemas_json(declarations),
        "examples.json": _examples_json(declarations),
    }


def write_outputs(files: Mapping[Path, str]) -> list[Path]:
    """Write the files that differ and return their paths."""
    changed = [path for path, content in files.items() if _current_text(path) != content]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    return changed


def differences(files: Mapping[Path, str]) -> str:
    """Return a diff of what writing would change; empty where all files are current."""
    parts: list[str] = []
    for path, content in files.items():
        old, new = _current_text(path).splitlines(keepends=True), content.splitlines(keepends=True)
        parts += difflib.unified_diff(old, new, f"{path.name} (is)", f"{path.name} (should be)")
    return "".join(parts)


def render_release(schemas: Path, version: str) -> dict[Path, str]:
    """Return the files that freeze the current schemas under a version; raises DeclarationError."""
    return render_release_files(load_declarations(schemas), schemas / "released", version)


def _current_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _schemas_json(declarations: Declarations) -> str:
    """Return the schemas as JSON, one line each, so that changes show in a diff."""
    current = {name: schema.resolved for name, schema in declarations.schemas.items()}
    released = sorted(declarations.release.schemas.items())
    older = {name: schema for name, schema in released if name not in current}
    value_lists = {name: list(value_list.values) for name, value_list in declarations.value_lists.items()}
    parts = [
        f'"current": {{\n{_json_lines(current)}\n}}',
        f'"released": {json.dumps(older, ensure_ascii=False)}',
        f'"words": {{\n{_json_lines(value_lists)}\n}}',
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _examples_json(declarations: Declarations) -> str:
    examples: dict[str, Any] = {
        f"{example.event}/{example.name}": example.content for example in declarations.examples
    }
    return f"{{\n{_json_lines(examples)}\n}}\n"


def _json_lines(values: Mapping[str, Any]) -> str:
    return ",\n".join(
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()
    )

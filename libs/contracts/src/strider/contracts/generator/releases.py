"""Released schemas: none of them ever changes or goes.

A schema that was released may still be in a topic, so its file stays, and its fingerprint with it.
Defaults are no part of a fingerprint, but readers fill in what is missing with them: they are
compared with the released file. Docs may become better.
A change is a new version under a new name; whether the two can read each other is judged elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from strider.contracts.book_nodes import Node, canonical_form, fingerprint, read_schema

from .declarations import DeclarationError, Declarations, Schema


def fingerprint_of(schema: Any) -> str:
    """Give the CRC-64-AVRO fingerprint of a schema in hex, in the byte order of the wire."""
    return fingerprint(canonical_form(read_schema(schema))).hex()


def check_release(declarations: Declarations) -> None:
    """Refuse a released schema that has moved, or that has gone."""
    release = declarations.release
    for name, (known, _since) in release.manifest.items():
        file = f"schemas/released/{name}.avsc"
        if name not in release.schemas:
            raise DeclarationError(file, "", "was released, and is gone")
        if fingerprint_of(release.schemas[name]) != known:
            raise DeclarationError(file, "", "was released, and has changed")
        schema = declarations.schemas.get(name)
        if schema is not None and fingerprint_of(schema.resolved) != known:
            raise DeclarationError(schema.file, "", "was released: a change needs a new version of the file")
        if schema is not None:
            _require_same_defaults(schema, release.schemas[name])
    for name in release.schemas:
        if name not in release.manifest:
            raise DeclarationError(f"schemas/released/{name}.avsc", "", "is not in manifest.json")


def _require_same_defaults(schema: Schema, released: Any) -> None:
    before, now = (dict(_defaults(read_schema(each))) for each in (released, schema.resolved))
    for path in sorted(before.keys() | now.keys()):
        if before.get(path) != now.get(path):
            change = f"its default was {before.get(path, 'none')} and is {now.get(path, 'none')}"
            raise DeclarationError(
                schema.file, path, f"was released: {change}, which needs a new version of the file"
            )


def _defaults(node: Node, path: str = "") -> Iterator[tuple[str, str]]:
    """Every default by its place, as JSON: to Python 0, 0.0 and false are one."""
    if node.default is not None:
        yield f"{path}[]", json.dumps(node.default)
    for field in node.fields:
        place = f"{path}.{field.name}" if path else field.name
        if field.has_default:
            yield place, json.dumps(field.default, sort_keys=True)
        yield from _defaults(field.node, place)
    for part in node.parts:
        yield from _defaults(part, path)


def release_files(declarations: Declarations, folder: Path, version: str) -> dict[Path, str]:
    """Give the files that add the current schemas to what was released."""
    check_release(declarations)
    manifest = dict(declarations.release.manifest)
    files: dict[Path, str] = {}
    for name, schema in declarations.schemas.items():
        manifest.setdefault(name, (fingerprint_of(schema.resolved), version))
        if name not in declarations.release.schemas:
            files[folder / f"{name}.avsc"] = _json(schema.resolved)
    entries = {
        name: {"fingerprint": known, "since": since} for name, (known, since) in sorted(manifest.items())
    }
    files[folder / "manifest.json"] = _json(entries)
    return files


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"

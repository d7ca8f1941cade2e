"""Released schemas: checks that none was changed, files of a release, new versions.

Messages of a released schema may still be in a topic, so its file and its fingerprint stay. Defaults and
value lists are not part of a fingerprint, but readers depend on both: they are compared with the released
file, and a released value stays in its list. Docs may be improved. SHA256SUMS beside the files, which
`sha256sum --check` reads as well, shows that no released file was edited. A change is a new version under a
new name; whether versions can read each other is checked by `avro.compatibility`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from strider.contracts.avro.schema_model import (
    SchemaError,
    SchemaNode,
    canonical_form,
    fingerprint,
    parse_schema_tree,
)

from .declarations import (
    DeclarationError,
    Declarations,
    RecordType,
    ReleasedSchemas,
    SchemaDeclaration,
)

CHECKSUMS_FILE: Final = "SHA256SUMS"
"""Name of the file with the digests of all released files."""

RELEASED_VALUES_FILE: Final = "words.json"
"""Name of the file with the released value lists."""

_VERSION: Final = re.compile(r"\d+\.\d+\.\d+", re.ASCII)

_CHECKSUM_LINE: Final = re.compile(r"([0-9a-f]{64}) [ *](\S+)")


def fingerprint_of(schema: Any) -> str:
    """Return the CRC-64-AVRO fingerprint of a schema in hex, in wire byte order."""
    return fingerprint(canonical_form(parse_schema_tree(schema))).hex()


def check_release(declarations: Declarations) -> None:
    """Refuse released schemas that were changed or removed."""
    release = declarations.release
    for name, (known, _since) in release.manifest.items():
        file = f"schemas/released/{name}.avsc"
        if name not in release.schemas:
            raise DeclarationError(file, "", "was released and must not be removed")
        if _fingerprint_in(file, release.schemas[name]) != known:
            raise DeclarationError(file, "", "was released and must not change")
        schema = declarations.schemas.get(name)
        if schema is not None and fingerprint_of(schema.resolved) != known:
            raise DeclarationError(schema.file, "", "was released: a change needs a new version of the file")
        if schema is not None:
            _require_unchanged(schema, release.schemas[name])
    for name in release.schemas:
        if name not in release.manifest:
            raise DeclarationError(f"schemas/released/{name}.avsc", "", "is not in manifest.json")
    _check_released_values(declarations)
    _check_files(release)


def _fingerprint_in(file: str, schema: Any) -> str:
    try:
        return fingerprint_of(schema)
    except SchemaError as failure:
        raise DeclarationError(
            file, "", f"was released and must not change: it is not a valid schema any more ({failure})"
        ) from failure


def _require_unchanged(schema: SchemaDeclaration, released: Any) -> None:
    """Compare what a fingerprint does not cover: defaults and value lists."""
    old, new = parse_schema_tree(released), parse_schema_tree(schema.resolved)
    for name, find in (("default was", _defaults), ("words were", _value_lists)):
        before, now = dict(find(old)), dict(find(new))
        for path in sorted(before.keys() | now.keys()):
            if before.get(path) != now.get(path):
                verb = "is" if name.endswith("was") else "are"
                change = f"its {name} {before.get(path, 'none')} and {verb} {now.get(path, 'none')}"
                raise DeclarationError(
                    schema.file, path, f"was released: {change}, which needs a new version of the file"
                )


def _check_released_values(declarations: Declarations) -> None:
    """Require every released value in its list; a list that no event uses any more may be removed."""
    for name, released in declarations.release.value_lists.items():
        current = declarations.value_lists.get(name)
        if current is None:
            continue
        for word in released:
            if word not in current.values:
                raise DeclarationError(current.file, f"words.{word}", "was released and must not be removed")


def _check_files(release: ReleasedSchemas) -> None:
    for file, known in release.sums.items():
        if file not in release.actual_sums:
            raise DeclarationError(f"schemas/released/{file}", "", "was released and must not be removed")
        if release.actual_sums[file] != known:
            raise DeclarationError(
                f"schemas/released/{file}",
                "",
                f"was released and must not change: its digest in {CHECKSUMS_FILE} differs",
            )
    for file in release.actual_sums:
        if file not in release.sums:
            raise DeclarationError(f"schemas/released/{file}", "", f"is not in {CHECKSUMS_FILE}")


def _value_lists(node: SchemaNode, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every value list by the path of its field."""
    for field in node.fields:
        place = f"{path}.{field.name}" if path else field.name
        if field.value_list is not None:
            yield place, field.value_list
        yield from _value_lists(field.node, place)
    for part in node.children:
        yield from _value_lists(part, path)


def _defaults(node: SchemaNode, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every default by path, as JSON: in Python 0, 0.0 and false are equal."""
    if node.default is not None:
        yield f"{path}[]", json.dumps(node.default)
    for field in node.fields:
        place = f"{path}.{field.name}" if path else field.name
        if field.has_default:
            yield place, json.dumps(field.default, sort_keys=True)
        yield from _defaults(field.node, place)
    for part in node.children:
        yield from _defaults(part, path)


def render_release_files(declarations: Declarations, folder: Path, version: str) -> dict[Path, str]:
    """Return the files that add the current schemas to the released ones, under a later version."""
    check_release(declarations)
    _check_version(declarations.release, version)
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
    files[folder / RELEASED_VALUES_FILE] = _json(_merged_values(declarations))
    sums = dict(declarations.release.sums)
    sums |= {path.name: sha256(content.encode()).hexdigest() for path, content in files.items()}
    files[folder / CHECKSUMS_FILE] = "".join(f"{known}  {file}\n" for file, known in sorted(sums.items()))
    return files


def _check_version(release: ReleasedSchemas, version: str) -> None:
    """Refuse a version that is not above all versions that schemas were released with."""
    if not _VERSION.fullmatch(version):
        raise DeclarationError("--release", version, "is not a version, which is three numbers: 1.2.0")
    last = max((since for _, since in release.manifest.values()), key=_version_numbers, default="")
    if last and _version_numbers(version) <= _version_numbers(last):
        raise DeclarationError(
            "--release", version, f"is not above {last}, the last version in schemas/released/manifest.json"
        )


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def new_version_files(declarations: Declarations, schemas: Path, event: str) -> dict[Path, tuple[Path, str]]:
    """Return the files of a released event's next version: each path, its new path and its new text.

    A schema that contains the event gets a new version too where it was released, since its fingerprint
    changes; a topic names the version of its value. The released files stay as they are.
    """
    current = next((name for name, each in declarations.schemas.items() if each.event == event), "")
    if not current:
        raise DeclarationError("schemas/avro", event, "is not an event of this repository")
    if current not in declarations.release.manifest:
        raise DeclarationError(
            f"schemas/avro/{current}.avsc", "", "was not released yet: change it as it stands"
        )
    renamed = _renamed_versions(declarations, current)
    files = {}
    for path in sorted((*schemas.glob("avro/*.avsc"), *schemas.glob("topics/*.yaml"))):
        text = path.read_text(encoding="utf-8")
        new_text = text
        for old, new in renamed.items():
            new_text = new_text.replace(f'"{old}"', f'"{new}"')
            new_text = re.sub(rf"(?m)^value: {re.escape(old)}$", f"value: {new}", new_text)
        new_path = path.with_name(f"{renamed.get(path.stem, path.stem)}{path.suffix}")
        if (new_path, new_text) != (path, text):
            files[path] = (new_path, new_text)
    return files


def _renamed_versions(declarations: Declarations, name: str) -> dict[str, str]:
    """Return old and new name of a schema, and of each released one that contains it."""
    event, _, number = name.rpartition(".v")
    renamed = {name: f"{event}.v{int(number) + 1}"}
    for other, schema in declarations.schemas.items():
        contains = any(
            isinstance(field.type, RecordType) and field.type.reference == name
            for field in schema.record.fields
        )
        if contains and other in declarations.release.manifest:
            renamed |= _renamed_versions(declarations, other)
    return renamed


def _merged_values(declarations: Declarations) -> dict[str, list[str]]:
    """Merge the current values with the released ones, removed lists included."""
    merged = {name: list(known) for name, known in declarations.release.value_lists.items()}
    for name, current in declarations.value_lists.items():
        before = merged.setdefault(name, [])
        before += (word for word in current.values if word not in before)
    return dict(sorted(merged.items()))


def read_checksums(path: Path) -> dict[str, str]:
    """Read the digests of released files by name; empty where the file is missing."""
    if not path.exists():
        return {}
    sums: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        found = _CHECKSUM_LINE.fullmatch(line)
        if found is None:
            raise DeclarationError(
                f"schemas/released/{path.name}", "", f"has a line that is not a digest: {line!r:.100}"
            )
        sums[found[2]] = found[1]
    return sums


def file_checksums(folder: Path) -> dict[str, str]:
    """Compute the digests of the released files that exist."""
    files = sorted((*folder.glob("*.avsc"), *folder.glob("*.json")))
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"

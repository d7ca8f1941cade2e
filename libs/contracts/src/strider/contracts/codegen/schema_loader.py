"""Load the files of `schemas/avro` into record declarations.

The dialect is Avro with three rules: every field has a `doc`; optional fields have a default and stand after
required ones; a type that reads like a file name (`page-parsed.v1`) includes that file's record, so that no
record is declared twice. Custom attributes: `words` (the value list), `few` (why an array of records is
acceptable).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from .declarations import (
    NO_DEFAULT,
    ArrayType,
    AvroType,
    DeclarationError,
    FieldDeclaration,
    MapType,
    NullableType,
    PrimitiveType,
    RecordType,
    SchemaDeclaration,
)
from .strict_files import SourceDocument, read_json

PRIMITIVES: Final = {
    "string": str,
    "int": int,
    "long": int,
    "double": float,
    "boolean": bool,
    "bytes": str,
}
"""Supported types, with the type of a default in JSON. Float and enum are omitted on purpose."""

NAMESPACE: Final = "strider"

_FILE_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\.v[1-9][0-9]*")
_FIELD_NAME: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_RECORD_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]*")

_TYPE_KEYS: Final = ("type", "items", "values", "fields")


def load_schemas(folder: Path, root: Path) -> dict[str, SchemaDeclaration]:
    """Load every schema of a folder, each with its referenced files included."""
    documents: dict[str, SourceDocument] = {}
    for path in sorted(folder.glob("*.avsc")):
        if not _FILE_NAME.fullmatch(path.stem):
            raise DeclarationError(
                path.relative_to(root).as_posix(), "", "must be named like page-fetched.v1.avsc"
            )
        documents[path.stem] = read_json(path, root)
    return {name: _SchemaFile(documents, name).schema() for name in documents}


class _SchemaFile:
    """One schema file being loaded; keeps the chain of references to detect cycles."""

    def __init__(
        self, documents: Mapping[str, SourceDocument], name: str, references: tuple[str, ...] = ()
    ) -> None:
        self._documents = documents
        self._name = name
        self._references = (*references, name)

    def schema(self) -> SchemaDeclaration:
        """Return the file as a schema declaration."""
        document = self._documents[self._name]
        record = self._record(document)
        return SchemaDeclaration(self._name, document.file, record, self._resolved(document.values))

    def _record(self, document: SourceDocument, reference: str | None = None) -> RecordType:
        document.require_known(("type", "name", "namespace", "doc", "fields"))
        document.take_choice("type", ("record",))
        document.take_choice("namespace", (NAMESPACE,))
        name = document.take("name", str)
        if not _RECORD_NAME.fullmatch(name):
            raise document.error("name", f"must be written LikeThis, not {name!r}")
        fields = tuple(self._field(document, item) for item in document.take("fields", list))
        _expect_order(document, fields)
        return RecordType(name, _doc(document), fields, reference)

    def _field(self, document: SourceDocument, item: object) -> FieldDeclaration:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise document.error("fields", f"each needs a name: {item!r}")
        name: str = item["name"]
        here = SourceDocument(document.file, f"{document.place}.{name}" if document.place else name, item)
        here.require_known(("name", "type", "default", "doc", "words", "few"))
        if not _FIELD_NAME.fullmatch(name):
            raise here.error("name", "must be written like_this")
        kind = self._type(here, item.get("type"))
        default = item.get("default", NO_DEFAULT)
        _expect_default(here, kind, default)
        value_list, few = (here.take(key, str) if key in item else None for key in ("words", "few"))
        return FieldDeclaration(name, kind, _doc(here), default, value_list, few)

    def _type(self, here: SourceDocument, value: object) -> AvroType:
        match value:
            case str() if _FILE_NAME.fullmatch(value):
                return self._referenced(here, value)
            case str() if value in PRIMITIVES:
                return PrimitiveType(value)
            case ["null", str() as name] if name in PRIMITIVES:
                return NullableType(PrimitiveType(name))
            case {"type": "array", "items": items}:
                return ArrayType(self._type(here, items))
            case {"type": "map", "values": str() as values} if values in PRIMITIVES:
                return MapType(PrimitiveType(values))
            case dict() if value.get("type") == "record":
                return self._record(SourceDocument(here.file, here.place, value))
        # A nullable array would be ambiguous for fastavro, which takes a tuple for (branch, value).
        raise here.error(
            "type", f"must be a primitive, a nullable primitive, an array, a map or a record, not {value!r}"
        )

    def _referenced(self, here: SourceDocument, name: str) -> RecordType:
        if name not in self._documents:
            raise here.error("type", f"schemas/avro/{name}.avsc does not exist")
        if name in self._references:
            raise here.error("type", f"refers to itself: {' > '.join((*self._references, name))}")
        return _SchemaFile(self._documents, name, self._references)._record(self._documents[name], name)  # noqa: SLF001  # same class

    def _resolved(self, value: Any) -> Any:
        """Include the referenced files, so that the schema is self-contained."""
        if isinstance(value, str) and value in self._documents:
            nested = _SchemaFile(self._documents, value, self._references)
            return nested._resolved(self._documents[value].values)  # same class
        if isinstance(value, Mapping):
            # Only types refer to files; a doc that quotes a file name stays unchanged.
            return {key: self._resolved(part) if key in _TYPE_KEYS else part for key, part in value.items()}
        return [self._resolved(part) for part in value] if isinstance(value, list) else value


def _doc(here: SourceDocument) -> str:
    doc = here.take("doc", str)
    if not doc.endswith("."):
        raise here.error("doc", "must be a sentence that ends with a full stop")
    return doc


def _expect_order(document: SourceDocument, fields: tuple[FieldDeclaration, ...]) -> None:
    """Require required fields first: classes are built by position, where defaults come last."""
    names = [item.name for item in fields]
    for earlier, later in pairwise(fields):
        if later.is_required and not earlier.is_required:
            raise document.error(later.name, f"has no default, so it must stand before {earlier.name}")
    for name in names:
        if names.count(name) > 1:
            raise document.error(name, "is given twice")


def _expect_default(here: SourceDocument, kind: AvroType, default: object) -> None:
    """Require a default of the field's type: empty for arrays and maps, null for nullable types."""
    if default is NO_DEFAULT:
        if isinstance(kind, NullableType):
            raise here.error("default", "is missing: a nullable field must have null as its default")
        return
    fits: bool
    match kind:
        case PrimitiveType(name):
            wanted = PRIMITIVES[name]
            fits = isinstance(default, wanted) and not (wanted is int and isinstance(default, bool))
            # Non-empty defaults of bytes would need two notations, and none is used.
            fits = fits and not (name == "bytes" and default)
        case NullableType():
            fits = default is None
        case ArrayType():
            fits = default == []
        case MapType():
            fits = default == {}
        case RecordType():
            fits = False
    if not fits:
        raise here.error("default", f"{default!r} does not fit the type")

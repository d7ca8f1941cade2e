"""Avro schemas as trees of nodes, with canonical form and fingerprint.

Schemas from outside are parsed here first, so schemas that could turn a few bytes into unbounded work or
memory are refused here: recursive types, types that unfold into thousands, and arrays whose items take no
bytes. Must not know messages; a tree never refers to itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from strider.contracts.errors import ContractError

MAX_DEPTH: Final = 16
"""Maximum nesting of types. Our deepest schema, the validated page, has six levels."""

MAX_NODES: Final = 5_000
"""Maximum number of types after named ones are unfolded; our largest schema has fewer than 300."""

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_MIN_BYTES: Final = {
    "null": 0,
    "boolean": 1,
    "int": 1,
    "long": 1,
    "float": 4,
    "double": 8,
    "bytes": 1,
    "string": 1,
}

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EMPTY_FINGERPRINT: Final = 0xC15D213AA4D7A795
_UNSET: Final = object()


class SchemaError(ContractError):
    """An invalid or unacceptable schema; the message says where and why."""


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field of a record."""

    name: str
    node: SchemaNode
    default: Any = _UNSET
    aliases: tuple[str, ...] = ()
    value_list: str | None = None
    """Name of the value list that its values come from."""

    @property
    def has_default(self) -> bool:
        """Whether the field may be left out."""
        return self.default is not _UNSET


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """One type; which attributes are used depends on `kind`."""

    kind: str
    """Name of a primitive, or record, enum, fixed, array, map, union."""
    name: str = ""
    """Full name of a named type."""
    aliases: tuple[str, ...] = ()
    fields: tuple[SchemaField, ...] = ()
    children: tuple[SchemaNode, ...] = ()
    """Branches of a union; the single item type of an array, or value type of a map."""
    symbols: tuple[str, ...] = ()
    default: str | None = None
    """For an enum: the symbol that a reader uses in place of an unknown one."""
    size: int = 0
    min_bytes: int = 0
    """Length of the shortest encoding of a value."""
    node_count: int = 1
    """Number of nodes in the tree, this one included."""

    @property
    def short_name(self) -> str:
        """Name without namespace, on which readers and writers must agree."""
        return self.name.rpartition(".")[2]


def parse_schema_tree(schema: Any) -> SchemaNode:
    """Parse a schema (as decoded from JSON) into its tree; raises SchemaError."""
    return _SchemaParser().parse(schema, namespace="", depth=0)


def canonical_form(node: SchemaNode) -> str:
    """Return a schema in the specification's parsing canonical form: layout and names only."""
    return json.dumps(_canonical_type(node, set()), separators=(",", ":"))


def fingerprint(canonical: str) -> bytes:
    """Compute the CRC-64-AVRO fingerprint of a canonical form, in wire byte order."""
    table = _crc_table()
    result = _EMPTY_FINGERPRINT
    for byte in canonical.encode():
        result = (result >> 8) ^ table[(result ^ byte) & 0xFF]
    return result.to_bytes(8, "little")


def _canonical_type(node: SchemaNode, defined: set[str]) -> Any:
    if node.kind in PRIMITIVES:
        return node.kind
    if node.kind == "union":
        return [_canonical_type(part, defined) for part in node.children]
    if node.kind in ("array", "map"):
        part = "items" if node.kind == "array" else "values"
        return {"type": node.kind, part: _canonical_type(node.children[0], defined)}
    if node.name in defined:
        return node.name
    defined.add(node.name)
    return {"name": node.name, "type": node.kind, **_canonical_content(node, defined)}


def _canonical_content(node: SchemaNode, defined: set[str]) -> dict[str, Any]:
    if node.kind == "fixed":
        return {"size": node.size}
    if node.kind == "enum":
        return {"symbols": list(node.symbols)}
    return {
        "fields": [
            {"name": field.name, "type": _canonical_type(field.node, defined)} for field in node.fields
        ]
    }


@cache
def _crc_table() -> tuple[int, ...]:
    def entry(value: int) -> int:
        for _ in range(8):
            value = (value >> 1) ^ (_EMPTY_FINGERPRINT & -(value & 1))
        return value

    return tuple(entry(value) for value in range(256))


class _SchemaParser:
    """Parser of one schema, with the named types defined so far."""

    def __init__(self) -> None:
        self._named: dict[str, SchemaNode | None] = {}

    def parse(self, schema: Any, *, namespace: str, depth: int) -> SchemaNode:
        if depth > MAX_DEPTH:
            raise SchemaError(f"types are nested deeper than {MAX_DEPTH}")
        if isinstance(schema, str):
            node = self._reference(schema, namespace)
        elif isinstance(schema, list):
            node = self._union(schema, namespace=namespace, depth=depth)
        elif isinstance(schema, Mapping):
            node = self._complex(schema, namespace=namespace, depth=depth)
        else:
            raise SchemaError(f"not a type: {schema!r:.80}")
        if node.node_count > MAX_NODES:
            raise SchemaError(f"unfolds into more than {MAX_NODES} types")
        return node

    def _reference(self, name: str, namespace: str) -> SchemaNode:
        if name in PRIMITIVES:
            return SchemaNode(name, min_bytes=_MIN_BYTES[name])
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        known = full if full in self._named else name
        if known not in self._named:
            raise SchemaError(f"unknown type {name!r:.80}")
        node = self._named[known]
        if node is None:
            raise SchemaError(f"type {name!r:.80} contains itself")
        return node

    def _union(self, branches: list[Any], *, namespace: str, depth: int) -> SchemaNode:
        parts = tuple(self.parse(branch, namespace=namespace, depth=depth + 1) for branch in branches)
        names = {part.name or part.kind for part in parts}
        if not parts or "union" in names or len(names) != len(parts):
            raise SchemaError("a union needs branches, no unions in it, and no type twice")
        least = 1 + min(part.min_bytes for part in parts)
        return SchemaNode(
            "union", children=parts, min_bytes=least, node_count=1 + sum(part.node_count for part in parts)
        )

    def _complex(self, schema: Mapping[str, Any], *, namespace: str, depth: int) -> SchemaNode:
        kind = schema.get("type")
        if kind in ("array", "map"):
            return self._collection(schema, namespace=namespace, depth=depth)
        if kind in ("record", "error", "enum", "fixed"):
            return self._definition(schema, namespace=namespace, depth=depth)
        return self.parse(kind, namespace=namespace, depth=depth + 1)

    def _collection(self, schema: Mapping[str, Any], *, namespace: str, depth: int) -> SchemaNode:
        kind = schema["type"]
        part = self.parse(
            schema.get("items" if kind == "array" else "values"), namespace=namespace, depth=depth + 1
        )
        if kind == "array" and part.min_bytes == 0:
            # Five bytes could otherwise announce a billion items.
            raise SchemaError("array items that take no bytes")
        return SchemaNode(kind, children=(part,), min_bytes=1, node_count=1 + part.node_count)

    def _definition(self, schema: Mapping[str, Any], *, namespace: str, depth: int) -> SchemaNode:
        name, inner = _full_name(schema, namespace)
        if name in self._named:
            raise SchemaError(f"type {name!r:.80} is defined twice")
        self._named[name] = None
        node = self._named_type(schema, namespace=inner, depth=depth)
        aliases = tuple(
            str(alias).rpartition(".")[2] for alias in _list_attribute(schema, "aliases", default=())
        )
        node = replace(node, name=name, aliases=aliases)
        self._named[name] = node
        return node

    def _named_type(self, schema: Mapping[str, Any], *, namespace: str, depth: int) -> SchemaNode:
        if schema["type"] == "fixed":
            size = schema.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise SchemaError(f"a fixed type of size {size!r:.80}")
            return SchemaNode("fixed", size=size, min_bytes=size)
        if schema["type"] == "enum":
            symbols = tuple(_valid_name(symbol) for symbol in _list_attribute(schema, "symbols"))
            return SchemaNode("enum", symbols=symbols, default=schema.get("default"), min_bytes=1)
        fields = tuple(
            self._field(field, namespace=namespace, depth=depth + 1)
            for field in _list_attribute(schema, "fields")
        )
        if len({field.name for field in fields}) != len(fields):
            raise SchemaError(f"two fields of one name in {schema.get('name')!r:.80}")
        least = sum(field.node.min_bytes for field in fields)
        return SchemaNode(
            "record",
            fields=fields,
            min_bytes=least,
            node_count=1 + sum(field.node.node_count for field in fields),
        )

    def _field(self, field: Any, *, namespace: str, depth: int) -> SchemaField:
        if not isinstance(field, Mapping):
            raise SchemaError(f"not a field: {field!r:.80}")
        return SchemaField(
            name=_valid_name(field.get("name")),
            node=self.parse(field.get("type"), namespace=namespace, depth=depth),
            default=field.get("default", _UNSET),
            aliases=tuple(str(alias) for alias in _list_attribute(field, "aliases", default=())),
            value_list=field.get("words"),
        )


def _full_name(schema: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """Return the full name of a type and the namespace within it."""
    name, space = schema.get("name"), schema.get("namespace", namespace)
    if isinstance(name, str) and "." in name:
        space, _, name = name.rpartition(".")
    plain = _valid_name(name)
    if not space:
        return plain, ""
    if not isinstance(space, str):
        raise SchemaError(f"namespace of {plain!r} is not a text")
    parts = [*(_valid_name(part) for part in space.split(".")), plain]
    return ".".join(parts), space


def _valid_name(name: Any) -> str:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise SchemaError(f"not a valid name: {name!r:.80}")
    return name


def _list_attribute(
    schema: Mapping[str, Any], key: str, *, default: tuple[()] | None = None
) -> list[Any] | tuple[()]:
    value = schema.get(key, default)
    if not isinstance(value, list | tuple):
        raise SchemaError(f"{key} is not a list in {schema.get('name')!r:.80}")
    return value

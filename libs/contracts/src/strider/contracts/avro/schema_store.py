"""Known schemas by name, fingerprint and registry id.

A schema has a fingerprint (CRC-64-AVRO of its canonical form) and perhaps ids in a registry. Schemas that
ship with the code are trusted; schemas registered at run time (from the `schemas` topic or a registry) are
checked, kept in canonical form, and limited in number. Must not fetch schemas or wait for them: a schema that
is not in the store is not known yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

import orjson
from fastavro.schema import parse_schema

from strider.contracts.errors import DecodeError

from .schema_model import SchemaError, SchemaNode, canonical_form, fingerprint, parse_schema_tree

MAX_DEFINITION_BYTES: Final = 128 * 1024
"""Maximum size of a registered schema. Ours are a few kilobytes in canonical form, some tens with docs."""

MAX_REGISTERED_SCHEMAS: Final = 2_000
"""Maximum number of schemas that one process registers; more indicate a fault, not an upgrade."""


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """A schema with which messages may have been written."""

    fingerprint: bytes
    node: SchemaNode
    avro: Any = field(repr=False)
    """The schema as parsed by fastavro."""


@dataclass(frozen=True, slots=True)
class RefusedSchema:
    """A schema that was received and that is refused for reading."""

    reason: str


class SchemaStore:
    """Store of all schemas by name, fingerprint and registry id."""

    def __init__(
        self,
        current: Mapping[str, Any],
        *,
        released: Mapping[str, Any] | None = None,
        value_lists: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        """Take the schemas that ship with the code: the current ones and those of earlier versions."""
        self.value_lists: Mapping[str, frozenset[str]] = value_lists or {}
        self._definitions = {**(released or {}), **current}
        self._current: dict[str, WriterSchema] = {}
        self._by_fingerprint: dict[bytes, WriterSchema | RefusedSchema] = {}
        self._by_registry_id: dict[int, bytes | RefusedSchema] = {}
        self._registry_ids: dict[tuple[str, bytes], int] = {}
        self._registered_count = 0
        for schema in (released or {}).values():
            self._add(writer_schema(schema))
        for name, schema in current.items():
            self._current[name] = self._add(writer_schema(schema))

    @classmethod
    def bundled(cls) -> SchemaStore:
        """Return the store of the schemas that ship with the code."""
        content = files("strider.contracts").joinpath("generated", "schemas.json").read_bytes()
        book = orjson.loads(content)
        value_lists = {name: frozenset(values) for name, values in book["words"].items()}
        return cls(book["current"], released=book["released"], value_lists=value_lists)

    def names(self) -> tuple[str, ...]:
        """List the names of the current schemas."""
        return tuple(self._current)

    def versions_of(self, event: str) -> tuple[str, ...]:
        """List all versions of an event that ship with the code, oldest first; `event` has no version."""
        found = (name for name in self._definitions if name.rpartition(".v")[0] == event)
        return tuple(sorted(found, key=lambda name: int(name.rpartition(".v")[2])))

    def current(self, name: str) -> WriterSchema:
        """Return a current schema by its name with version: `page-parsed.v1`."""
        return self._current[name]

    def definition(self, name: str) -> str:
        """Return the JSON text of a schema that ships with the code, docs and defaults included."""
        return json.dumps(self._definitions[name], ensure_ascii=False)

    def find(self, fingerprint: bytes) -> WriterSchema | RefusedSchema | None:
        """Return the schema of a fingerprint, if it is known yet."""
        return self._by_fingerprint.get(fingerprint)

    def find_by_registry_id(self, registry_id: int) -> bytes | RefusedSchema | None:
        """Return the fingerprint of a registry id, if it is known yet."""
        return self._by_registry_id.get(registry_id)

    def registry_id(self, topic: str, fingerprint: bytes) -> int | None:
        """Return the registry id that a topic is written with; None for single-object encoding."""
        return self._registry_ids.get((topic, fingerprint))

    def register(
        self,
        definition: str | bytes,
        *,
        expected_fingerprint: bytes | None = None,
        registry_id: int | None = None,
    ) -> bytes:
        """Register a schema from outside and return its fingerprint.

        A schema that must not be read with raises DecodeError and is remembered as refused under its
        fingerprint or id: its messages are invalid, they do not wait for a schema.
        """
        schema = _checked_schema(definition)
        if isinstance(schema, RefusedSchema):
            self._register_refused(schema, claimed=expected_fingerprint, registry_id=registry_id)
            raise DecodeError("incompatible_schema", schema.reason)
        if expected_fingerprint is not None and expected_fingerprint != schema.fingerprint:
            raise DecodeError(
                "bad_value", f"claims {expected_fingerprint.hex()} and is {schema.fingerprint.hex()}"
            )
        if not isinstance(self._by_fingerprint.get(schema.fingerprint), WriterSchema):
            self._count_registered()
            self._by_fingerprint[schema.fingerprint] = schema
        if registry_id is not None:
            self._by_registry_id[registry_id] = schema.fingerprint
        return schema.fingerprint

    def use_registry_id(self, topic: str, schema_name: str, registry_id: int) -> None:
        """Write a topic's messages in the Confluent format from now on, with this registry id."""
        fingerprint = self._current[schema_name].fingerprint
        self._registry_ids[topic, fingerprint] = registry_id
        self._by_registry_id[registry_id] = fingerprint

    def _register_refused(
        self, refusal: RefusedSchema, *, claimed: bytes | None, registry_id: int | None
    ) -> None:
        self._count_registered()
        if claimed is not None:
            # A refused schema never replaces a valid one whose fingerprint it claims.
            self._by_fingerprint.setdefault(claimed, refusal)
        if registry_id is not None:
            self._by_registry_id.setdefault(registry_id, refusal)

    def _count_registered(self) -> None:
        if self._registered_count >= MAX_REGISTERED_SCHEMAS:
            raise DecodeError("too_large", f"more than {MAX_REGISTERED_SCHEMAS} schemas were registered")
        self._registered_count += 1

    def _add(self, schema: WriterSchema) -> WriterSchema:
        self._by_fingerprint[schema.fingerprint] = schema
        return schema


def writer_schema(schema: Any) -> WriterSchema:
    """Prepare a schema for use; raises SchemaError.

    fastavro gets the canonical form: without defaults, so that a writer cannot omit a field, and without
    logical types, so that foreign schemas cannot trigger the library's conversions.
    """
    node = parse_schema_tree(schema)
    canonical = canonical_form(node)
    return WriterSchema(fingerprint(canonical), node, parse_schema(orjson.loads(canonical)))


def _checked_schema(definition: str | bytes) -> WriterSchema | RefusedSchema:
    if len(definition) > MAX_DEFINITION_BYTES:
        raise DecodeError("too_large", f"the schema has {len(definition)} bytes")
    try:
        schema = orjson.loads(definition)
    except orjson.JSONDecodeError as failure:
        raise DecodeError("bad_json", f"the schema is not valid JSON: {failure}") from failure
    try:
        return writer_schema(schema)
    except SchemaError as failure:
        return RefusedSchema(str(failure))

"""Which schemas are known here, and by which names.

A schema has a fingerprint (CRC-64-AVRO of its canonical form) and perhaps ids in a registry. What
ships with the code is trusted; what is learnt while running (the `schemas` topic, a registry) is
vetted, kept in canonical form, and bounded in number. Fetching schemas is not done here, nor any
waiting: a schema that is not in the book is simply not known yet.
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
"""Of a learnt schema. Ours are a few kilobytes in canonical form, some tens with their docs."""

MAX_REGISTERED_SCHEMAS: Final = 2_000
"""Schemas of one process's life; a flood of them is somebody's mistake, not an upgrade."""


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """A schema that messages may have been written with."""

    fingerprint: bytes
    node: SchemaNode
    avro: Any = field(repr=False)
    """As fastavro wants it."""


@dataclass(frozen=True, slots=True)
class RefusedSchema:
    """A schema that has come and that nobody here reads with."""

    reason: str


class SchemaStore:
    """All schemas by name, fingerprint and registry id."""

    def __init__(
        self,
        current: Mapping[str, Any],
        *,
        released: Mapping[str, Any] | None = None,
        value_lists: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        """Take the schemas that ship with the code: those written now, and those written before."""
        self.value_lists: Mapping[str, frozenset[str]] = value_lists or {}
        self._definitions = {**(released or {}), **current}
        self._ours: dict[str, WriterSchema] = {}
        self._by_fingerprint: dict[bytes, WriterSchema | RefusedSchema] = {}
        self._by_registry_id: dict[int, bytes | RefusedSchema] = {}
        self._registry_ids: dict[tuple[str, bytes], int] = {}
        self._registered_count = 0
        for schema in (released or {}).values():
            self._keep(writer_schema(schema))
        for name, schema in current.items():
            self._ours[name] = self._keep(writer_schema(schema))

    @classmethod
    def bundled(cls) -> SchemaStore:
        """Open the book that ships with the code."""
        content = files("strider.contracts").joinpath("generated", "schemas.json").read_bytes()
        book = orjson.loads(content)
        words = {name: frozenset(words) for name, words in book["words"].items()}
        return cls(book["current"], released=book["released"], words=words)

    def names(self) -> tuple[str, ...]:
        """List the schemas that are written now."""
        return tuple(self._ours)

    def versions_of(self, event: str) -> tuple[str, ...]:
        """List every version of an event that ships with the code, oldest first; `event` names none."""
        found = (name for name in self._definitions if name.rpartition(".v")[0] == event)
        return tuple(sorted(found, key=lambda name: int(name.rpartition(".v")[2])))

    def current(self, name: str) -> WriterSchema:
        """Give a schema of our own by its name, version included: `page-parsed.v1`."""
        return self._ours[name]

    def definition(self, name: str) -> str:
        """Give the full text of a schema that ships with the code, docs and defaults included."""
        return json.dumps(self._definitions[name], ensure_ascii=False)

    def find(self, fingerprint: bytes) -> WriterSchema | RefusedSchema | None:
        """Find what a fingerprint stands for, if that is known yet."""
        return self._by_fingerprint.get(fingerprint)

    def find_by_registry_id(self, registry_id: int) -> bytes | RefusedSchema | None:
        """Find the fingerprint that a registry's id stands for, if that is known yet."""
        return self._by_registry_id.get(registry_id)

    def registry_id(self, topic: str, fingerprint: bytes) -> int | None:
        """Say by which id a topic's messages are to be written; None means single-object encoding."""
        return self._registry_ids.get((topic, fingerprint))

    def register(
        self,
        definition: str | bytes,
        *,
        expected_fingerprint: bytes | None = None,
        registry_id: int | None = None,
    ) -> bytes:
        """Take in a schema from outside and answer its fingerprint.

        One that nobody should read with raises DecodeError, and is remembered as refused under the
        fingerprint or id that it came with: its messages are bad, and not waiting for a schema.
        """
        schema = _checked_schema(definition)
        if isinstance(schema, RefusedSchema):
            self._refuse(schema, claimed=expected_fingerprint, registry_id=registry_id)
            raise DecodeError("incompatible_schema", schema.reason)
        if expected_fingerprint is not None and expected_fingerprint != schema.fingerprint:
            raise DecodeError(
                "bad_value", f"claims {expected_fingerprint.hex()} and is {schema.fingerprint.hex()}"
            )
        if not isinstance(self._by_fingerprint.get(schema.fingerprint), WriterSchema):
            self._count()
            self._by_fingerprint[schema.fingerprint] = schema
        if registry_id is not None:
            self._by_registry_id[registry_id] = schema.fingerprint
        return schema.fingerprint

    def use_registry_id(self, topic: str, schema_name: str, registry_id: int) -> None:
        """Write a topic's messages in the Confluent format from now on, under this id."""
        fingerprint = self._ours[schema_name].fingerprint
        self._registry_ids[topic, fingerprint] = registry_id
        self._by_registry_id[registry_id] = fingerprint

    def _refuse(self, refusal: RefusedSchema, *, claimed: bytes | None, registry_id: int | None) -> None:
        self._count()
        if claimed is not None:
            # A good schema is never displaced by a bad one that claims its name.
            self._by_fingerprint.setdefault(claimed, refusal)
        if registry_id is not None:
            self._by_registry_id.setdefault(registry_id, refusal)

    def _count(self) -> None:
        if self._registered_count >= MAX_REGISTERED_SCHEMAS:
            raise DecodeError("too_large", f"more than {MAX_LEARNT} schemas were learnt")
        self._registered_count += 1

    def _keep(self, schema: WriterSchema) -> WriterSchema:
        self._by_fingerprint[schema.fingerprint] = schema
        return schema


def writer_schema(schema: Any) -> WriterSchema:
    """Make a schema ready for use; raises SchemaError.

    What fastavro gets is the canonical form: no defaults, so that a writer cannot leave a field out,
    and no logical types, so that none of the library's conversions is set off by a stranger.
    """
    node = parse_schema_tree(schema)
    canonical = canonical_form(node)
    return WriterSchema(fingerprint(canonical), node, parse_schema(orjson.loads(canonical)))


def _checked_schema(definition: str | bytes) -> WriterSchema | RefusedSchema:
    if len(definition) > MAX_DEFINITION_BYTES:
        raise DecodeError("too_large", f"a schema of {len(definition)} bytes")
    try:
        schema = orjson.loads(definition)
    except orjson.JSONDecodeError as failure:
        raise DecodeError("bad_json", f"a schema that is no JSON: {failure}") from failure
    try:
        return writer_schema(schema)
    except SchemaError as failure:
        return RefusedSchema(str(failure))

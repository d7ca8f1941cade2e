"""Data model of everything declared under `schemas/`.

The loaders fill it, the checks compare its parts, the renderers turn it into text. Must not know files or
Python source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

NO_DEFAULT: Final = object()
"""Marks the absence of a default, because None is a valid one."""


class DeclarationError(Exception):
    """An invalid declaration; the message is one line with file and place."""

    def __init__(self, file: str, place: str, problem: str) -> None:
        where = f"{file}: {place}" if place else file
        super().__init__(f"{where}: {problem}".replace("\n", " "))
        self.file = file
        self.place = place
        self.problem = problem


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    """A primitive Avro type."""

    name: str


@dataclass(frozen=True, slots=True)
class NullableType:
    """A union of null and a primitive."""

    of: PrimitiveType


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array with items of one type."""

    of: AvroType


@dataclass(frozen=True, slots=True)
class MapType:
    """A map with values of one primitive type."""

    of: PrimitiveType


@dataclass(frozen=True, slots=True)
class FieldDeclaration:
    """One field of a record."""

    name: str
    type: AvroType
    doc: str
    default: Any = NO_DEFAULT
    value_list: str | None = None
    """Name of the value list that its values come from."""
    few_items_reason: str | None = None
    """Why an array of records is acceptable here."""

    @property
    def is_required(self) -> bool:
        """Whether a writer must supply the field."""
        return self.default is NO_DEFAULT


@dataclass(frozen=True, slots=True)
class RecordType:
    """An event, or a record nested in one."""

    name: str
    doc: str
    fields: tuple[FieldDeclaration, ...]
    reference: str | None = None
    """Name of the schema file that it was included from, if it was."""


AvroType = PrimitiveType | NullableType | ArrayType | MapType | RecordType


@dataclass(frozen=True, slots=True)
class SchemaDeclaration:
    """One file of `schemas/avro`."""

    name: str
    """File name without extension: `page-fetched.v1`."""
    file: str
    record: RecordType
    resolved: Mapping[str, Any]
    """The schema as JSON, with referenced files included."""

    @property
    def event(self) -> str:
        """The name without its version."""
        return self.name.rpartition(".v")[0]


@dataclass(frozen=True, slots=True)
class ValueList:
    """One file of `schemas/words`: each allowed value with its description."""

    name: str
    file: str
    description: str
    values: Mapping[str, str]
    """Its own values, then those of the included lists."""

    @property
    def class_name(self) -> str:
        """Name of the generated enum: FetchOutcome for `fetch-outcome`."""
        return "".join(part.capitalize() for part in self.name.split("-"))


@dataclass(frozen=True, slots=True)
class KeyRule:
    """Derivation of a text from an event: a field, fields joined by `/`, or the first non-empty one."""

    rule: str
    """`joined`, `first` or `host_of`."""
    paths: tuple[str, ...]

    @property
    def description(self) -> str:
        """The rule in words, for documents."""
        if self.rule == "joined":
            return "/".join(self.paths)
        return f"host of {self.paths[0]}" if self.rule == "host_of" else " or ".join(self.paths)


@dataclass(frozen=True, slots=True)
class ShardRule:
    """Input of a shard: the domain of a host, or Kafka's hash of an id."""

    rule: str
    """`host` or `hash`."""
    path: str


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """A header that each message of a topic carries."""

    name: str
    key: KeyRule
    doc: str


@dataclass(frozen=True, slots=True)
class ReaderRule:
    """One entry under `readers`."""

    service: str
    group: str | None
    mode: str
    sharded: bool
    gates: str
    planned: bool = False
    """Whether no code consumes the topic in this way yet."""


@dataclass(frozen=True, slots=True)
class TopicDeclaration:
    """One topic; a template is expanded to one declaration for each service."""

    name: str
    file: str
    description: str
    profile: str
    value: str
    key: KeyRule
    partitioner: str
    shard_by: ShardRule | None
    partitions: int | None
    transactional: bool
    multiple_writers_reason: str
    """Why this topic has more than one writer, planned ones included; empty where it has one."""
    writers: tuple[str, ...]
    planned_writers: tuple[str, ...]
    """Writers of which no code exists yet."""
    readers: tuple[ReaderRule, ...]
    headers: tuple[HeaderRule, ...]
    accepts_json: bool
    max_bytes: int
    compression: str
    cleanup: str
    config: Mapping[str, str]

    @property
    def constant(self) -> str:
        """Name of the generated constant: PAGES_FETCHED for `pages-fetched`."""
        return self.name.upper().replace("-", "_")


@dataclass(frozen=True, slots=True)
class ServiceDeclarations:
    """All writers and readers, each with a one-sentence description."""

    core: Mapping[str, str]
    example: Mapping[str, str]
    outside: Mapping[str, str]

    @property
    def all(self) -> tuple[str, ...]:
        """Every service of this repository, examples last."""
        return (*self.core, *self.example)


@dataclass(frozen=True, slots=True)
class EventExample:
    """One file of `schemas/examples`."""

    event: str
    name: str
    file: str
    content: Any


@dataclass(frozen=True, slots=True)
class ReleasedSchemas:
    """All schemas ever released, by name; none may change or disappear."""

    schemas: Mapping[str, Mapping[str, Any]]
    manifest: Mapping[str, tuple[str, str]]
    """Fingerprint of each, and the version that introduced it."""
    value_lists: Mapping[str, tuple[str, ...]]
    """The value lists as far as they were released."""
    sums: Mapping[str, str]
    """SHA-256 of each file at its release."""
    actual_sums: Mapping[str, str]
    """SHA-256 of the files that exist now."""


@dataclass(frozen=True, slots=True)
class Declarations:
    """Everything under `schemas/`."""

    schemas: Mapping[str, SchemaDeclaration]
    value_lists: Mapping[str, ValueList]
    topics: Mapping[str, TopicDeclaration]
    services: ServiceDeclarations
    headers: Mapping[str, str]
    examples: tuple[EventExample, ...]
    release: ReleasedSchemas


def records_of(record: RecordType) -> Iterator[RecordType]:
    """Yield every record nested in one, innermost first, then the record itself."""
    for item in record.fields:
        inner = item.type.of if isinstance(item.type, ArrayType) else item.type
        if isinstance(inner, RecordType):
            yield from records_of(inner)
    yield record


def field_at(record: RecordType, path: str) -> FieldDeclaration | None:
    """Return the field at a path such as `page.group`, or None."""
    name, _, rest = path.partition(".")
    found = next((item for item in record.fields if item.name == name), None)
    if found is None or not rest:
        return found
    return field_at(found.type, rest) if isinstance(found.type, RecordType) else None

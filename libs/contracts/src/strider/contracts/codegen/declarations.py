"""What `schemas/` declares, as values.

Reading fills these in, checking compares them with each other, the writers turn them into text.
Knows nothing of files and of Python source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

NO_DEFAULT: Final = object()
"""Stands for the absence of a default, because None is one."""


class DeclarationError(Exception):
    """A declaration that cannot be: the message is one line that names file and place."""

    def __init__(self, file: str, place: str, problem: str) -> None:
        where = f"{file}: {place}" if place else file
        super().__init__(f"{where}: {problem}".replace("\n", " "))
        self.file = file
        self.place = place
        self.problem = problem


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    """A type of Avro without parts."""

    name: str


@dataclass(frozen=True, slots=True)
class NullableType:
    """A primitive, or null."""

    of: PrimitiveType


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A list of values of one type."""

    of: AvroType


@dataclass(frozen=True, slots=True)
class MapType:
    """Values of one type by name."""

    of: PrimitiveType


@dataclass(frozen=True, slots=True)
class FieldDeclaration:
    """One field of a record."""

    name: str
    type: AvroType
    doc: str
    default: Any = NO_DEFAULT
    value_list: str | None = None
    """The checked list that its words are from."""
    few_items_reason: str | None = None
    """Why an array of records is harmless here."""

    @property
    def is_required(self) -> bool:
        """Whether a writer must fill it in."""
        return self.default is NO_DEFAULT


@dataclass(frozen=True, slots=True)
class RecordType:
    """An event, or a record inside of one."""

    name: str
    doc: str
    fields: tuple[FieldDeclaration, ...]
    reference: str | None = None
    """The schema that it was taken from, where the file only names it."""


AvroType = PrimitiveType | NullableType | ArrayType | MapType | RecordType


@dataclass(frozen=True, slots=True)
class SchemaDeclaration:
    """One file of `schemas/avro`."""

    name: str
    """File name without its ending: `page-fetched.v1`."""
    file: str
    record: RecordType
    resolved: Mapping[str, Any]
    """The schema as JSON, with the files that it names put in."""

    @property
    def event(self) -> str:
        """The name without its version."""
        return self.name.rpartition(".v")[0]


@dataclass(frozen=True, slots=True)
class ValueList:
    """One file of `schemas/words`: each word with its sentence."""

    name: str
    file: str
    description: str
    values: Mapping[str, str]
    """Its own words, then those of the lists that it includes."""

    @property
    def class_name(self) -> str:
        """`fetch-outcome` is FetchOutcome in code."""
        return "".join(part.capitalize() for part in self.name.split("-"))


@dataclass(frozen=True, slots=True)
class KeyRule:
    """How a text is made from an event: one field, fields joined by `/`, or the first that is not empty."""

    rule: str
    """`joined`, `first` or `host_of`."""
    paths: tuple[str, ...]

    @property
    def description(self) -> str:
        """The rule for people."""
        if self.rule == "joined":
            return "/".join(self.paths)
        return f"host of {self.paths[0]}" if self.rule == "host_of" else " or ".join(self.paths)


@dataclass(frozen=True, slots=True)
class ShardRule:
    """What a shard is taken from: the domain of a host, or Kafka's own hash of an id."""

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
    """One line under `readers`."""

    service: str
    group: str | None
    mode: str
    sharded: bool
    gates: str


@dataclass(frozen=True, slots=True)
class TopicDeclaration:
    """One topic. A template is already one rule for each service."""

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
    """Why this topic has more than one writer; empty where it has one."""
    writers: tuple[str, ...]
    readers: tuple[ReaderRule, ...]
    headers: tuple[HeaderRule, ...]
    accepts_json: bool
    max_bytes: int
    compression: str
    cleanup: str
    config: Mapping[str, str]

    @property
    def constant(self) -> str:
        """`pages-fetched` is PAGES_FETCHED in code."""
        return self.name.upper().replace("-", "_")


@dataclass(frozen=True, slots=True)
class ServiceDeclarations:
    """Who writes and reads: one sentence each."""

    core: Mapping[str, str]
    example: Mapping[str, str]
    outside: Mapping[str, str]

    @property
    def all(self) -> tuple[str, ...]:
        """Every service of ours, the examples last."""
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
    """Every schema that was ever released, by name: none of them changes or goes."""

    schemas: Mapping[str, Mapping[str, Any]]
    manifest: Mapping[str, tuple[str, str]]
    """Fingerprint of each, and the version that brought it."""
    value_lists: Mapping[str, tuple[str, ...]]
    """The checked lists, as far as they were released."""
    sums: Mapping[str, str]
    """SHA-256 of each released file, as it was when it was released."""
    actual_sums: Mapping[str, str]
    """The same, of the files that are there."""


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
    """Every record inside of one, innermost first, itself last."""
    for item in record.fields:
        inner = item.type.of if isinstance(item.type, ArrayType) else item.type
        if isinstance(inner, RecordType):
            yield from records_of(inner)
    yield record


def field_at(record: RecordType, path: str) -> FieldDeclaration | None:
    """Find a field by its path, such as `page.group`."""
    name, _, rest = path.partition(".")
    found = next((item for item in record.fields if item.name == name), None)
    if found is None or not rest:
        return found
    return field_at(found.type, rest) if isinstance(found.type, RecordType) else None

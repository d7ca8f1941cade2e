"""Consistency checks of the declarations, and conversion of examples to records.

Each rule is a function that raises DeclarationError at the first violation, so that a test can show what it
rejects. Must not read files; `loader` has checked their form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from .declarations import (
    ArrayType,
    AvroType,
    DeclarationError,
    Declarations,
    FieldDeclaration,
    MapType,
    NullableType,
    PrimitiveType,
    RecordType,
    SchemaDeclaration,
    TopicDeclaration,
    ValueList,
    field_at,
    records_of,
)
from .releases import check_release

EXAMPLE_NAMES: Final = ("full", "minimal")
"""Examples of each event: every field filled in, and required fields only."""

_KEY_TYPES: Final = ("string", "int", "long", "bytes")


_AMBIGUOUS_FIELDS: Final = frozenset({"header_values"})
"""HTTP headers are text; message headers are bytes."""


_LISTS_USED_IN_MAPS: Final = frozenset({"attribute-source"})
"""Lists whose values are in maps, for which Avro has no place to name a list."""


def check_declarations(declarations: Declarations) -> None:
    """Apply every rule to the declarations."""
    for rule in DECLARATION_RULES:
        rule(declarations)


def _check_schemas(declarations: Declarations) -> None:
    """Require one current version of each event, and one declaration of each record name."""
    records: dict[str, str] = {}
    events: dict[str, str] = {}
    for schema in declarations.schemas.values():
        if schema.event in events:
            raise DeclarationError(schema.file, "", f"is a second version beside {events[schema.event]}")
        events[schema.event] = schema.name
        for record in _own_records(schema):
            if record.name in records:
                raise DeclarationError(
                    schema.file, record.name, f"is already declared in {records[record.name]}"
                )
            records[record.name] = schema.file
        if schema.record.name != "".join(part.capitalize() for part in schema.event.split("-")):
            raise DeclarationError(schema.file, "name", f"{schema.record.name} does not match the file name")


def _check_field_types(declarations: Declarations) -> None:
    """Require that fields of the same name have the same type in every event."""
    seen: dict[str, tuple[str, object]] = {}
    for schema, record, field in _own_fields(declarations):
        if isinstance(field.type, RecordType):
            continue
        plain = field.type.of if isinstance(field.type, NullableType) else field.type
        where, other = seen.setdefault(field.name, (schema.file, plain))
        if other != plain and field.name not in _AMBIGUOUS_FIELDS:
            raise DeclarationError(schema.file, f"{record.name}.{field.name}", f"has another type in {where}")


def _check_arrays(declarations: Declarations) -> None:
    """Require a reason for arrays of records, which cost four times as much."""
    for schema, record, field in _own_fields(declarations):
        has_records = isinstance(field.type, ArrayType) and isinstance(field.type.of, RecordType)
        if has_records and not field.few_items_reason:
            raise DeclarationError(
                schema.file, f"{record.name}.{field.name}", "is an array of records: use parallel arrays"
            )
        if field.few_items_reason and not has_records:
            raise DeclarationError(
                schema.file, f"{record.name}.{field.name}", "has `few`, but is not an array of records"
            )


def _check_value_lists(declarations: Declarations) -> None:
    """Require that value lists exist, contain their fields' defaults (or these are empty), and are used."""
    used: set[str] = set()
    for schema, record, field in _own_fields(declarations):
        if field.value_list is None:
            continue
        place = f"{record.name}.{field.name}"
        if field.value_list not in declarations.value_lists:
            raise DeclarationError(
                schema.file, place, f"schemas/words/{field.value_list}.yaml does not exist"
            )
        if _innermost_type(field) != PrimitiveType("string"):
            raise DeclarationError(schema.file, place, "has words, but is not a string")
        value_list = declarations.value_lists[field.value_list]
        if isinstance(field.default, str) and field.default not in {"", *value_list.values}:
            raise DeclarationError(schema.file, place, f"{field.default!r} is not in list {field.value_list}")
        used.add(field.value_list)
    for value_list in declarations.value_lists.values():
        if value_list.name not in used | _LISTS_USED_IN_MAPS:
            raise DeclarationError(value_list.file, "", "is used by no field")
        _check_spelling(value_list)


def _check_spelling(value_list: ValueList) -> None:
    for word in value_list.values:
        if not word.isidentifier() or word != word.lower():
            raise DeclarationError(value_list.file, word, "must be lower_case_with_underscores")


def _check_topics(declarations: Declarations) -> None:
    """Require that values, keys, shards and headers refer to existing schemas and fields."""
    for topic in declarations.topics.values():
        schema = declarations.schemas.get(topic.value)
        if schema is None:
            raise DeclarationError(topic.file, "value", f"schemas/avro/{topic.value}.avsc does not exist")
        for place, path in _field_paths(topic):
            field = field_at(schema.record, path)
            kind = field.type if field else None
            plain = kind.of if isinstance(kind, NullableType) else kind
            if not isinstance(plain, PrimitiveType) or plain.name not in _KEY_TYPES:
                raise DeclarationError(
                    topic.file, place, f"{path!r} is not a text or number of {topic.value}"
                )
        if topic.cleanup == "compact" and topic.key.rule == "host_of":
            raise DeclarationError(topic.file, "key", "a compacted topic needs a key that is never empty")
    unused = declarations.schemas.keys() - {topic.value for topic in declarations.topics.values()}
    for name in sorted(unused - _referenced_schemas(declarations)):
        raise DeclarationError(declarations.schemas[name].file, "", "is the value of no topic")


def _check_services(declarations: Declarations) -> None:
    """Require known writers and readers, and a single writer unless a reason is declared."""
    services = declarations.services
    known = {*services.all, *services.outside}
    for topic in declarations.topics.values():
        for place, name in _participants(topic):
            if name not in known:
                raise DeclarationError(topic.file, place, f"{name!r} is not in schemas/services.yaml")
        both = set(topic.writers) & set(topic.planned_writers)
        if both:
            raise DeclarationError(
                topic.file, "planned_writers", f"{', '.join(sorted(both))} is among `writers` as well"
            )
        count = len(topic.writers) + len(topic.planned_writers)
        if (count != 1) != bool(topic.multiple_writers_reason):
            raise DeclarationError(
                topic.file, "writers", "a topic has one writer; more require `why_many_writers`"
            )
        if not topic.readers and topic.value != "dead-letter.v1":
            raise DeclarationError(topic.file, "readers", "must not be empty")
    _check_groups(declarations)


def _check_groups(declarations: Declarations) -> None:
    """Require that a group belongs to one service and is sharded in all of its topics or in none."""
    groups: dict[str, tuple[str, bool]] = {}
    for topic in declarations.topics.values():
        for reader in topic.readers:
            if reader.group is None:
                continue
            entry = (reader.service, reader.sharded)
            if groups.setdefault(reader.group, entry) != entry:
                raise DeclarationError(topic.file, "readers", f"{reader.group} differs between its topics")
            if reader.sharded and (topic.partitions is not None or topic.partitioner == "key"):
                raise DeclarationError(
                    topic.file, "readers", "is sharded, but the topic is not partitioned by shard"
                )


def _check_examples(declarations: Declarations) -> None:
    """Require two valid examples of each event, of which `full` contains every field."""
    events = {schema.event: schema for schema in declarations.schemas.values()}
    there = {(example.event, example.name) for example in declarations.examples}
    for example in declarations.examples:
        if example.event not in events or example.name not in EXAMPLE_NAMES:
            raise DeclarationError(example.file, "", "belongs to no event")
        record = events[example.event].record
        record_from_json(record, example.content, file=example.file)
        for field in record.fields:
            if (field.name in example.content) is not (field.is_required or example.name == "full"):
                wrong = (
                    "is missing"
                    if example.name == "full"
                    else "is not required and so must be absent in minimal"
                )
                raise DeclarationError(example.file, field.name, wrong)
    for event, schema in events.items():
        for name in EXAMPLE_NAMES:
            if (event, name) not in there:
                raise DeclarationError(
                    schema.file, "", f"schemas/examples/{event}/{name}.json does not exist"
                )


def _own_records(schema: SchemaDeclaration) -> Iterator[RecordType]:
    return (record for record in records_of(schema.record) if not _is_referenced(schema, record))


def _is_referenced(schema: SchemaDeclaration, record: RecordType) -> bool:
    taken = (field.type for field in schema.record.fields if isinstance(field.type, RecordType))
    return any(record in records_of(part) for part in taken if part.reference)


def _own_fields(
    declarations: Declarations,
) -> Iterator[tuple[SchemaDeclaration, RecordType, FieldDeclaration]]:
    for schema in declarations.schemas.values():
        for record in _own_records(schema):
            for field in record.fields:
                yield schema, record, field


def _innermost_type(field: FieldDeclaration) -> object:
    kind = field.type
    while isinstance(kind, ArrayType | NullableType):
        kind = kind.of
    return kind


def _field_paths(topic: TopicDeclaration) -> Iterator[tuple[str, str]]:
    yield from (("key", path) for path in topic.key.paths)
    if topic.shard_by:
        yield "shard_by", topic.shard_by.path
    for header in topic.headers:
        yield from ((f"headers.{header.name}", path) for path in header.key.paths)


def _participants(topic: TopicDeclaration) -> Iterator[tuple[str, str]]:
    yield from (("writers", name) for name in topic.writers)
    yield from (("planned_writers", name) for name in topic.planned_writers)
    yield from (("readers", reader.service) for reader in topic.readers)


def _referenced_schemas(declarations: Declarations) -> set[str]:
    fields = (field for schema in declarations.schemas.values() for field in schema.record.fields)
    types = (field.type for field in fields if isinstance(field.type, RecordType))
    return {part.reference for part in types if part.reference}


DeclarationRule = Callable[[Declarations], None]
DECLARATION_RULES: Final[tuple[DeclarationRule, ...]] = (
    _check_schemas,
    _check_field_types,
    _check_arrays,
    _check_value_lists,
    _check_topics,
    _check_services,
    _check_examples,
    check_release,
)


_PYTHON = {"string": str, "int": int, "long": int, "double": (int, float), "boolean": bool, "bytes": str}


def record_from_json(record: RecordType, content: Any, *, file: str, place: str = "") -> dict[str, Any]:
    """Convert a JSON object to a record; raises DeclarationError where it does not fit.

    JSON has no bytes: as in Avro's own JSON form, each character below U+0100 stands for one byte. Fields
    that are left out get their default.
    """
    if not isinstance(content, Mapping):
        raise DeclarationError(file, place, f"must be an object, not {content!r}")
    names = {field.name for field in record.fields}
    for name in content:
        if name not in names:
            raise DeclarationError(file, f"{place}{name}", f"is not a field of {record.name}")
    result = {}
    for field in record.fields:
        if field.name not in content and field.is_required:
            raise DeclarationError(file, f"{place}{field.name}", "is missing")
        value = content.get(field.name, field.default)
        result[field.name] = _value(field.type, value, file=file, place=f"{place}{field.name}")
    return result


def _value(kind: AvroType, value: Any, *, file: str, place: str) -> Any:
    match kind:
        case NullableType(of):
            return None if value is None else _value(of, value, file=file, place=place)
        case ArrayType(of) if isinstance(value, list):
            return [
                _value(of, item, file=file, place=f"{place}[{number}]") for number, item in enumerate(value)
            ]
        case MapType(of) if isinstance(value, dict):
            return {
                name: _value(of, item, file=file, place=f"{place}.{name}") for name, item in value.items()
            }
        case RecordType():
            return record_from_json(kind, value, file=file, place=f"{place}.")
        case PrimitiveType(name) if _is(value, name):
            return value.encode("latin-1") if name == "bytes" else value
    raise DeclarationError(file, place, f"does not fit the type: {value!r}")


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    fits = isinstance(value, _PYTHON[name])  # type: ignore[arg-type]  # a type or a tuple of types
    return fits and not (name == "bytes" and any(ord(sign) > 0xFF for sign in value))  # noqa: PLR2004  # a byte

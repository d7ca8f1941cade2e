"""Do the declarations fit together?

Each rule is a function that raises DeclarationError at the first thing that breaks it, so that a
test can show what it rejects. Knows nothing of files; `reading` has judged their form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from .declarations import (
    ArrayType,
    DeclarationError,
    Declarations,
    FieldDeclaration,
    NullableType,
    PrimitiveType,
    RecordType,
    SchemaDeclaration,
    TopicDeclaration,
    ValueList,
    field_at,
    records_of,
)
from .examples import record_from_json
from .releases import check_release

EXAMPLE_NAMES: Final = ("full", "minimal")
"""What there is of each event: every field filled in, and only what must be."""

_KEY_TYPES: Final = ("string", "int", "long", "bytes")


def check_declarations(declarations: Declarations) -> None:
    """Hold every rule against the declarations."""
    for rule in DECLARATION_RULES:
        rule(declarations)


def _check_schemas(declarations: Declarations) -> None:
    """One current version of each event; a record's name means one record; a field's name one type."""
    records: dict[str, str] = {}
    events: dict[str, str] = {}
    for schema in declarations.schemas.values():
        if schema.event in events:
            raise DeclarationError(schema.file, "", f"is a second version beside {events[schema.event]}")
        events[schema.event] = schema.name
        for record in _own_records(schema):
            if record.name in records:
                raise DeclarationError(schema.file, record.name, f"is declared in {records[record.name]} too")
            records[record.name] = schema.file
        if schema.record.name != "".join(part.capitalize() for part in schema.event.split("-")):
            raise DeclarationError(schema.file, "name", f"{schema.record.name} does not fit the file's name")


def _check_field_types(declarations: Declarations) -> None:
    """Let the same name mean the same thing in every event."""
    seen: dict[str, tuple[str, object]] = {}
    for schema, record, field in _own_fields(declarations):
        if isinstance(field.type, RecordType):
            continue
        plain = field.type.of if isinstance(field.type, NullableType) else field.type
        where, other = seen.setdefault(field.name, (schema.file, plain))
        if other != plain and field.name not in _AMBIGUOUS_FIELDS:
            raise DeclarationError(schema.file, f"{record.name}.{field.name}", f"has another type in {where}")


_AMBIGUOUS_FIELDS: Final = frozenset({"header_values"})
"""Headers of HTTP are text; those of a message are bytes."""


def _check_arrays(declarations: Declarations) -> None:
    """Arrays of records cost four times as much; they need a reason."""
    for schema, record, field in _own_fields(declarations):
        has_records = isinstance(field.type, ArrayType) and isinstance(field.type.of, RecordType)
        if has_records and not field.few_items_reason:
            raise DeclarationError(
                schema.file, f"{record.name}.{field.name}", "is an array of records: use parallel arrays"
            )
        if field.few_items_reason and not has_records:
            raise DeclarationError(
                schema.file, f"{record.name}.{field.name}", "has `few`, but is no array of records"
            )


def _check_words(declarations: Declarations) -> None:
    """Find a field's list, with its default in it (or empty), and a field for each list."""
    used: set[str] = set()
    for schema, record, field in _own_fields(declarations):
        if field.value_list is None:
            continue
        place = f"{record.name}.{field.name}"
        if field.value_list not in declarations.value_lists:
            raise DeclarationError(schema.file, place, f"there is no schemas/words/{field.value_list}.yaml")
        if _innermost_type(field) != PrimitiveType("string"):
            raise DeclarationError(schema.file, place, "has words, but is no text")
        words = declarations.value_lists[field.value_list]
        if isinstance(field.default, str) and field.default not in {"", *words.values}:
            raise DeclarationError(schema.file, place, f"{field.default!r} is no word of {field.value_list}")
        used.add(field.value_list)
    for words in declarations.value_lists.values():
        if words.name not in used | _LISTS_USED_IN_MAPS:
            raise DeclarationError(words.file, "", "is used by no field")
        _check_spelling(words)


_LISTS_USED_IN_MAPS: Final = frozenset({"attribute-source"})
"""Lists whose words stand in maps, where Avro has no place to name a list."""


def _check_spelling(words: ValueList) -> None:
    for word in words.values:
        if not word.isidentifier() or word != word.lower():
            raise DeclarationError(words.file, word, "must be lower_case_with_underscores")


def _check_topics(declarations: Declarations) -> None:
    """Values, keys, shards and headers name what exists."""
    for topic in declarations.topics.values():
        schema = declarations.schemas.get(topic.value)
        if schema is None:
            raise DeclarationError(topic.file, "value", f"there is no schemas/avro/{topic.value}.avsc")
        for place, path in _paths(topic):
            field = field_at(schema.record, path)
            kind = field.type if field else None
            plain = kind.of if isinstance(kind, NullableType) else kind
            if not isinstance(plain, PrimitiveType) or plain.name not in _KEY_TYPES:
                raise DeclarationError(topic.file, place, f"{path!r} is no text or number of {topic.value}")
        if topic.cleanup == "compact" and topic.key.rule == "host_of":
            raise DeclarationError(topic.file, "key", "a compacted topic needs a key that is never empty")
    unused = declarations.schemas.keys() - {topic.value for topic in declarations.topics.values()}
    for name in sorted(unused - _parts(declarations)):
        raise DeclarationError(declarations.schemas[name].file, "", "is the value of no topic")


def _check_services(declarations: Declarations) -> None:
    """Writers and readers are known; a topic has one writer unless the design gives it several."""
    services = declarations.services
    known = {*services.all, *services.outside}
    for topic in declarations.topics.values():
        for place, name in _participants(topic):
            if name not in known:
                raise DeclarationError(topic.file, place, f"{name!r} is not in schemas/services.yaml")
        if (len(topic.writers) != 1) != bool(topic.multiple_writers_reason):
            raise DeclarationError(
                topic.file, "writers", "one writer a topic; more only with `why_many_writers`, and no less"
            )
        if not topic.readers and topic.value != "dead-letter.v1":
            raise DeclarationError(topic.file, "readers", "nobody reads it")
    _check_groups(declarations)


def _check_groups(declarations: Declarations) -> None:
    """Keep a group to one service, and all of it handed out by shard or none."""
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
                    topic.file, "readers", "is handed out by shard, but not partitioned so"
                )


def _check_examples(declarations: Declarations) -> None:
    """Each event has its two examples, they are events, and `full` leaves nothing out."""
    events = {schema.event: schema for schema in declarations.schemas.values()}
    there = {(example.event, example.name) for example in declarations.examples}
    for example in declarations.examples:
        if example.event not in events or example.name not in EXAMPLE_NAMES:
            raise DeclarationError(example.file, "", "belongs to no event")
        record = events[example.event].record
        record_from_json(record, example.content, file=example.file)
        for field in record.fields:
            if (field.name in example.content) is not (field.is_required or example.name == "full"):
                wrong = "is missing" if example.name == "full" else "is not required, so it is not minimal"
                raise DeclarationError(example.file, field.name, wrong)
    for event, schema in events.items():
        for name in EXAMPLE_NAMES:
            if (event, name) not in there:
                raise DeclarationError(schema.file, "", f"there is no schemas/examples/{event}/{name}.json")


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


def _paths(topic: TopicDeclaration) -> Iterator[tuple[str, str]]:
    yield from (("key", path) for path in topic.key.paths)
    if topic.shard_by:
        yield "shard_by", topic.shard_by.path
    for header in topic.headers:
        yield from ((f"headers.{header.name}", path) for path in header.key.paths)


def _participants(topic: TopicDeclaration) -> Iterator[tuple[str, str]]:
    yield from (("writers", name) for name in topic.writers)
    yield from (("readers", reader.service) for reader in topic.readers)


def _parts(declarations: Declarations) -> set[str]:
    fields = (field for schema in declarations.schemas.values() for field in schema.record.fields)
    types = (field.type for field in fields if isinstance(field.type, RecordType))
    return {part.reference for part in types if part.reference}


DeclarationRule = Callable[[Declarations], None]
DECLARATION_RULES: Final[tuple[DeclarationRule, ...]] = (
    _check_schemas,
    _check_field_types,
    _check_arrays,
    _check_words,
    _check_topics,
    _check_services,
    _check_examples,
    check_release,
)

"""Source of the topic registry: one constant for each topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .declarations import (
    Declarations,
    FieldDeclaration,
    KeyRule,
    NullableType,
    PrimitiveType,
    ReaderRule,
    RecordType,
    ShardRule,
    TopicDeclaration,
    field_at,
)
from .layout import docstring_lines, module_text, quoted, quoted_tuple

_DOC = "Registry of all topics: the only place in code where topic names are spelled."


def render_registry(declarations: Declarations) -> str:
    """Return the text of `topics.py`."""
    topics = list(declarations.topics.values())
    records = {topic.value: declarations.schemas[topic.value].record for topic in topics}
    body = [*_imports(topics, records)]
    for topic in topics:
        if not _is_template(topic):
            body += _functions(topic, records[topic.value])
    body += _dead_letter_key(topics)
    for topic in topics:
        body += ["", *_constant(topic, records[topic.value].name)]
    body += [
        "",
        "",
        *_mapping(topics),
        "",
        *_services(declarations),
        "",
        *_headers(declarations),
        "",
        "",
        *_dlq(),
    ]
    return module_text(_DOC, body)


def _is_template(topic: TopicDeclaration) -> bool:
    return topic.name.endswith("-dlq")


def _imports(topics: list[TopicDeclaration], records: dict[str, RecordType]) -> Iterator[str]:
    yield "from __future__ import annotations"
    yield ""
    yield "from collections.abc import Mapping"
    yield "from typing import Any, Final"
    yield ""
    partitioning = {_partitioning(topic.shard_by) for topic in topics if topic.shard_by}
    partitioning |= {"host_of_url" for topic in topics if topic.key.rule == "host_of"}
    for name in sorted(partitioning - {"host_of_url"}):
        yield f"from strider.contracts.partitioning import {name}"
    yield "from strider.contracts.topic import Topic, TopicReader"
    if "host_of_url" in partitioning:
        yield "from strider.contracts.partitioning import host_of_url"
    yield ""
    yield "from .events import ("
    yield from (f"    {name}," for name in sorted({record.name for record in records.values()}))
    yield ")"


def _partitioning(rule: ShardRule) -> str:
    return "shard_of_host" if rule.rule == "host" else "key_partition"


def _functions(topic: TopicDeclaration, record: RecordType) -> Iterator[str]:
    suffix = topic.name.replace("-", "_")
    yield from ("", "", f"def _key_of_{suffix}(event: {record.name}) -> bytes | None:")
    yield f"    return {_key(topic.key, record)}"
    if topic.shard_by:
        yield from ("", "", f"def _shard_of_{suffix}(event: {record.name}, shards: int) -> int:")
        yield f"    return {_shard(topic.shard_by)}"
    if topic.headers:
        yield from (
            "",
            "",
            f"def _headers_of_{suffix}(event: {record.name}) -> tuple[tuple[str, bytes], ...]:",
        )
        yield "    return ("
        for header in topic.headers:
            yield f"        ({quoted(header.name)}, {_key(header.key, record)}),"
        yield "    )"


def _key(rule: KeyRule, record: RecordType) -> str:
    if rule.rule == "host_of":
        return f"host_of_url(event.{rule.paths[0]})"
    if rule.rule == "first":
        return f"({' or '.join(f'event.{path}' for path in rule.paths)}).encode()"
    fields = [(path, field_at(record, path)) for path in rule.paths]
    if len(fields) == 1:
        path, field = fields[0]
        return _encoded(f"event.{path}", field)
    return 'f"' + "/".join(f"{{event.{path}}}" for path, _field in fields) + '".encode()'


def _encoded(value: str, field: FieldDeclaration | None) -> str:
    kind = field.type if field else None
    plain = kind.of if isinstance(kind, NullableType) else kind
    if plain == PrimitiveType("bytes"):
        return value
    return f"{value}.encode()" if plain == PrimitiveType("string") else f"str({value}).encode()"


def _shard(rule: ShardRule) -> str:
    if rule.rule == "host":
        return f"shard_of_host(event.{rule.path}, shards)"
    return f"key_partition(event.{rule.path}.encode(), shards)"


def _dead_letter_key(topics: Iterable[TopicDeclaration]) -> Iterator[str]:
    """Generate the key function shared by all dead-letter topics: the key of the original message."""
    letters = next(topic for topic in topics if _is_template(topic))
    yield from ("", "", "def _key_of_dead_letter(event: DeadLetter) -> bytes | None:")
    yield f"    return event.{letters.key.paths[0]}"
    yield ""


def _constant(topic: TopicDeclaration, record: str) -> Iterator[str]:
    yield f"{topic.constant}: Final[Topic[{record}]] = Topic("
    yield f"    name={quoted(topic.name)},"
    yield f"    value={record},"
    yield f"    schema_name={quoted(topic.value)},"
    yield f"    description={quoted(topic.description)},"
    yield f"    partitioner={quoted(topic.partitioner)},"
    yield f"    cleanup={quoted(topic.cleanup)},"
    yield f"    writers={quoted_tuple(topic.writers)},"
    readers = dict.fromkeys(reader.service for reader in topic.readers if not reader.planned)
    yield f"    readers={quoted_tuple(readers)},"
    yield f"    max_bytes={topic.max_bytes:_},"
    yield f"    partitions={topic.partitions},"
    yield f"    compression={quoted(topic.compression)},"
    yield f"    accepts_json={topic.accepts_json},"
    yield f"    profile={quoted(topic.profile)},"
    yield "    config={"
    yield from (f"        {quoted(name)}: {quoted(value)}," for name, value in sorted(topic.config.items()))
    yield "    },"
    yield from _named_functions(topic)
    yield from _readers(topic.readers)
    yield f"    transactional={topic.transactional},"
    yield f"    key_name={quoted(topic.key.description)},"
    yield from _header_docs(topic)
    if topic.planned_writers:
        yield f"    planned_writers={quoted_tuple(topic.planned_writers)},"
    yield ")"
    yield from docstring_lines(topic.description)


def _named_functions(topic: TopicDeclaration) -> Iterator[str]:
    suffix = topic.name.replace("-", "_")
    yield f"    key_of=_key_of_{'dead_letter' if _is_template(topic) else suffix},"
    if topic.shard_by:
        yield f"    shard_of=_shard_of_{suffix},"
    if topic.headers:
        yield f"    headers_of=_headers_of_{suffix},"


def _header_docs(topic: TopicDeclaration) -> Iterator[str]:
    if topic.headers:
        yield "    headers={"
        yield from (f"        {quoted(header.name)}: {quoted(header.doc)}," for header in topic.headers)
        yield "    },"


def _readers(readers: tuple[ReaderRule, ...]) -> Iterator[str]:
    if not readers:
        return
    yield "    read_by=("
    for reader in readers:
        parts = [quoted(reader.service)]
        if reader.group is not None:
            parts.append(f"group={quoted(reader.group)}")
        if reader.mode != "group":
            parts.append(f"mode={quoted(reader.mode)}")
        if reader.sharded:
            parts.append("sharded=True")
        if reader.gates != "none":
            parts.append(f"gates={quoted(reader.gates)}")
        if reader.planned:
            parts.append("planned=True")
        yield f"        TopicReader({', '.join(parts)}),"
    yield "    ),"


def _mapping(topics: Iterable[TopicDeclaration]) -> Iterator[str]:
    yield "TOPICS: Final[Mapping[str, Topic[Any]]] = {"
    yield "    topic.name: topic"
    yield "    for topic in ("
    yield from (f"        {topic.constant}," for topic in topics)
    yield "    )"
    yield "}"
    yield from docstring_lines("Every topic by its name.")


def _services(declarations: Declarations) -> Iterator[str]:
    services = declarations.services
    yield "SERVICES: Final[Mapping[str, str]] = {"
    yield from (f"    {quoted(name)}: {quoted(sentence)}," for name, sentence in services.core.items())
    yield "}"
    yield from docstring_lines("The services, each with what it decides.")
    yield ""
    yield "EXAMPLE_SERVICES: Final[Mapping[str, str]] = {"
    yield from (f"    {quoted(name)}: {quoted(sentence)}," for name, sentence in services.example.items())
    yield "}"
    yield from docstring_lines("The services of the examples.")


def _headers(declarations: Declarations) -> Iterator[str]:
    yield "COMMON_HEADERS: Final[Mapping[str, str]] = {"
    yield from (f"    {quoted(name)}: {quoted(sentence)}," for name, sentence in declarations.headers.items())
    yield "}"
    yield from docstring_lines(
        "Headers that any message may carry; headers of a single topic are declared with the topic."
    )


def _dlq() -> Iterator[str]:
    yield "def dlq(service: str) -> Topic[DeadLetter]:"
    yield '    """Return the topic of messages that a service could not handle."""'
    yield "    try:"
    yield '        return TOPICS[f"{service}-dlq"]'
    yield "    except KeyError:"
    yield '        raise LookupError(f"no dead-letter topic: {service!r} is not a service") from None'

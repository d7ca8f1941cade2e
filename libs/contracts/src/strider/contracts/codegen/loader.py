"""Load everything under `schemas/` into declarations and check them against each other.

For topics only the form of each file is checked here; whether the fields, schemas and services exist is
checked by `checks`. A file with `template` stands for one topic of each service.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from .checks import check_declarations
from .declarations import (
    DeclarationError,
    Declarations,
    EventExample,
    HeaderRule,
    KeyRule,
    ReaderRule,
    ReleasedSchemas,
    ServiceDeclarations,
    ShardRule,
    TopicDeclaration,
    ValueList,
)
from .releases import CHECKSUMS_FILE, RELEASED_VALUES_FILE, file_checksums, read_checksums
from .schema_loader import load_schemas
from .strict_files import SourceDocument, read_json, read_yaml

_REFERENCE: Final = "$example"


def load_declarations(schemas: Path) -> Declarations:
    """Load a `schemas` folder; raises DeclarationError for the first fault."""
    root = schemas.parent
    if not (schemas / "topics").is_dir():
        raise DeclarationError(
            schemas.name, "", "has no folder named topics; is this the root of the repository?"
        )
    services = _load_services(read_yaml(schemas / "services.yaml", root))
    declarations = Declarations(
        schemas=load_schemas(schemas / "avro", root),
        value_lists=_load_value_lists(schemas / "words", root),
        topics=load_topics(schemas / "topics", root, services),
        services=services,
        headers=read_yaml(schemas / "headers.yaml", root).sentences(),
        examples=_load_examples(schemas / "examples", root),
        release=_load_released(schemas / "released", root),
    )
    check_declarations(declarations)
    return declarations


def _load_services(document: SourceDocument) -> ServiceDeclarations:
    document.require_known(("core", "example", "outside"))
    return ServiceDeclarations(*(document.take_sentences(kind) for kind in ("core", "example", "outside")))


def _load_value_lists(folder: Path, root: Path) -> dict[str, ValueList]:
    documents = {path.stem: read_yaml(path, root) for path in sorted(folder.glob("*.yaml"))}
    return {name: _load_value_list(name, documents) for name in documents}


def _load_value_list(name: str, documents: dict[str, SourceDocument]) -> ValueList:
    document = documents[name]
    document.require_known(("name", "description", "includes", "words"))
    if document.take("name", str) != name:
        raise document.error("name", f"must be the file's name, {name}")
    values = document.take_sentences("words")
    for other in document.take_texts("includes", ()):
        if other not in documents or "includes" in documents[other].values:
            raise document.error("includes", f"{other!r} is not a list, or has includes itself")
        for word, sentence in documents[other].take_sentences("words").items():
            if word in values:
                raise document.error(f"words.{word}", f"is already in {other}")
            values[word] = sentence
    return ValueList(name, document.file, document.take("description", str), values)


def _load_examples(folder: Path, root: Path) -> tuple[EventExample, ...]:
    examples = tuple(_load_example(path, root) for path in sorted(folder.glob("*/*")))
    contents = {f"{example.event}/{example.name}": example.content for example in examples}
    return tuple(
        replace(example, content=_with_examples(example, example.content, contents)) for example in examples
    )


def _with_examples(example: EventExample, content: Any, contents: Mapping[str, Any]) -> Any:
    """Replace `{"$example": "event/name"}` by that example, so that an event is written once."""
    if not isinstance(content, Mapping):
        return content
    if content.keys() != {_REFERENCE}:
        return {name: _with_examples(example, value, contents) for name, value in content.items()}
    if content[_REFERENCE] not in contents:
        raise DeclarationError(example.file, _REFERENCE, f"there is no example {content[_REFERENCE]!r}")
    return contents[content[_REFERENCE]]


def _load_example(path: Path, root: Path) -> EventExample:
    if path.suffix != ".json":
        raise DeclarationError(path.relative_to(root).as_posix(), "", "is not a JSON file")
    document = read_json(path, root)
    return EventExample(path.parent.name, path.stem, document.file, document.values)


def _load_released(folder: Path, root: Path) -> ReleasedSchemas:
    """Load the released schemas; empty before the first release."""
    manifest = folder / "manifest.json"
    if not manifest.exists():
        return ReleasedSchemas({}, {}, {}, {}, {})
    fingerprints = {}
    document = read_json(manifest, root)
    for name in document.values:
        entry = document.take_mapping(name)
        entry.require_known(("fingerprint", "since"))
        fingerprints[name] = (entry.take("fingerprint", str), entry.take("since", str))
    schemas = {path.stem: read_json(path, root).values for path in sorted(folder.glob("*.avsc"))}
    return ReleasedSchemas(
        schemas,
        fingerprints,
        _load_released_values(folder, root),
        read_checksums(folder / CHECKSUMS_FILE),
        file_checksums(folder),
    )


def _load_released_values(folder: Path, root: Path) -> dict[str, tuple[str, ...]]:
    """Load the released value lists; a missing file is found by its checksum."""
    path = folder / RELEASED_VALUES_FILE
    if not path.exists():
        return {}
    document = read_json(path, root)
    return {name: document.take_texts(name) for name in document.values}


MAX_BYTES: Final = 512 * 1024
"""Maximum size of an event; anything larger is passed by reference."""

EVERY_SERVICE: Final = "every-service"
"""Stands for every service of this repository, among writers and readers."""

PLACEHOLDER: Final = "<service>"

_KNOWN_KEYS: Final = frozenset(
    {
        *(
            "name",
            "template",
            "description",
            "profile",
            "value",
            "transactional",
            "accepts_json",
            "why_many_writers",
        ),
        *("key", "partitioner", "shard_by", "partitions", "writers", "planned_writers", "readers", "headers"),
        *("max_bytes", "compression", "cleanup", "config"),
    }
)
_TOPIC_NAME: Final = re.compile(r"[a-z]+(-[a-z]+)*")

_BROKER_MAX_BYTES: Final = "1048576"
"""Maximum size of a record batch: event, key and headers, with room; explicit, so that broker defaults do not
matter.
"""


def load_topics(folder: Path, root: Path, services: ServiceDeclarations) -> dict[str, TopicDeclaration]:
    """Load every topic of a folder, with templates expanded."""
    topics: dict[str, TopicDeclaration] = {}
    for path in sorted(folder.glob("*.yaml")):
        document = read_yaml(path, root)
        document.require_known(_KNOWN_KEYS)
        for name, service in _topic_names(document, path.stem, services):
            if name in topics:
                raise document.error("name", f"{name} is already declared in {topics[name].file}")
            topics[name] = _topic(document, name, service, services)
    return dict(sorted(topics.items()))


def _topic_names(document: SourceDocument, stem: str, services: ServiceDeclarations) -> list[tuple[str, str]]:
    if "template" in document.values:
        template = document.take("template", str)
        if PLACEHOLDER not in template:
            raise document.error("template", f"must contain {PLACEHOLDER}")
        return [(template.replace(PLACEHOLDER, service), service) for service in services.all]
    name = document.take("name", str)
    if name != stem or not _TOPIC_NAME.fullmatch(name):
        raise document.error("name", f"must be the file's name, lower case with dashes, not {name!r}")
    return [(name, "")]


def _topic(
    document: SourceDocument, name: str, service: str, services: ServiceDeclarations
) -> TopicDeclaration:
    cleanup = document.take_choice("cleanup", ("delete", "compact"))
    max_bytes = document.take("max_bytes", int, MAX_BYTES)
    if not 0 < max_bytes <= MAX_BYTES:
        raise document.error("max_bytes", f"must be at most {MAX_BYTES}")
    profile = "example" if service in services.example else "core"
    return TopicDeclaration(
        name=name,
        file=document.file,
        description=document.take("description", str).replace(PLACEHOLDER, service),
        profile=document.take_choice("profile", ("core", "example"), profile),
        value=document.take("value", str),
        key=_key(document, document.values.get("key")),
        partitioner=document.take_choice("partitioner", ("key", "shard", "explicit")),
        shard_by=_shard(document),
        partitions=document.take("partitions", int) if "partitions" in document.values else None,
        transactional=document.take("transactional", bool, default=False),
        multiple_writers_reason=document.take("why_many_writers", str, default=""),
        writers=_services(document.take_texts("writers"), services),
        planned_writers=_planned_writers(document, services),
        # Dead letters of examples have no consumer: they are read from the topic with the command line.
        readers=() if service in services.example else _readers(document, services),
        headers=_headers(document),
        accepts_json=document.take("accepts_json", bool, default=False),
        max_bytes=max_bytes,
        compression=document.take_choice("compression", ("none", "zstd"), "zstd"),
        cleanup=cleanup,
        config=_topic_config(document, cleanup),
    )


def _key(here: SourceDocument, value: Any) -> KeyRule:
    match value:
        case str():
            return KeyRule("joined", (value,))
        case [str(), *_] if all(isinstance(part, str) for part in value):
            return KeyRule("joined", tuple(value))
        case {"first": [str(), *_] as paths} if len(value) == 1:
            return KeyRule("first", tuple(paths))
        case {"host_of": str(path)} if len(value) == 1:
            return KeyRule("host_of", (path,))
    raise here.error("key", "must be a field, a list of fields, {first: [fields]} or {host_of: field}")


def _shard(document: SourceDocument) -> ShardRule | None:
    if document.take("partitioner", str) != "shard":
        if "shard_by" in document.values:
            raise document.error("shard_by", "is only for topics that are partitioned by shard")
        return None
    match document.take("shard_by", dict):
        case {"host": str(path), **rest} if not rest:
            return ShardRule("host", path)
        case {"hash": str(path), **rest} if not rest:
            return ShardRule("hash", path)
    raise document.error("shard_by", "must be {host: field} or {hash: field}")


def _services(names: tuple[str, ...], services: ServiceDeclarations) -> tuple[str, ...]:
    return tuple(one for name in names for one in (services.all if name == EVERY_SERVICE else (name,)))


def _planned_writers(document: SourceDocument, services: ServiceDeclarations) -> tuple[str, ...]:
    if "planned_writers" not in document.values:
        return ()
    return _services(document.take_texts("planned_writers"), services)


def _readers(document: SourceDocument, services: ServiceDeclarations) -> tuple[ReaderRule, ...]:
    readers = []
    for number, item in enumerate(document.take("readers", list)):
        if not isinstance(item, dict):
            raise document.error("readers", f"each must be a mapping, not {item!r}")
        here = SourceDocument(document.file, f"readers[{number}]", item)
        readers += _reader(here, services)
    return tuple(readers)


def _reader(here: SourceDocument, services: ServiceDeclarations) -> list[ReaderRule]:
    here.require_known(("service", "group", "mode", "sharded", "gates", "planned"))
    mode = here.take_choice("mode", ("group", "table", "whole"), "group")
    group = here.take("group", str) if "group" in here.values else None
    if (group is None) is (mode == "group"):
        raise here.error("group", "is required for readers of mode group, and not allowed for others")
    sharded = here.take("sharded", bool, default=False)
    gates = here.take_choice("gates", ("none", "shard", "release", "raw_seeds", "completion"), "none")
    if mode != "group" and (sharded or gates != "none"):
        raise here.error("mode", "only a group can be sharded or hold back anything")
    planned = here.take("planned", bool, default=False)
    if planned and gates != "none":
        raise here.error("planned", "a group that no code is a member of cannot hold back anything")
    names = _services((here.take("service", str),), services)
    return [ReaderRule(name, group, mode, sharded, gates, planned) for name in names]


def _headers(document: SourceDocument) -> tuple[HeaderRule, ...]:
    if "headers" not in document.values:
        return ()
    rules = []
    headers = document.take_mapping("headers")
    for name in headers.values:
        here = headers.take_mapping(name)
        here.require_known(("key", "doc"))
        rules.append(HeaderRule(name, _key(here, here.values.get("key")), here.take("doc", str)))
    return tuple(rules)


def _topic_config(document: SourceDocument, cleanup: str) -> dict[str, str]:
    config = {"cleanup.policy": cleanup, "max.message.bytes": _BROKER_MAX_BYTES}
    here = document.take_mapping("config")
    for name, value in here.values.items():
        if name in config:
            raise here.error(
                name, "must not be set here: it has the same value for every topic, or its own key"
            )
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise here.error(name, f"must be a text or a number, not {value!r}")
        config[name] = str(value)
    return config

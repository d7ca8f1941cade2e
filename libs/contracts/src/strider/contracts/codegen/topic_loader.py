"""Files of `schemas/topics`, read into rules.

Only the form of each file is judged here; whether its fields, schemas and services exist is
`checking`'s part. A file with `template` stands for one topic of each service of ours.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from .declarations import HeaderRule, KeyRule, ReaderRule, ServiceDeclarations, ShardRule, TopicDeclaration
from .strict_files import SourceDocument, read_yaml

MAX_BYTES: Final = 512 * 1024
"""No event is larger; what is, travels by reference."""

EVERY_SERVICE: Final = "every-service"
"""Stands for each service of ours, among writers and readers."""

PLACEHOLDER: Final = "<service>"

_NAMES: Final = frozenset(
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
        *("key", "partitioner", "shard_by", "partitions", "writers", "readers", "headers"),
        *("max_bytes", "compression", "cleanup", "config"),
    }
)
_TOPIC_NAME: Final = re.compile(r"[a-z]+(-[a-z]+)*")

_BROKER_MAX_BYTES: Final = "1048576"
"""Of a record batch: an event, its key, its headers, with room; said so that no broker's default decides."""


def load_topics(folder: Path, root: Path, services: ServiceDeclarations) -> dict[str, TopicDeclaration]:
    """Read every topic of a folder, templates filled in."""
    topics: dict[str, TopicDeclaration] = {}
    for path in sorted(folder.glob("*.yaml")):
        document = read_yaml(path, root)
        document.require_known(_NAMES)
        for name, service in _names(document, path.stem, services):
            if name in topics:
                raise document.error("name", f"{name} is declared in {topics[name].file} already")
            topics[name] = _topic(document, name, service, services)
    return dict(sorted(topics.items()))


def _names(document: SourceDocument, stem: str, services: ServiceDeclarations) -> list[tuple[str, str]]:
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
        # Where only examples run nobody keeps their letters: people read them from the topic.
        readers=() if service in services.example else _readers(document, services),
        headers=_headers(document),
        accepts_json=document.take("accepts_json", bool, default=False),
        max_bytes=max_bytes,
        compression=document.take_choice("compression", ("none", "zstd"), "zstd"),
        cleanup=cleanup,
        config=_config(document, cleanup),
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


def _readers(document: SourceDocument, services: ServiceDeclarations) -> tuple[ReaderRule, ...]:
    readers = []
    for number, item in enumerate(document.take("readers", list)):
        if not isinstance(item, dict):
            raise document.error("readers", f"each is a mapping, not {item!r}")
        here = SourceDocument(document.file, f"readers[{number}]", item)
        readers += _reader(here, services)
    return tuple(readers)


def _reader(here: SourceDocument, services: ServiceDeclarations) -> list[ReaderRule]:
    here.require_known(("service", "group", "mode", "sharded", "gates"))
    mode = here.take_choice("mode", ("group", "table", "whole"), "group")
    group = here.take("group", str) if "group" in here.values else None
    if (group is None) is (mode == "group"):
        raise here.error("group", "is for readers of mode group, and they need one")
    sharded = here.take("sharded", bool, default=False)
    gates = here.take_choice("gates", ("none", "shard", "release"), "none")
    if mode != "group" and (sharded or gates != "none"):
        raise here.error("mode", "only a group can be sharded or hold back the release")
    names = _services((here.take("service", str),), services)
    return [ReaderRule(name, group, mode, sharded, gates) for name in names]


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


def _config(document: SourceDocument, cleanup: str) -> dict[str, str]:
    config = {"cleanup.policy": cleanup, "max.message.bytes": _BROKER_MAX_BYTES}
    here = document.take_mapping("config")
    for name, value in here.values.items():
        if name in config:
            raise here.error(name, "is set for every topic alike, or has a name of its own")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise here.error(name, f"must be a text or a number, not {value!r}")
        config[name] = str(value)
    return config

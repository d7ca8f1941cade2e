"""Render the contracts as an AsyncAPI 3 document: channels, operations, messages, examples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

from strider.contracts.generated.topics import COMMON_HEADERS, SERVICES, TOPICS
from strider.contracts.topic import Topic

from .layout import yaml_text

BINDING_VERSION: Final = "0.5.0"
AVRO_FORMAT: Final = "application/vnd.apache.avro;version=1.9.0"
AVRO_CONTENT: Final = "application/vnd.apache.avro+binary"

PLANNED: Final = "Planned: no code does this yet."

_DESCRIPTION: Final = """\
All events of Strider, a distributed web crawler on Kafka.

Values are Avro: single-object encoding, or the Confluent wire format where a schema registry is
configured. `seeds-submitted` and `seeds-owned` take a plain JSON document as well, of which only `url` is
required.
"""

_BOUND_CONFIG: Final = {
    "retention.ms": int,
    "retention.bytes": int,
    "delete.retention.ms": int,
    "max.message.bytes": int,
}
"""Topic settings that AsyncAPI's Kafka binding has a field for."""


@cache
def _current_schemas() -> dict[str, Any]:
    """Return the current self-contained schemas by name."""
    current: dict[str, Any] = _generated_json("schemas.json")["current"]
    return current


@cache
def _value_lists() -> dict[str, list[str]]:
    """Return the value lists by name."""
    lists: dict[str, list[str]] = _generated_json("schemas.json")["words"]
    return lists


@cache
def _event_examples() -> dict[str, Any]:
    """Return the examples by event and name: `page-fetched/full`."""
    return _generated_json("examples.json")


def _generated_json(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        files("strider.contracts").joinpath("generated", name).read_text("utf-8")
    )
    return content


def render_asyncapi(topics: Iterable[Topic[Any]] | None = None) -> str:
    """Render topics (by default the core ones) as an AsyncAPI document."""
    if topics is None:
        chosen = [topic for topic in TOPICS.values() if topic.profile == "core"]
    else:
        chosen = list(topics)
    document = {
        "asyncapi": "3.0.0",
        "info": _info(),
        "defaultContentType": AVRO_CONTENT,
        "channels": {topic.name: _channel(topic) for topic in chosen},
        "operations": _operations(chosen),
        "components": {"messages": {topic.value.__name__: _message(topic) for topic in chosen}},
    }
    return yaml_text([document])


def _info() -> Mapping[str, Any]:
    return {
        "title": "Strider",
        "version": version("strider-contracts"),
        "description": _DESCRIPTION,
        "license": {"name": "Apache-2.0"},
        "tags": [{"name": name, "description": sentence} for name, sentence in SERVICES.items()],
    }


def _channel(topic: Topic[Any]) -> Mapping[str, Any]:
    event = topic.value.__name__
    return {
        "address": topic.name,
        "title": topic.name,
        "description": topic.description,
        "messages": {event: {"$ref": f"#/components/messages/{event}"}},
        "bindings": {"kafka": _channel_binding(topic)},
    }


def _channel_binding(topic: Topic[Any]) -> Mapping[str, Any]:
    known = {name: kind(topic.config[name]) for name, kind in _BOUND_CONFIG.items() if name in topic.config}
    # A topic without its own count has as many partitions as the deployment has shards.
    partitions = {"partitions": topic.partitions} if topic.partitions else {}
    return {
        "topic": topic.name,
        **partitions,
        "topicConfiguration": {"cleanup.policy": [topic.cleanup], **known},
        "bindingVersion": BINDING_VERSION,
    }


def _operations(topics: Iterable[Topic[Any]]) -> dict[str, Any]:
    operations: dict[str, Any] = {}
    for topic in topics:
        for writer in (*topic.writers, *topic.planned_writers):
            operation = _operation(topic, "send", writer, planned=writer in topic.planned_writers)
            operations[f"{writer}.sends.{topic.name}"] = operation
        for reader in topic.read_by:
            name = f"{reader.group or reader.service}.reads.{topic.name}"
            operation = _operation(topic, "receive", reader.service, reader.group, planned=reader.planned)
            operations[name] = operation
    return operations


def _operation(
    topic: Topic[Any], action: str, service: str, group: str | None = None, *, planned: bool
) -> Mapping[str, Any]:
    binding = {"groupId": {"type": "string", "const": group}, "bindingVersion": BINDING_VERSION}
    return {
        "action": action,
        **({"summary": PLANNED} if planned else {}),
        "channel": {"$ref": f"#/channels/{topic.name}"},
        "tags": [{"name": service}],
        "messages": [{"$ref": f"#/channels/{topic.name}/messages/{topic.value.__name__}"}],
        **({"bindings": {"kafka": binding}} if group else {}),
    }


def _message(topic: Topic[Any]) -> Mapping[str, Any]:
    schema = _current_schemas()[topic.schema_name]
    event = topic.schema_name.rpartition(".v")[0]
    return {
        "name": topic.value.__name__,
        "title": topic.schema_name,
        "summary": schema["doc"],
        "contentType": AVRO_CONTENT,
        "headers": _headers(topic),
        "payload": {"schemaFormat": AVRO_FORMAT, "schema": _with_allowed_values(schema)},
        "bindings": {"kafka": {"key": _key(topic), "bindingVersion": BINDING_VERSION}},
        "examples": [
            {"name": name, "payload": _event_examples()[f"{event}/{name}"]} for name in ("minimal", "full")
        ],
    }


def _headers(topic: Topic[Any]) -> Mapping[str, Any]:
    known = {**topic.headers, **COMMON_HEADERS}
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": doc} for name, doc in known.items()},
        "required": [*topic.headers, "schema-fp"] if topic.headers else [],
    }


def _key(topic: Topic[Any]) -> Mapping[str, Any]:
    # Dead letters keep the key of the original message.
    letters = topic.schema_name.startswith("dead-letter.")
    return {"type": "string", "description": "As the original." if letters else f"{topic.key_name}."}


def _with_allowed_values(part: Any) -> Any:
    """Add the allowed values to the doc of each field that has a value list."""
    if isinstance(part, list):
        return [_with_allowed_values(item) for item in part]
    if not isinstance(part, Mapping):
        return part
    result = {key: _with_allowed_values(value) for key, value in part.items()}
    name = part.get("words")
    if isinstance(name, str):
        result["doc"] = f"{part['doc']} One of: {', '.join(_value_lists()[name])}."
    return result

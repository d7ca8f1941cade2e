"""A minimal `schemas` folder, for tests that break one thing in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]

THING: dict[str, Any] = {
    "type": "record",
    "name": "ThingHappened",
    "namespace": "strider",
    "doc": "Something happened.",
    "fields": [
        {"name": "host", "type": "string", "doc": "Where."},
        {"name": "outcome", "type": "string", "words": "colour", "doc": "How it looked."},
        {"name": "sizes", "type": {"type": "array", "items": "int"}, "default": [], "doc": "How big."},
        {"name": "note", "type": ["null", "string"], "default": None, "doc": "What else."},
    ],
}

LETTER: dict[str, Any] = {
    "type": "record",
    "name": "DeadLetter",
    "namespace": "strider",
    "doc": "A message that could not be handled.",
    "fields": [{"name": "key", "type": ["null", "bytes"], "default": None, "doc": "Its key."}],
}

SERVICES = """
core: {maker: Makes things.}
example: {watcher: Watches things.}
outside: {anyone: Whoever there is., runtime: What services are made of.}
"""

COLOUR = """
name: colour
description: How a thing looks.
words:
  red: Like a rose.
  blue: Like the sea.
"""

THINGS = """
name: things
description: What happened.
value: thing-happened.v1
key: host
partitioner: shard
shard_by: {host: host}
writers: [maker]
readers:
  - {service: watcher, group: watcher, sharded: true}
cleanup: delete
config: {retention.ms: 1000}
"""

LETTERS = """
template: <service>-dlq
description: What <service> could not handle.
value: dead-letter.v1
key: key
partitioner: key
writers: [runtime]
readers: []
cleanup: delete
config: {retention.ms: 1000}
"""


def build_schemas(folder: Path) -> Path:
    """Write the files and return the `schemas` folder."""
    files = {
        "services.yaml": SERVICES,
        "headers.yaml": "schema-fp: Fingerprint of the schema.\n",
        "words/colour.yaml": COLOUR,
        "topics/things.yaml": THINGS,
        "topics/letters.yaml": LETTERS,
        "avro/thing-happened.v1.avsc": json.dumps(THING),
        "avro/dead-letter.v1.avsc": json.dumps(LETTER),
        "examples/thing-happened/minimal.json": '{"host": "a.test", "outcome": "red"}',
        "examples/thing-happened/full.json": (
            '{"host": "a.test", "outcome": "red", "sizes": [1], "note": "x"}'
        ),
        "examples/dead-letter/minimal.json": "{}",
        "examples/dead-letter/full.json": '{"key": "\\u00ff"}',
    }
    schemas = folder / "schemas"
    for name, content in files.items():
        write(schemas / name, content)
    return schemas


def write(path: Path, content: str) -> None:
    """Write a file and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def thing(**changes: Any) -> str:
    """Return the event's schema with fields changed, or (by `...`) attributes left out."""
    schema = json.loads(json.dumps(THING))
    for name, attributes in changes.items():
        field = next((item for item in schema["fields"] if item["name"] == name), None)
        if field is None:
            field = {"name": name}
            schema["fields"].append(field)
        field |= attributes
        for attribute in [key for key, value in attributes.items() if value is ...]:
            del field[attribute]
    return json.dumps(schema)

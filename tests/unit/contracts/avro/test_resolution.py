"""Projection of a writer's value to the reader's shape follows Avro's specification."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer

from strider.contracts.avro.resolution import build_projection, find_incompatibilities
from strider.contracts.avro.schema_model import parse_schema_tree


def a_schema(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields)}


def a_field(kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": "a", "type": kind, **more}


ENUM = {"type": "enum", "name": "E", "symbols": ["X", "Y", "Z"]}
SMALLER = {"type": "enum", "name": "E", "symbols": ["X", "UNKNOWN"], "default": "UNKNOWN"}
INNER = {
    "type": "record",
    "name": "I",
    "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "int"}],
}
SWAPPED = {
    "type": "record",
    "name": "I",
    "fields": [
        {"name": "y", "type": "long"},
        {"name": "x", "type": "double"},
        {"name": "z", "type": {"type": "array", "items": "string"}, "default": ["d"]},
    ],
}

CASES = [
    pytest.param(a_field("int"), a_field("long"), 7, 7, id="int to long"),
    pytest.param(a_field("int"), a_field("double"), 7, 7.0, id="int to double"),
    pytest.param(a_field("long"), a_field("float"), 7, 7.0, id="long to float"),
    pytest.param(a_field("float"), a_field("double"), 0.5, 0.5, id="float to double"),
    pytest.param(a_field("string"), a_field("bytes"), "ä", "ä".encode(), id="text to bytes"),
    pytest.param(a_field("bytes"), a_field("string"), "ä".encode(), "ä", id="bytes to text"),
    pytest.param(a_field("int"), a_field(["null", "long"]), 7, 7, id="into a union"),
    pytest.param(a_field("int"), a_field(["null", "double"]), 7, 7.0, id="into a union, promoted"),
    pytest.param(a_field(["null", "int"]), a_field(["null", "double"]), 7, 7.0, id="optional, promoted"),
    pytest.param(a_field(["null", "int"]), a_field(["double", "null"]), None, None, id="optional nothing"),
    pytest.param(
        a_field({"type": "array", "items": "int"}),
        a_field({"type": "array", "items": "double"}),
        [1],
        [1.0],
        id="list",
    ),
    pytest.param(
        a_field({"type": "map", "values": "int"}),
        a_field({"type": "map", "values": "double"}),
        {"k": 1},
        {"k": 1.0},
        id="map",
    ),
    pytest.param(a_field(ENUM), a_field(SMALLER), "X", "X", id="known symbol"),
    pytest.param(
        a_field({"type": "array", "items": INNER}),
        a_field({"type": "array", "items": SWAPPED}),
        [{"x": 1, "y": 2}],
        [{"y": 2, "x": 1.0, "z": ["d"]}],
        id="records in a list",
    ),
    pytest.param(
        a_field(["null", INNER]),
        a_field(["null", SWAPPED]),
        {"x": 1, "y": 2},
        {"y": 2, "x": 1.0, "z": ["d"]},
        id="optional record",
    ),
]


@pytest.mark.parametrize(("written", "read", "value", "expected"), CASES)
def test_values_resolve_as_the_specification_has_it(
    written: dict[str, Any], read: dict[str, Any], value: Any, expected: Any
) -> None:
    """The reference is fastavro, except that it does not convert between string and bytes."""
    writer, reader = a_schema(written), a_schema(read)
    stream = BytesIO()
    schemaless_writer(stream, parse_schema(writer), {"a": value})
    stream.seek(0)
    theirs = schemaless_reader(stream, parse_schema(writer), parse_schema(reader))

    project = build_projection(writer=parse_schema_tree(writer), reader=parse_schema_tree(reader))
    ours = project({"a": value}) if project else {"a": value}

    assert find_incompatibilities(writer=parse_schema_tree(writer), reader=parse_schema_tree(reader)) == []
    assert ours == {"a": expected}
    assert isinstance(expected, bytes | str) or theirs == ours


DEFAULTS = [
    pytest.param("bytes", "ÿ", b"\xff", id="bytes"),
    pytest.param({"type": "fixed", "name": "F", "size": 1}, "ÿ", b"\xff", id="fixed"),
    pytest.param("double", 1, 1.0, id="whole number for a double"),
    pytest.param(["null", "bytes"], None, None, id="optional bytes"),
    pytest.param(["bytes", "null"], "ÿ", b"\xff", id="bytes or nothing"),
    pytest.param({"type": "map", "values": "bytes"}, {"a": "ÿ"}, {"a": b"\xff"}, id="map"),
    pytest.param({"type": "array", "items": "float"}, [1], [1.0], id="list"),
    pytest.param(
        SWAPPED, {"y": 1, "x": 2}, {"y": 1, "x": 2.0, "z": ["d"]}, id="record with defaults of its own"
    ),
]


@pytest.mark.parametrize(("kind", "default", "expected"), DEFAULTS)
def test_defaults_become_values(kind: Any, default: Any, expected: Any) -> None:
    """In a schema defaults are JSON, which has neither bytes nor some of the number types."""
    reader = parse_schema_tree(a_schema(a_field("int"), {"name": "b", "type": kind, "default": default}))
    project = build_projection(writer=parse_schema_tree(a_schema(a_field("int"))), reader=reader)

    assert project is not None
    assert project({"a": 1}) == {"a": 1, "b": expected}


def test_an_unknown_symbol_becomes_the_readers_default() -> None:
    project = build_projection(
        writer=parse_schema_tree(a_schema(a_field(ENUM))),
        reader=parse_schema_tree(a_schema(a_field(SMALLER))),
    )

    assert project is not None
    assert project({"a": "Z"}) == {"a": "UNKNOWN"}


def test_a_field_is_found_by_its_former_name() -> None:
    project = build_projection(
        writer=parse_schema_tree(a_schema(a_field("int"))),
        reader=parse_schema_tree(a_schema({"name": "b", "type": "long", "aliases": ["a"]})),
    )

    assert project is not None
    assert project({"a": 1}) == {"b": 1}


def test_an_equal_shape_costs_nothing() -> None:
    """Order, promotion of integers and docs change no value, so no projection is built."""
    one = a_schema(a_field("int", doc="d"), {"name": "l", "type": {"type": "array", "items": INNER}})
    other = a_schema({"name": "l", "type": {"type": "array", "items": INNER}}, a_field("long"))

    assert build_projection(writer=parse_schema_tree(one), reader=parse_schema_tree(other)) is None

"""Compiled writers produce the bytes of fastavro, and leave unusual values to it."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.avro.compiled_writer import compile_writer
from strider.contracts.avro.schema_model import parse_schema_tree
from tests.unit.contracts.codegen.test_examples import _event, _schema, each_example

EDGES = st.sampled_from([0, 63, 64, 1023, 1024, 8191, 8192, 2**31, -(2**63)])
LONGS = st.integers(-(2**63), 2**63 - 1) | EDGES
INTS = st.integers(-(2**31), 2**31 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.integers(510, 514).map(
    "é".__mul__
)

PARTS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("string", TEXTS),
    ("bytes", st.binary(max_size=40)),
    ("int", INTS),
    ("long", LONGS),
    ("boolean", st.booleans()),
    ("double", st.floats(allow_nan=False)),
    (["null", "long"], st.none() | LONGS),
    (["string", "null"], st.none() | TEXTS),
    (["null", "double"], st.none() | st.floats(allow_nan=False)),
    (["null", "bytes"], st.none() | st.binary(max_size=5)),
    ({"type": "array", "items": "string"}, st.lists(TEXTS, max_size=4)),
    ({"type": "array", "items": "int"}, st.lists(INTS, max_size=4).map(tuple)),
    ({"type": "array", "items": "long"}, st.lists(st.integers(-2, 66), max_size=4)),
    ({"type": "map", "values": "string"}, st.dictionaries(TEXTS, TEXTS, max_size=3)),
    (
        {
            "type": "array",
            "items": {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "double"}]},
        },
        st.lists(st.fixed_dictionaries({"x": st.floats(allow_nan=False)}), max_size=3),
    ),
]
SCHEMA = {
    "type": "record",
    "name": "all",
    "fields": [{"name": f"f{number}", "type": kind} for number, (kind, _) in enumerate(PARTS)],
}
RECORDS = st.fixed_dictionaries({f"f{number}": values for number, (_, values) in enumerate(PARTS)})


def _by_library(schema: Any, record: Any) -> bytes:
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), record)
    return stream.getvalue()


@each_example
def test_each_example_is_written_as_by_the_library(example: Any) -> None:
    schema, record = _schema(example).resolved, _event(example).to_record()
    write = compile_writer(parse_schema_tree(schema))

    assert write is not None, "all our types are known"
    assert write(record) == _by_library(schema, record)


@given(RECORDS)
def test_any_record_is_written_as_by_the_library(record: dict[str, Any]) -> None:
    write = compile_writer(parse_schema_tree(SCHEMA))

    assert write is not None
    assert write(record) == _by_library(SCHEMA, record)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param("int", 2**31, id="int-too-large"),
        pytest.param("long", 2**63, id="long-too-large"),
        pytest.param("long", 1.0, id="float-for-long"),
        pytest.param("long", None, id="nothing-for-long"),
        pytest.param("string", b"x", id="bytes-for-text"),
        pytest.param("string", "\ud800", id="half-a-surrogate"),
        pytest.param("bytes", "x", id="text-for-bytes"),
        pytest.param("double", "x", id="text-for-double"),
        pytest.param(["null", "long"], True, id="boolean-in-a-union"),
        pytest.param(["null", "double"], 1, id="whole-number-in-a-union"),
        pytest.param({"type": "array", "items": "long"}, ["x"], id="text-in-numbers"),
        pytest.param({"type": "array", "items": "long"}, [1.0], id="float-in-numbers"),
        pytest.param({"type": "array", "items": "long"}, 3, id="number-for-a-list"),
        pytest.param({"type": "map", "values": "long"}, ["x"], id="list-for-map"),
    ],
)
def test_what_is_odd_is_left_to_the_library(kind: Any, value: Any) -> None:
    """The fault is reported by fastavro, or it encodes the value."""
    schema = {"type": "record", "name": "odd", "fields": [{"name": "x", "type": kind}]}
    write = compile_writer(parse_schema_tree(schema))
    assert write is not None

    with pytest.raises(Exception):  # noqa: B017  # anything at all, says its contract
        write({"x": value})


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param({"type": "enum", "name": "e", "symbols": ["a"]}, id="enum"),
        pytest.param({"type": "fixed", "name": "f", "size": 2}, id="fixed"),
        pytest.param("float", id="float"),
        pytest.param(["null", "string", "long"], id="three-branches"),
    ],
)
def test_types_that_we_have_none_of_get_no_function(kind: Any) -> None:
    schema = {"type": "record", "name": "foreign", "fields": [{"name": "x", "type": kind}]}

    assert compile_writer(parse_schema_tree(json.loads(json.dumps(schema)))) is None

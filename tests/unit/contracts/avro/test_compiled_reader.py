"""Compiled readers decode what fastavro decodes, and leave unusual bytes to it."""

from __future__ import annotations

import json
from functools import cache
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.avro.compiled_reader import ReadFunction, compile_reader
from strider.contracts.avro.schema_model import parse_schema_tree
from tests.unit.contracts.codegen.test_examples import _event, _schema, each_example

from .test_compiled_writer import RECORDS, SCHEMA, _by_library

BEFORE = b"\x80\xff"
"""Precedes each value: the start is given, and bytes before it must not matter."""


@cache
def _reader() -> ReadFunction:
    read = compile_reader(parse_schema_tree(SCHEMA))
    assert read is not None, "all our types are known"
    return read


def _of_library(schema: Any, value: bytes) -> Any:
    """Decode a value completely."""
    stream = BytesIO(value)
    record = fastavro.schemaless_reader(stream, fastavro.parse_schema(schema), None)
    assert stream.tell() == len(value)
    return record


@each_example
def test_each_example_is_read_as_by_the_library(example: Any) -> None:
    schema = _schema(example).resolved
    value = _by_library(schema, _event(example).to_record())
    read = compile_reader(parse_schema_tree(schema))

    assert read is not None, "all our types are known"
    assert read(BEFORE + value, len(BEFORE)) == (_of_library(schema, value), len(BEFORE) + len(value))


@given(RECORDS)
def test_any_record_is_read_as_by_the_library(record: dict[str, Any]) -> None:
    value = _by_library(SCHEMA, record)

    assert _reader()(BEFORE + value, len(BEFORE)) == (_of_library(SCHEMA, value), len(BEFORE) + len(value))


@given(RECORDS, st.integers(0, 400), st.binary(max_size=3), st.integers(0, 3))
def test_bytes_that_are_read_are_good(record: dict[str, Any], at: int, put: bytes, cut: int) -> None:
    """After random changes: bytes that fastavro refuses or decodes differently are not decoded."""
    value = _by_library(SCHEMA, record)
    at %= len(value)
    spoilt = value[:at] + put + value[at + cut :]
    try:
        found, end = _reader()(spoilt, 0)
    except Exception:  # noqa: BLE001  # anything at all, says its contract
        return

    # By repr, because NaN is not equal to itself.
    assert end != len(spoilt) or repr(found) == repr(_of_library(SCHEMA, spoilt))


def _in_one_field(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "odd", "fields": [{"name": "x", "type": kind}]}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param("string", b"\x01", id="negative-length"),
        pytest.param("string", b"\x02\xff", id="no-UTF-8"),
        pytest.param("bytes", b"\x03xx", id="negative-length-of-bytes"),
        pytest.param("long", b"\xff" * 10 + b"\x01", id="number-without-end"),
        pytest.param("long", b"\xff" * 9 + b"\x02", id="more-than-64-bits"),
        pytest.param("int", b"", id="no-number"),
        pytest.param("boolean", b"\x02", id="neither-true-nor-false"),
        pytest.param("double", b"\x00" * 7, id="half-a-double"),
        pytest.param(["null", "long"], b"\x04\x00", id="no-such-branch"),
        pytest.param({"type": "array", "items": "string"}, b"\x01\x04\x02x\x00", id="block-with-its-size"),
        pytest.param({"type": "array", "items": "string"}, b"\x02\x02x\x02\x02y\x00", id="two-blocks"),
        pytest.param({"type": "array", "items": "string"}, b"\x02\x01\x00", id="negative-length-in-a-list"),
        pytest.param({"type": "array", "items": "long"}, b"\x04\x02", id="list-that-ends-early"),
        pytest.param({"type": "map", "values": "long"}, b"\x02\x01\x00\x00", id="name-of-negative-length"),
    ],
)
def test_what_is_odd_is_left_to_the_library(kind: Any, value: bytes) -> None:
    """The fault is reported by fastavro, or it decodes the value."""
    read = compile_reader(parse_schema_tree(_in_one_field(kind)))
    assert read is not None

    with pytest.raises(Exception):  # noqa: B017  # anything at all, says its contract
        read(value, 0)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param("string", b"\x06ab", id="text"),
        pytest.param("bytes", b"\x80\x01xx", id="bytes"),
    ],
)
def test_an_end_beyond_the_bytes_is_reported_as_too_short(kind: Any, value: bytes) -> None:
    read = compile_reader(parse_schema_tree(_in_one_field(kind)))
    assert read is not None

    assert read(value, 0)[1] > len(value)


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
    assert compile_reader(parse_schema_tree(json.loads(json.dumps(_in_one_field(kind))))) is None

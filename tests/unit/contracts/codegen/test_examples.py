"""Every example converts to class, Avro and back, with two libraries."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import avro.io
import avro.schema
import fastavro
import pytest

from strider.contracts.codegen import DeclarationError, load_declarations
from strider.contracts.codegen.checks import record_from_json
from strider.contracts.codegen.declarations import EventExample, SchemaDeclaration
from strider.contracts.generated.events import EVENTS

from .small_schemas import ROOT, build_schemas, write

DECLARATIONS = load_declarations(ROOT / "schemas")
SCHEMAS = {schema.event: schema for schema in DECLARATIONS.schemas.values()}

each_example = pytest.mark.parametrize(
    "example", [pytest.param(one, id=f"{one.event}-{one.name}") for one in DECLARATIONS.examples]
)


def _schema(example: EventExample) -> SchemaDeclaration:
    return SCHEMAS[example.event]


def _event(example: EventExample) -> Any:
    schema = _schema(example)
    record = record_from_json(schema.record, example.content, file=example.file)
    return EVENTS[schema.name].from_record(record)


def _written(schema: SchemaDeclaration, event: Any) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema.resolved), event.to_record())
    return out.getvalue()


@each_example
def test_an_example_goes_through_class_and_avro_unchanged(example: EventExample) -> None:
    schema, event = _schema(example), _event(example)

    stream = BytesIO(_written(schema, event))
    read = fastavro.schemaless_reader(stream, fastavro.parse_schema(schema.resolved), None)

    assert EVENTS[schema.name].from_record(read) == event
    assert stream.read() == b""


@each_example
def test_another_library_reads_the_same(example: EventExample) -> None:
    """The schemas are plain Avro, without features of one library."""
    schema, event = _schema(example), _event(example)
    theirs = avro.schema.parse(json.dumps(schema.resolved))

    read = avro.io.DatumReader(theirs).read(avro.io.BinaryDecoder(BytesIO(_written(schema, event))))

    assert EVENTS[schema.name].from_record(read) == event


@pytest.mark.parametrize("event", [pytest.param(name, id=name) for name in SCHEMAS])
def test_a_minimal_event_is_what_the_class_makes_of_its_required_fields(event: str) -> None:
    """The defaults in code equal those that Avro fills in for old messages."""
    example = next(one for one in DECLARATIONS.examples if (one.event, one.name) == (event, "minimal"))
    minimal = _event(example)
    required = [field.name for field in SCHEMAS[event].record.fields if field.is_required]

    built = type(minimal)(**{name: getattr(minimal, name) for name in required})

    assert built == minimal


def test_a_filled_example_shows_values_where_a_minimal_one_has_defaults() -> None:
    """An example that repeats the defaults explains nothing."""
    for example in DECLARATIONS.examples:
        if example.name == "full":
            optional = [field for field in _schema(example).record.fields if not field.is_required]
            shown = [field.name for field in optional if example.content[field.name] != field.default]
            assert len(shown) >= len(optional) / 3, example.file


def test_an_example_may_contain_another_one() -> None:
    """A validated page is a parsed page and a verdict, each written once."""
    contents = {(one.event, one.name): one.content for one in DECLARATIONS.examples}

    for name in ("full", "minimal"):
        assert contents["page-validated", name] == {
            "page": contents["page-parsed", name],
            "verdict": contents["verdict", name],
        }


def test_an_example_that_does_not_exist_is_named(tmp_path: Path) -> None:
    schemas = build_schemas(tmp_path)
    write(schemas / "examples/thing-happened/full.json", '{"note": {"$example": "thing-happened/half"}}')

    with pytest.raises(DeclarationError, match="there is no example 'thing-happened/half'"):
        load_declarations(schemas)

"""Records of every released version, encoded by another library, are read by the present code."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from fastavro import parse_schema, schemaless_writer

from strider.contracts import TOPICS
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.codegen import load_declarations
from strider.contracts.codegen.checks import record_from_json
from strider.contracts.codegen.declarations import EventExample
from strider.contracts.generated.events import EVENTS

from .small_schemas import ROOT

DECLARATIONS = load_declarations(ROOT / "schemas")
TOPIC_OF_EVENT = {topic.schema_name.rpartition(".")[0]: topic for topic in TOPICS.values()}
RELEASED = sorted(path.stem for path in (ROOT / "schemas" / "released").glob("*.avsc"))
EXAMPLES_OF_VERSIONS = [
    pytest.param(version, example, id=f"{version}-{example.name}")
    for version in RELEASED
    for example in DECLARATIONS.examples
    if example.event == version.rpartition(".")[0] and example.event in TOPIC_OF_EVENT
]


def test_there_are_earlier_versions() -> None:
    current = {topic.schema_name for topic in TOPICS.values()}

    assert len(set(RELEASED) - current) >= 10


@pytest.mark.fault("F24", part="records of the release before")
@pytest.mark.parametrize(("version", "example"), EXAMPLES_OF_VERSIONS)
def test_a_record_of_every_released_version_is_read(version: str, example: EventExample) -> None:
    """What its version does not have has its default; everything else is what was written."""
    topic, store = TOPIC_OF_EVENT[example.event], SchemaStore.bundled()
    current = {schema.event: schema for schema in DECLARATIONS.schemas.values()}[example.event]
    whole = record_from_json(current.record, example.content, file=example.file)
    schema = json.loads(store.definition(version))
    written = BytesIO()
    schemaless_writer(written, parse_schema(schema), whole)

    prefix = b"\xc3\x01" + store.register(json.dumps(schema))
    found = Codec(store).decode(topic, prefix + written.getvalue()).to_record()

    fields = {field["name"] for field in schema["fields"]} & found.keys()
    assert fields
    expected = EVENTS[current.name].from_record(whole).to_record()
    assert {name: found[name] for name in fields} == {name: expected[name] for name in fields}

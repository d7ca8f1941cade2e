"""Deferred events are encoded only when their bytes are needed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts import EncodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.deferred_encoding import (
    REMEMBERED_BYTES,
    DeferredCodec,
    DeferredValue,
    encoded_bytes,
)
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.codegen import load_declarations
from strider.contracts.codegen.checks import record_from_json
from strider.contracts.generated.events import PageParsed, PageValidated
from strider.contracts.generated.topics import PAGES_PARSED, PAGES_VALIDATED, TOPICS
from tests.unit.contracts.codegen.small_schemas import ROOT

BOOK = SchemaStore.bundled()
PASSING, PLAIN = DeferredCodec(BOOK), Codec(BOOK)
DECLARATIONS = load_declarations(ROOT / "schemas")
SCHEMAS = {schema.name: schema for schema in DECLARATIONS.schemas.values()}


def examples(topic: Topic[Any]) -> list[Any]:
    schema = SCHEMAS[topic.schema_name]
    return [
        topic.value.from_record(record_from_json(schema.record, one.content, file=one.file))
        for one in DECLARATIONS.examples
        if one.event == schema.event
    ]


def page(**fields: Any) -> PageParsed:
    return replace(examples(PAGES_PARSED)[0], **fields)


@pytest.mark.parametrize("topic", TOPICS.values(), ids=lambda topic: topic.name)
def test_every_event_is_the_same_by_either_codec(topic: Topic[Any]) -> None:
    """A crawl in one process and a service on a broker must produce the same message."""
    events = examples(topic)
    assert events
    for event in events:
        passed, plain = PASSING.encode(topic, event), PLAIN.encode(topic, event)
        assert (encoded_bytes(passed.value), passed.headers) == plain
        assert PASSING.decode(topic, passed.value, passed.headers) == PLAIN.decode(topic, *plain)
        assert len(passed.value) >= len(plain.value)


def test_a_deferred_event_is_not_decoded_in_its_own_process() -> None:
    """The reader gets the writer's object, and nothing was encoded."""
    event = page(text="words é 漢字")
    encoded = PASSING.encode(PAGES_PARSED, event)
    assert type(encoded.value) is DeferredValue
    assert PASSING.decode(PAGES_PARSED, encoded.value, encoded.headers) is event


def test_a_page_is_looked_at_once_for_as_long_as_it_travels() -> None:
    """The cached bound of the nested event is used only while its message exists."""
    parsed = page(text="x" * REMEMBERED_BYTES)
    validated = PageValidated(page=parsed, verdict=examples(PAGES_VALIDATED)[0].verdict)
    alone = len(PASSING.encode(PAGES_VALIDATED, validated).value)
    message = PASSING.encode(PAGES_PARSED, parsed)
    object.__setattr__(parsed, "text", "\0")
    assert len(PASSING.encode(PAGES_VALIDATED, validated).value) == alone
    del message
    assert type(PASSING.encode(PAGES_VALIDATED, validated).value) is bytes


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"text": "a\0b"}, id="nul"),
        pytest.param({"link_urls": ("http://a.test/\0",)}, id="nul in a list"),
        pytest.param({"meta": {"\0": ""}}, id="nul in a map"),
        pytest.param({"text": "a\ud800"}, id="half a character"),
        pytest.param({"text": "x" * (PAGES_PARSED.max_bytes // 2)}, id="large"),
    ],
)
def test_what_is_in_doubt_is_written_at_once(fields: dict[str, Any]) -> None:
    """Characters that no topic carries are replaced for all consumers, as on a broker."""
    passed, plain = PASSING.encode(PAGES_PARSED, page(**fields)), PLAIN.encode(PAGES_PARSED, page(**fields))
    assert (type(passed.value), passed) == (bytes, plain)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"text": "x" * PAGES_PARSED.max_bytes}, id="too large"),
        pytest.param({"text": None}, id="no text"),
        pytest.param({"depth": "1"}, id="text for a number"),
        pytest.param({"fetched_at_ms": 1 << 63}, id="too large a number"),
        pytest.param({"link_urls": (1,)}, id="numbers for texts"),
        pytest.param({"outcome": "never heard of"}, id="no such word"),
    ],
)
def test_what_a_broker_would_not_get_is_refused_here(fields: dict[str, Any]) -> None:
    """The in-process bus must refuse what a broker refuses, or faults would show on the broker only."""
    with pytest.raises(EncodeError):
        PASSING.encode(PAGES_PARSED, page(**fields))
    with pytest.raises(EncodeError):
        PLAIN.encode(PAGES_PARSED, page(**fields))


def test_bytes_from_elsewhere_are_read() -> None:
    """A resumed crawl reads what was written to its file."""
    event = page()
    assert PASSING.decode(PAGES_PARSED, *PLAIN.encode(PAGES_PARSED, event)) == event


def test_values_that_were_not_written_are_no_bytes() -> None:
    """Code that takes them for bytes fails at once, instead of sending nothing."""
    value: Any = PASSING.encode(PAGES_PARSED, page()).value
    with pytest.raises(TypeError):
        json.loads(value)
    with pytest.raises(TypeError):
        b"".join([value])

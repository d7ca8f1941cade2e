"""Known schemas are found by each identifier, and dangerous ones are refused."""

from __future__ import annotations

import json
from typing import Any

import avro.schema
import pytest
from fastavro.schema import fingerprint as their_fingerprint
from fastavro.schema import to_parsing_canonical_form
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts import DecodeError
from strider.contracts.avro import schema_store as book_module
from strider.contracts.avro.schema_model import (
    MAX_DEPTH,
    SchemaError,
    canonical_form,
    fingerprint,
    parse_schema_tree,
)
from strider.contracts.avro.schema_store import RefusedSchema, SchemaStore, WriterSchema

from .probe import PROBE, a_schema_store, probe_schema


def a_record(*types: Any, name: str = "Foreign") -> dict[str, Any]:
    """Return a record with a field of each type."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)],
    }


def laughs(levels: int, width: int) -> dict[str, Any]:
    """Return types that each contain the previous one several times: short to write, endless to unfold."""
    kind: Any = a_record("null", name="L0")
    for level in range(1, levels):
        kind = a_record(kind, *[f"L{level - 1}"] * width, name=f"L{level}")
    return a_record(kind)


def nested(levels: int) -> dict[str, Any]:
    kind: Any = "string"
    for _ in range(levels):
        kind = {"type": "array", "items": kind}
    return a_record(kind)


REFUSED = [
    pytest.param(a_record({"type": "array", "items": "null"}), "no bytes", id="array of nothing"),
    pytest.param(
        a_record({"type": "array", "items": a_record(name="Empty")}), "no bytes", id="array of empty records"
    ),
    pytest.param(
        a_record({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}),
        "no bytes",
        id="array of fixed(0)",
    ),
    pytest.param(
        a_record({"type": "array", "items": a_record("null", a_record(name="E"), name="R")}),
        "no bytes",
        id="array of records of nothing",
    ),
    pytest.param(a_record(["null", "Foreign"]), "contains itself", id="recursion"),
    pytest.param(laughs(8, 9), "more than", id="a billion laughs"),
    pytest.param(nested(MAX_DEPTH + 1), "nested deeper", id="depth"),
    pytest.param(nested(900), "nested deeper", id="great depth"),
    pytest.param(a_record("Nowhere"), "unknown type", id="unknown name"),
    pytest.param(a_record(["int", "int"]), "union", id="a type twice in a union"),
    pytest.param(a_record(["int", ["null", "string"]]), "union", id="union in a union"),
    pytest.param(a_record([]), "union", id="empty union"),
    pytest.param({"type": "record", "name": "R"}, "fields is not a list", id="no fields"),
    pytest.param({"type": "record", "fields": []}, "not a valid name", id="no name"),
    pytest.param({"type": "record", "name": "1R", "fields": []}, "not a valid name", id="bad name"),
    pytest.param(
        {"type": "record", "name": "R", "namespace": 5, "fields": []}, "is not a text", id="bad namespace"
    ),
    pytest.param({"type": "record", "name": "R", "fields": [5]}, "not a field", id="bad field"),
    pytest.param(
        {"type": "record", "name": "R", "fields": [{"type": "int"}]}, "not a valid name", id="nameless field"
    ),
    pytest.param({"type": "fixed", "name": "F", "size": -1}, "size", id="negative size"),
    pytest.param({"type": "fixed", "name": "F", "size": True}, "size", id="size that is no number"),
    pytest.param(
        {"type": "enum", "name": "E", "symbols": [None]}, "not a valid name", id="symbol that is not a text"
    ),
    pytest.param({"type": "enum", "name": "E"}, "symbols is not a list", id="no symbols"),
    pytest.param(a_record(a_record(name="A"), a_record(name="A")), "defined twice", id="defined twice"),
    pytest.param(
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}] * 2},
        "two fields",
        id="field twice",
    ),
    pytest.param({"type": {"type": {"type": 7}}}, "not a type", id="wrapped nonsense"),
    pytest.param(None, "not a type", id="null"),
    pytest.param(12, "not a type", id="a number"),
    pytest.param([], "union", id="a list"),
]


@pytest.mark.parametrize(("schema", "why"), REFUSED)
def test_dangerous_schemas_are_refused(schema: Any, why: str) -> None:
    """Five bytes of `array<null>` would become twenty million items; each other case is as cheap to send."""
    book = a_schema_store()

    with pytest.raises(DecodeError, match=why) as caught:
        book.register(json.dumps(schema), expected_fingerprint=b"claimed!", registry_id=9)

    assert caught.value.reason == "incompatible_schema"
    assert isinstance(book.find(b"claimed!"), RefusedSchema)
    assert isinstance(book.find_by_registry_id(9), RefusedSchema)


@pytest.mark.parametrize(
    "definition",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="cut"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b"[" * 5000, id="deeper than the parser goes"),
        pytest.param(b'{"type": NaN}', id="NaN"),
    ],
)
def test_a_definition_that_is_no_json_is_refused(definition: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        a_schema_store().register(definition)

    assert caught.value.reason == "bad_json"


def test_a_definition_is_bounded() -> None:
    with pytest.raises(DecodeError) as caught:
        a_schema_store().register(b" " * (book_module.MAX_DEFINITION_BYTES + 1))

    assert caught.value.reason == "too_large"


def test_the_number_of_learnt_schemas_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of schemas is a fault; known schemas are still found."""
    monkeypatch.setattr(book_module, "MAX_REGISTERED_SCHEMAS", 2)
    book = a_schema_store()
    first = book.register(json.dumps(a_record("int")))
    book.register(json.dumps(a_record("long")))

    with pytest.raises(DecodeError) as caught:
        book.register(json.dumps(a_record("string")))

    assert caught.value.reason == "too_large"
    assert book.register(json.dumps(a_record("int"))) == first


def test_a_learnt_schema_is_found_by_fingerprint_and_id() -> None:
    book = a_schema_store()

    learnt = book.register(json.dumps(a_record("int")), registry_id=4)

    assert learnt == fingerprint(canonical_form(parse_schema_tree(a_record("int"))))
    assert book.find_by_registry_id(4) == learnt
    assert isinstance(book.find(learnt), WriterSchema)
    assert book.find(b"anything") is None
    assert book.find_by_registry_id(5) is None


def test_a_wrong_claim_is_refused_and_displaces_nothing() -> None:
    """Otherwise one bad declaration could make the messages of a good writer unreadable."""
    book = a_schema_store()
    ours = book.current("probe.v1")

    with pytest.raises(DecodeError, match="claims"):
        book.register(json.dumps(a_record("int")), expected_fingerprint=ours.fingerprint)
    with pytest.raises(DecodeError, match="no bytes"):
        book.register(
            json.dumps(a_record({"type": "array", "items": "null"})), expected_fingerprint=ours.fingerprint
        )

    assert book.find(ours.fingerprint) is ours


def test_a_refused_name_is_free_again_once_its_schema_comes() -> None:
    book = a_schema_store()
    good = json.dumps(a_record("int"))
    claimed = fingerprint(canonical_form(parse_schema_tree(a_record("int"))))
    with pytest.raises(DecodeError):
        book.register(json.dumps(a_record("Nowhere")), expected_fingerprint=claimed)

    book.register(good, expected_fingerprint=claimed)

    assert isinstance(book.find(claimed), WriterSchema)


def test_older_releases_are_known_from_the_start() -> None:
    older = probe_schema(count=None)
    book = SchemaStore({"probe.v2": PROBE}, released={"probe.v1": older})

    assert isinstance(book.find(fingerprint(canonical_form(parse_schema_tree(older)))), WriterSchema)
    assert book.names() == ("probe.v2",)
    assert json.loads(book.definition("probe.v1")) == older


def test_versions_are_listed_in_the_order_of_their_numbers() -> None:
    book = SchemaStore({"probe.v10": PROBE}, released={"probe.v9": PROBE, "probe.v1": PROBE})

    assert book.versions_of("probe") == ("probe.v1", "probe.v9", "probe.v10")
    assert book.versions_of("prob") == ()


def test_ids_are_per_topic() -> None:
    """Registries number by subject, and a subject is a topic."""
    book = a_schema_store()
    ours = book.current("probe.v1").fingerprint

    book.use_registry_id("probes", "probe.v1", 3)

    assert book.registry_id("probes", ours) == 3
    assert book.registry_id("other", ours) is None
    assert book.find_by_registry_id(3) == ours


def test_the_definition_keeps_what_the_canonical_form_drops() -> None:
    assert json.loads(a_schema_store().definition("probe.v1")) == PROBE


def test_what_ships_with_the_code_is_read_at_once() -> None:
    book = SchemaStore.bundled()

    assert "seed-submitted.v4" in book.names()
    assert "host" in book.value_lists["scope"]


def test_a_broken_schema_of_our_own_is_no_start() -> None:
    with pytest.raises(SchemaError):
        SchemaStore({"broken.v1": a_record({"type": "array", "items": "null"})})


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(PROBE, id="probe"),
        pytest.param(
            {
                "type": "record",
                "name": "a.b.Outer",
                "aliases": ["Old"],
                "doc": "d",
                "fields": [
                    {
                        "name": "e",
                        "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]},
                        "default": "X",
                    },
                    {"name": "again", "type": ["null", "E"]},
                    {"name": "f", "type": {"type": "fixed", "name": "c.F", "size": 4}},
                    {"name": "in", "type": {"type": "record", "name": "In", "fields": []}},
                    {"name": "wrapped", "type": {"type": "string"}},
                    {"name": "far", "type": {"type": "map", "values": "c.F"}},
                ],
            },
            id="every kind",
        ),
    ],
)
def test_canonical_forms_are_those_of_other_libraries(schema: dict[str, Any]) -> None:
    canonical = canonical_form(parse_schema_tree(schema))

    assert canonical == to_parsing_canonical_form(schema)
    assert fingerprint(canonical).hex() == their_fingerprint(canonical, "CRC-64-AVRO")


@pytest.mark.parametrize("name", SchemaStore.bundled().names())
def test_fingerprints_are_those_of_the_apache_library(name: str) -> None:
    """Foreign writers must compute the same fingerprints, or their messages would wait forever."""
    book = SchemaStore.bundled()
    theirs = avro.schema.parse(book.definition(name))

    assert book.current(name).fingerprint == theirs.fingerprint("CRC-64-AVRO")


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["int", "string", "null", "R", "array", "record"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "name", "fields", "items", "values", "symbols", "size", "aliases", "namespace"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_json)
def test_no_json_at_all_breaks_the_book(schema: Any) -> None:
    """Any declaration is registered or refused, and raises no other exception."""
    book = a_schema_store()
    reason = None
    try:
        learnt = book.register(json.dumps(schema))
    except DecodeError as failure:
        reason = failure.reason

    assert reason == "incompatible_schema" if reason else isinstance(book.find(learnt), WriterSchema)

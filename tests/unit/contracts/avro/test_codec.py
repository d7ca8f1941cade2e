"""Events are encoded and decoded in both framings and between schema versions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from math import inf, nan
from typing import Any, ClassVar

import avro.io
import avro.schema
import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts import DecodeError, EncodeError, UnknownSchema
from strider.contracts.avro.codec import Codec

from .probe import FULL, PROBE, PROBES, Probe, a_codec, a_probe, a_schema_store, a_topic, probe_schema


@dataclass(frozen=True, slots=True)
class Stranger:
    """An event of no topic."""

    SCHEMA_NAME: ClassVar[str] = "stranger.v1"


def written(schema: dict[str, Any], **fields: Any) -> bytes:
    """Encode a record with a foreign schema."""
    stream = BytesIO()
    schemaless_writer(stream, parse_schema(schema), fields)
    return stream.getvalue()


def framed(codec: Codec, schema: dict[str, Any], **fields: Any) -> bytes:
    """Register a schema in the codec and encode a message with it."""
    fingerprint = codec.schema_store.register(json.dumps(schema))
    return b"\xc3\x01" + fingerprint + written(schema, **fields)


@pytest.mark.parametrize("event", [pytest.param(a_probe(), id="minimal"), pytest.param(FULL, id="full")])
def test_what_is_encoded_is_decoded(event: Probe) -> None:
    codec = a_codec()

    encoded = codec.encode(PROBES, event)

    assert codec.decode(PROBES, encoded.value, encoded.headers) == event


def test_the_bytes_are_avro_single_object_encoding() -> None:
    """Any Avro library reads them: magic, fingerprint, and the record as the Apache library decodes it."""
    codec = a_codec()
    ours = codec.schema_store.current("probe.v1").fingerprint
    value, headers = codec.encode(PROBES, FULL)

    read = avro.io.DatumReader(avro.schema.parse(json.dumps(PROBE)))

    assert (value[:2], value[2:10]) == (b"\xc3\x01", ours)
    assert headers == (("schema-fp", ours.hex().encode()),)
    assert Probe.from_record(read.read(avro.io.BinaryDecoder(BytesIO(value[10:])))) == FULL


def test_with_a_registry_the_bytes_are_confluents() -> None:
    codec = a_codec()
    codec.schema_store.use_registry_id("probes", "probe.v1", 258)

    value, headers = codec.encode(PROBES, FULL)

    assert value[:5] == b"\x00\x00\x00\x01\x02"
    assert codec.decode(PROBES, value) == FULL
    # A reader without that registry uses the fingerprint.
    assert a_codec().decode(PROBES, value, headers) == FULL


def test_a_registry_that_comes_later_changes_how_is_written() -> None:
    codec = a_codec()
    before = codec.encode(PROBES, FULL)
    codec.schema_store.use_registry_id("probes", "probe.v1", 1)

    after = codec.encode(PROBES, FULL)

    assert before.value[:1] == b"\xc3"
    assert after.value[:1] == b"\x00"
    assert codec.decode(PROBES, before.value) == codec.decode(PROBES, after.value) == FULL


def test_an_id_in_a_header_names_the_schema_of_a_bare_event() -> None:
    codec = a_codec()
    codec.schema_store.use_registry_id("probes", "probe.v1", 5)
    bare = codec.encode(PROBES, FULL).value[5:]

    assert codec.decode(PROBES, bare, (("__value_schema_id", b"\x00\x00\x00\x00\x05"),)) == FULL


def test_a_bare_event_that_begins_like_a_frame_is_read_all_the_same() -> None:
    """Its first bytes are by chance those of single-object encoding; the header says that it has no frame."""
    codec = a_codec()
    foreign = probe_schema() | {"fields": [{"name": "count", "type": "long"}, *PROBE["fields"][:1]]}
    codec.schema_store.register(json.dumps(foreign), registry_id=6)
    bare = written(foreign, count=-98, text="by chance, and long enough")

    assert bare[:2] == b"\xc3\x01"
    assert codec.decode(PROBES, bare, (("__value_schema_id", b"\x00\x00\x00\x00\x06"),)) == a_probe(
        count=-98, text="by chance, and long enough"
    )


@pytest.mark.parametrize(
    ("value", "fingerprint", "registry_id"),
    [
        pytest.param(b"\xc3\x01unknown!x", b"unknown!", None, id="fingerprint"),
        pytest.param(b"\x00\x00\x00\x00\x63x", None, 99, id="registry id"),
    ],
)
def test_an_unknown_schema_is_not_yet_a_bad_message(
    value: bytes, fingerprint: bytes | None, registry_id: int | None
) -> None:
    """The schema may still arrive, so the error contains its fingerprint or id."""
    with pytest.raises(UnknownSchema) as caught:
        a_codec().decode(PROBES, value)

    assert (caught.value.reason, caught.value.fingerprint, caught.value.registry_id) == (
        "unknown_schema",
        fingerprint,
        registry_id,
    )


def test_a_confluent_message_with_nothing_known_names_both() -> None:
    with pytest.raises(UnknownSchema) as caught:
        a_codec().decode(PROBES, b"\x00\x00\x00\x00\x07x", (("schema-fp", b"00" * 8),))

    assert (caught.value.fingerprint, caught.value.registry_id) == (bytes(8), 7)


def test_a_schema_that_was_learnt_meanwhile_makes_the_message_good() -> None:
    codec = a_codec()
    value = framed(a_codec(), probe_schema(count=None), **FULL.to_record())
    with pytest.raises(UnknownSchema):
        codec.decode(PROBES, value)

    codec.schema_store.register(json.dumps(probe_schema(count=None)))

    assert codec.decode(PROBES, value) == a_probe(**{**FULL.to_record(), "count": 0})


def test_a_refused_schema_makes_its_messages_bad_at_once() -> None:
    """Waiting for a schema that will never be accepted would stop a partition."""
    codec = a_codec()
    with pytest.raises(DecodeError):
        codec.schema_store.register(
            '{"type":"record","name":"R","fields":"none"}', expected_fingerprint=b"refused!"
        )

    with pytest.raises(DecodeError) as caught:
        codec.decode(PROBES, b"\xc3\x01refused!x")

    assert not isinstance(caught.value, UnknownSchema)
    assert caught.value.reason == "incompatible_schema"


def test_a_newer_writer_is_read_without_what_is_new() -> None:
    codec = a_codec()
    newer = probe_schema(added={"type": {"type": "array", "items": "string"}, "default": []})

    value = framed(codec, newer, **FULL.to_record(), added=["x" * 50])

    assert codec.decode(PROBES, value) == FULL


def test_an_older_writer_is_completed_by_defaults_that_are_not_shared() -> None:
    """A list shared by two events could be changed for both."""
    codec = a_codec()
    value = framed(codec, probe_schema(sizes=None, urls=None, note=None), **FULL.to_record())

    first, second = codec.decode(PROBES, value), codec.decode(PROBES, value)

    assert first == second == a_probe(**{**FULL.to_record(), "sizes": {}, "urls": (), "note": None})
    assert first.sizes is not second.sizes


@pytest.mark.parametrize(
    ("foreign", "where"),
    [
        pytest.param(probe_schema(text=None), "text", id="field without default is missing"),
        pytest.param(probe_schema(count={"type": "string"}), "count", id="type changed"),
        pytest.param(PROBE | {"name": "Other"}, "renamed", id="renamed"),
    ],
)
def test_a_foreign_schema_that_does_not_fit_is_incompatible(foreign: dict[str, Any], where: str) -> None:
    codec = a_codec()
    value = b"\xc3\x01" + codec.schema_store.register(json.dumps(foreign)) + bytes(30)

    with pytest.raises(DecodeError, match=where) as caught:
        codec.decode(PROBES, value)

    assert caught.value.reason == "incompatible_schema"


@pytest.mark.parametrize(
    ("event", "why"),
    [
        pytest.param(a_probe(word="purple"), "word is 'purple'", id="foreign word"),
        pytest.param(a_probe(words=("red", "purple")), "words", id="foreign word in a list"),
        pytest.param(a_probe(ratio=nan), "ratio", id="NaN"),
        pytest.param(a_probe(ratio=-inf), "ratio", id="infinity"),
        pytest.param(a_probe(sizes={"a": nan}), "sizes", id="NaN in a map"),
        pytest.param(a_probe(parts=({"name": "a", "score": inf},)), "parts", id="infinity in a record"),
        pytest.param(a_probe(ratio="much"), "probes", id="no number"),
        pytest.param(a_probe(text=None), "probes", id="nothing where text is wanted"),
        pytest.param(a_probe(text=b"bytes"), "probes", id="bytes where text is wanted"),
        pytest.param(a_probe(count=1 << 63), "probes", id="too large a number"),
        pytest.param(a_probe(urls=("a", None)), "probes", id="nothing in a list"),
        pytest.param(a_probe(note=5), "probes", id="no branch for it"),
        pytest.param(a_probe(words=None), "probes", id="nothing where a list is wanted"),
        pytest.param(a_probe(sizes=None), "probes", id="nothing where a map is wanted"),
        pytest.param(a_probe(parts=({},)), "probes", id="field missing in a part"),
        pytest.param(Stranger(), "carries Probe, not Stranger", id="another topic's event"),
    ],
)
def test_what_the_schema_cannot_carry_is_refused(event: Any, why: str) -> None:
    """A bug of the writer raises in the writer, and not in every reader."""
    with pytest.raises(EncodeError, match=why):
        a_codec().encode(PROBES, event)


def test_an_empty_text_is_shown_where_it_is_the_default() -> None:
    codec = a_codec()

    assert codec.decode(PROBES, codec.encode(PROBES, a_probe(word="")).value).word == ""


def test_a_word_that_is_not_in_the_list_is_read_all_the_same() -> None:
    """A newer writer may use values that this reader does not know yet."""
    codec = a_codec()
    free = probe_schema(word={"type": "string", "default": ""})

    assert codec.decode(PROBES, framed(codec, free, **a_probe(word="purple").to_record())).word == "purple"


def test_the_size_limit_counts_the_whole_value() -> None:
    codec = a_codec()
    exact = len(codec.encode(PROBES, FULL).value)

    assert codec.encode(a_topic(max_bytes=exact), FULL).value
    with pytest.raises(EncodeError, match=f"{exact} bytes, the limit is {exact - 1}"):
        codec.encode(a_topic(max_bytes=exact - 1), FULL)


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        pytest.param("a\ud800b", "a\ufffdb", id="lone high surrogate"),
        pytest.param("\udfff", "\ufffd", id="lone low surrogate"),
        pytest.param("\ud83d\ude00", "😀", id="a pair in two halves"),
        pytest.param("a\0b", "a\ufffdb", id="NUL"),
        pytest.param("\0\ud800", "\ufffd\ufffd", id="both"),
        pytest.param("\ufeff\u202e\x01", "\ufeff\u202e\x01", id="odd, and fine"),
    ],
)
def test_text_is_scrubbed_of_what_no_store_accepts(text: str, carried: str) -> None:
    """Pages contain anything; a title with NUL must not stop a crawl at the database."""
    codec = a_codec()
    sent = a_probe(
        text=text, note=text, urls=("", text), sizes={text: 1.0}, parts=({"name": text, "score": None},)
    )

    assert codec.decode(PROBES, codec.encode(PROBES, sent).value) == a_probe(
        text=carried,
        note=carried,
        urls=("", carried),
        sizes={carried: 1.0},
        parts=({"name": carried, "score": None},),
    )


@given(
    st.builds(
        a_probe,
        text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        count=st.integers(-(1 << 63), (1 << 63) - 1),
        ratio=st.floats(allow_nan=False, allow_infinity=False),
        flag=st.booleans(),
        word=st.sampled_from(["", "red", "blue"]),
        note=st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        body=st.binary(),
        words=st.lists(st.sampled_from(["red", "green"])).map(tuple),
        sizes=st.dictionaries(st.sampled_from("abc"), st.floats(-1e6, 1e6)),
    )
)
def test_every_event_comes_back_equal_and_readable_by_fastavro(event: Probe) -> None:
    codec = a_codec()
    value, headers = codec.encode(PROBES, event)
    bare: Any = schemaless_reader(BytesIO(value[10:]), parse_schema(PROBE), None)

    assert codec.decode(PROBES, value, headers) == event
    assert Probe.from_record(bare) == event


def test_two_codecs_of_one_book_share_what_it_learns() -> None:
    book = a_schema_store()
    one, other = Codec(book), Codec(book)
    value = framed(one, probe_schema(note=None), **FULL.to_record())

    assert other.decode(PROBES, value).note is None

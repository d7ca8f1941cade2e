"""Arbitrary bytes give a DecodeError with a reason or an event, within the memory budget."""

from __future__ import annotations

import json
import struct
import tracemalloc
from collections.abc import Callable
from io import BytesIO
from math import inf, nan
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import example, given, settings
from hypothesis import strategies as st

from strider.contracts import TOPICS, ContractError, DecodeError, Topic
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_model import parse_schema_tree
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.avro.size_limits import MEMORY_BUDGET_BYTES, max_memory_ratio
from strider.contracts.errors import DECODE_REASONS
from tests.processor_cost import assert_cheap

from .probe import FULL, PROBE, PROBES, a_codec, a_probe, a_topic, probe_schema

CODEC = a_codec()
GOOD, _ = CODEC.encode(PROBES, FULL)
PREFIX = GOOD[:10]
EMBEDDED = Codec(SchemaStore.bundled())
MIB = 1024 * 1024


def number(value: int) -> bytes:
    """Encode a number as Avro does."""
    rest = (value << 1) ^ (value >> 63)
    rest &= (1 << 64) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def probe_bytes(**fields: bytes) -> bytes:
    """Encode a probe field by field from raw bytes, with minimal values by default."""
    minimal = {
        "text": b"\x02a",
        "count": b"\x00",
        "ratio": bytes(8),
        "flag": b"\x00",
        "word": b"\x00",
        "note": b"\x00",
        "body": b"\x00",
        "urls": b"\x00",
        "words": b"\x00",
        "sizes": b"\x00",
        "parts": b"\x00",
    }
    return PREFIX + b"".join((minimal | fields).values())


BAD = [
    pytest.param(None, "empty", id="tombstone"),
    pytest.param(b"", "empty", id="no bytes"),
    pytest.param(b"x", "bad_magic", id="one byte"),
    pytest.param(b"not avro at all", "bad_magic", id="text"),
    pytest.param(b"\x01\x02\x03\x04\x05\x06", "bad_magic", id="wrong magic"),
    pytest.param(b'{"url":"http://example.org/"}', "bad_magic", id="JSON where none is taken"),
    pytest.param(b"\xc3", "bad_magic", id="half a magic"),
    pytest.param(b"\xc3\x01\x00", "truncated", id="cut in the frame"),
    pytest.param(b"\xc3\x01" + bytes(8), "unknown_schema", id="unknown fingerprint"),
    pytest.param(b"\x00\x00\x00\x00\x09abc", "unknown_schema", id="unknown id"),
    pytest.param(PREFIX, "truncated", id="only a frame"),
    pytest.param(GOOD[:-1], "truncated", id="last byte missing"),
    pytest.param(GOOD[:20], "truncated", id="cut in a text"),
    pytest.param(GOOD + b"\x00", "trailing_bytes", id="one byte too many"),
    pytest.param(GOOD + GOOD, "trailing_bytes", id="twice"),
    pytest.param(probe_bytes(text=number(1 << 31) + b"abc"), "truncated", id="2 GB text"),
    pytest.param(probe_bytes(body=number((1 << 63) - 1)), "truncated", id="endless bytes"),
    pytest.param(probe_bytes(text=number(-1) + b"abc"), "truncated", id="negative length"),
    pytest.param(probe_bytes(text=number(-(1 << 63))), "truncated", id="most negative length"),
    pytest.param(probe_bytes(urls=number(1 << 40)), "truncated", id="a trillion texts"),
    pytest.param(probe_bytes(urls=number(-(1 << 63))), "truncated", id="most negative count"),
    pytest.param(probe_bytes(sizes=number(1 << 62)), "truncated", id="endless map"),
    pytest.param(probe_bytes(parts=number(1 << 50)), "truncated", id="endless records"),
    pytest.param(probe_bytes(count=b"\xff" * 40), "truncated", id="a number without end"),
    pytest.param(probe_bytes(note=number(7)), "bad_value", id="no such branch"),
    pytest.param(probe_bytes(text=b"\x06\xed\xa0\x80"), "bad_value", id="a lone surrogate"),
    pytest.param(probe_bytes(text=b"\x04\xff\xff"), "bad_value", id="no UTF-8"),
    pytest.param(probe_bytes(text=b"\x06a\x00b"), "bad_value", id="NUL"),
    pytest.param(probe_bytes(urls=b"\x02\x02\x00\x00"), "bad_value", id="NUL in a list"),
    pytest.param(probe_bytes(parts=b"\x02\x02\x00\x00\x00"), "bad_value", id="NUL in a record"),
    pytest.param(probe_bytes(ratio=struct.pack("<d", nan)), "bad_value", id="NaN"),
    pytest.param(probe_bytes(ratio=struct.pack("<d", -inf)), "bad_value", id="infinity"),
    pytest.param(
        probe_bytes(sizes=b"\x02\x02a" + struct.pack("<d", inf) + b"\x00"),
        "bad_value",
        id="infinity in a map",
    ),
    pytest.param(bytes(10 * MIB), "too_large", id="10 MB of nothing"),
    pytest.param(GOOD + bytes(10 * MIB), "too_large", id="10 MB after an event"),
]


@pytest.mark.parametrize(("value", "reason"), BAD)
def test_bad_bytes_have_a_reason(value: bytes | None, reason: str) -> None:
    """Each goes to the dead-letter topic under this reason, which is counted."""
    with pytest.raises(DecodeError) as caught:
        CODEC.decode(PROBES, value)

    assert caught.value.reason == reason
    assert reason in DECODE_REASONS


def test_the_field_builder_writes_good_bytes() -> None:
    """Otherwise the cases above would fail for the wrong reason."""
    assert CODEC.decode(PROBES, probe_bytes()) == a_probe(text="a")


@pytest.mark.parametrize("length", range(10, len(GOOD)))
def test_every_cut_is_noticed(length: int) -> None:
    with pytest.raises(DecodeError) as caught:
        CODEC.decode(PROBES, GOOD[:length])

    assert caught.value.reason in {"truncated", "bad_value"}


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_cut_in_what_a_reader_does_not_want_is_noticed(cut: int) -> None:
    """Resolution by fastavro skips such fields without checking that they exist."""
    codec = a_codec()
    foreign = probe_schema(unwanted={"type": "string"})
    stream = BytesIO()
    schemaless_writer(stream, parse_schema(foreign), FULL.to_record() | {"unwanted": "x" * 50})
    value = b"\xc3\x01" + codec.schema_store.register(json.dumps(foreign)) + stream.getvalue()
    assert codec.decode(PROBES, value) == FULL

    with pytest.raises(DecodeError) as caught:
        codec.decode(PROBES, value[:-cut])

    assert caught.value.reason == "truncated"


@given(st.binary(max_size=400))
def test_random_bytes_are_judged(value: bytes) -> None:
    _judge(CODEC, PROBES, value)


@given(st.binary(max_size=400))
@example(b"\xff" * 40)
def test_random_bytes_behind_a_good_frame_are_judged(rest: bytes) -> None:
    _judge(CODEC, PROBES, PREFIX + rest)


@given(st.data())
def test_mutated_messages_are_judged(data: st.DataObject) -> None:
    value = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))

    _judge(CODEC, PROBES, bytes(value))


@settings(max_examples=25)
@given(st.binary(max_size=300), st.sampled_from(sorted(TOPICS)))
def test_random_bytes_are_judged_on_every_topic(rest: bytes, name: str) -> None:
    """Including generated classes: a record that passes the schema must also become an event."""
    topic = TOPICS[name]
    fingerprint = EMBEDDED.schema_store.current(topic.schema_name).fingerprint

    _judge(EMBEDDED, topic, rest)
    _judge(EMBEDDED, topic, b"\xc3\x01" + fingerprint + rest)


def _judge(codec: Codec, topic: Topic[Any], value: bytes) -> None:
    """Expect a DecodeError or an event; any other exception fails the test."""
    reason, event = None, None
    try:
        event = codec.decode(topic, value)
    except DecodeError as failure:
        reason = failure.reason

    assert reason in DECODE_REASONS if reason is not None else isinstance(event, topic.value)


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the maximum memory of a piece of work, above what was allocated before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def refusal_of(codec: Codec, topic: Topic[Any], value: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        codec.decode(topic, value)
    return caught.value.reason


def test_ten_megabytes_of_poison_cost_nothing() -> None:
    """A value over the topic's limit is not decoded, so it takes no memory besides its own."""
    poison = PREFIX + number(1) + b"a" * (10 * MIB)

    assert peak_bytes(lambda: refusal_of(CODEC, PROBES, poison)) < 64 * 1024


@pytest.mark.fault("S21", part="lengths")
def test_a_length_of_two_gigabytes_reserves_nothing() -> None:
    poison = probe_bytes(text=number(1 << 31) + bytes(1000))

    assert peak_bytes(lambda: refusal_of(CODEC, PROBES, poison)) < 64 * 1024


BOMBS = [
    pytest.param(
        {
            "type": "array",
            "items": {"type": "record", "name": "Tiny", "fields": [{"name": "a", "type": "boolean"}]},
        },
        b"\x00",
        id="records of one byte",
    ),
    pytest.param({"type": "array", "items": {"type": "array", "items": "int"}}, b"\x00", id="empty lists"),
    pytest.param({"type": "array", "items": {"type": "map", "values": "int"}}, b"\x00", id="empty maps"),
    pytest.param({"type": "array", "items": ["null", "int"]}, b"\x00", id="nothings"),
    pytest.param({"type": "array", "items": "string"}, b"\x04ab", id="short texts"),
    pytest.param({"type": "array", "items": "long"}, b"\x80\x7f", id="numbers"),
    pytest.param({"type": "map", "values": "null"}, None, id="entries"),
]


@pytest.mark.fault("S21", part="memory of a message")
@pytest.mark.parametrize(("kind", "item"), BOMBS)
def test_no_byte_becomes_more_memory_than_the_bound_of_its_schema(kind: Any, item: bytes | None) -> None:
    """The bound decides which messages are walked first, so it must hold for the worst value of each kind."""
    codec = a_codec()
    foreign = probe_schema(bomb={"type": kind})
    size = 48 * 1024
    if item is None:
        entries = [number(3) + f"{at:03x}"[-3:].encode() for at in range(size // 4)]
        bomb = number(len(entries)) + b"".join(entries) + b"\x00"
    else:
        bomb = number(size // len(item)) + item * (size // len(item)) + b"\x00"
    value = b"\xc3\x01" + codec.schema_store.register(json.dumps(foreign)) + probe_bytes()[10:] + bomb
    codec.decode(PROBES, value)

    peak = peak_bytes(lambda: codec.decode(PROBES, value))

    assert peak < len(value) * max_memory_ratio(parse_schema_tree(foreign))


def test_a_message_within_the_limit_costs_no_more_than_the_budget() -> None:
    """Half a megabyte of one-byte records would take a hundred in memory."""
    codec = a_codec()
    piece = {"type": "record", "name": "Tiny", "fields": [{"name": "a", "type": "boolean"}]}
    learnt = codec.schema_store.register(
        json.dumps(probe_schema(bomb={"type": {"type": "array", "items": piece}}))
    )
    count = PROBES.max_bytes - 200
    value = b"\xc3\x01" + learnt + probe_bytes()[10:] + number(count) + bytes(count) + b"\x00"

    peak = peak_bytes(lambda: refusal_of(codec, PROBES, value))

    assert peak < MIB < MEMORY_BUDGET_BYTES


@pytest.mark.fault("S21", part="lists of nothing")
@pytest.mark.parametrize("kind", [{"type": "array", "items": "null"}, {"type": "array", "items": ["null"]}])
def test_lists_of_nothing_take_no_time(kind: Any) -> None:
    """Either the schema is refused, or each item takes a byte and the bytes end early."""
    codec = a_codec()
    foreign = probe_schema(bomb={"type": kind})

    def reason() -> str:
        try:
            learnt = codec.schema_store.register(json.dumps(foreign))
            return refusal_of(codec, PROBES, b"\xc3\x01" + learnt + probe_bytes()[10:] + number(1 << 50))
        except ContractError as failure:
            return str(getattr(failure, "reason", ""))

    assert assert_cheap(reason, yardsticks=150) in {"incompatible_schema", "truncated"}


def test_a_heavy_schema_costs_a_walk_only_where_it_could_matter() -> None:
    """Small messages of the same schema are decoded without the walk."""
    codec = a_codec()
    piece = {"type": "record", "name": "Tiny", "fields": [{"name": "a", "type": "boolean"}]}
    foreign = probe_schema(bomb={"type": {"type": "array", "items": piece}})
    learnt = codec.schema_store.register(json.dumps(foreign))
    few = number(100) + b"\x01" * 100 + b"\x00"
    many = number(500_000) + b"\x01" * 500_000 + b"\x00"

    assert codec.decode(PROBES, b"\xc3\x01" + learnt + probe_bytes()[10:] + few) == a_probe(text="a")
    assert refusal_of(codec, PROBES, b"\xc3\x01" + learnt + probe_bytes()[10:] + many) == "too_large"


def test_a_large_honest_message_is_walked_and_read() -> None:
    """The walk must agree with the reader about every kind of field."""
    topic = a_topic(max_bytes=4 * MIB)
    event = a_probe(
        text="x" * MIB,
        note="a note",
        body=b"\xff" * MIB,
        urls=("https://example.org/",) * 20_000,
        sizes={"a": 0.5, "b": 1.5},
        parts=tuple({"name": "piece", "score": score} for score in (None, 0.5)) * 2_000,
    )
    codec = a_codec()
    value, headers = codec.encode(topic, event)

    assert len(value) > codec._decode_plan(topic, codec.schema_store.current("probe.v1")).unchecked_bytes
    assert codec.decode(topic, value, headers) == event


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        pytest.param(number(9), "bad_value", id="no such branch"),
        pytest.param(number(-1), "bad_value", id="negative branch"),
        pytest.param(number(1) + number(-4), "bad_value", id="negative length"),
        pytest.param(number(1) + number(1 << 40), "truncated", id="text without end"),
        pytest.param(number(1) + b"\xff" * 12, "bad_value", id="number without end"),
        pytest.param(number(1) + b"\xff", "truncated", id="number cut"),
    ],
)
def test_the_walk_judges_what_it_meets(tail: bytes, reason: str) -> None:
    topic = a_topic(max_bytes=4 * MIB)
    text = number(MIB) + b"x" * MIB
    value = PREFIX + text + b"\x00" + bytes(8) + b"\x00\x00" + tail

    assert refusal_of(a_codec(), topic, value) == reason


def test_the_probe_is_what_these_tests_think_it_is() -> None:
    assert [field["name"] for field in PROBE["fields"]][:6] == [
        "text",
        "count",
        "ratio",
        "flag",
        "word",
        "note",
    ]

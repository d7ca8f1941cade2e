"""What is kept of a message that could not be handled."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from strider.contracts import DecodeError, EncodeError, UnknownSchema
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.enums import DeadLetterReason
from strider.contracts.generated.topics import dlq
from strider.messaging.errors import OffsetLost
from strider.messaging.inprocess.log import StoredRecord
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.dead_letters import (
    DeadLetterOrigin,
    DeadLetterWriter,
    HandlerTimeoutError,
    dead_letter_reason,
)

TOPIC = dlq("echo")
ORIGIN = DeadLetterOrigin("echo", "echo-requests-readers", version="1.2", worker_id="host:7")


class Objects:
    def __init__(self) -> None:
        self.kept: list[bytes] = []

    async def put(self, content: bytes) -> str:
        self.kept.append(content)
        return f"objects/{len(self.kept)}"


def _record(**changes: Any) -> StoredRecord:
    return StoredRecord("notes", 3, 17, 1_700_000_000_000, b"k", b"v", (("h", b"1"),))._replace(**changes)


def _letters(objects: Objects | None = None, **changes: Any) -> DeadLetterWriter:
    return DeadLetterWriter(TOPIC, ORIGIN, clock=SystemClock(), objects=objects, **changes)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        pytest.param(DecodeError("truncated", "at 7"), "truncated", id="bytes"),
        pytest.param(UnknownSchema(fingerprint=b"\0" * 8), "unknown_schema", id="schema"),
        pytest.param(EncodeError("too large"), "answer_refused", id="response"),
        pytest.param(HandlerTimeoutError("30 s"), "handler_timeout", id="deadline"),
        pytest.param(KeyError("x"), "handler_crashed", id="crash"),
    ],
)
async def test_a_reason_is_a_word_of_the_list(failure: Exception, reason: str) -> None:
    """The codec refuses other reasons, and then no dead letter could be written."""
    say = await _letters().dead_letter(_record(), failure)

    assert dead_letter_reason(failure) == say.event.reason == reason
    assert reason in set(DeadLetterReason)


async def test_a_dead_letter_passes_the_real_codec() -> None:
    codec = Codec(SchemaStore.bundled())
    say = await _letters().dead_letter(_record(value=b"\x00\xff" * 100), KeyError("x"), attempts=3)
    loss = _letters().unread_event(OffsetLost("notes", 3, wanted=5, available=9))
    encoded = [codec.encode(each.topic, each.event) for each in (say, loss)]
    read = [codec.decode(TOPIC, each.value, each.headers) for each in encoded]

    assert read == [say.event, loss.event]


async def test_the_dead_letter_of_several_messages_names_their_range() -> None:
    codec = Codec(SchemaStore.bundled())
    records = [_record(offset=offset) for offset in (17, 18, 40)]
    say = _letters().range_event(records, DecodeError("bad_json", "no object"))
    event = say.event
    encoded = codec.encode(say.topic, event)

    assert codec.decode(TOPIC, encoded.value, encoded.headers) == event
    assert (event.offset, event.lost_from, event.lost_to, event.value) == (17, 17, 40, None)
    assert (event.reason, event.category) == ("bad_json", "decode")
    assert event.error_message == "3 messages among the offsets 17 to 40; the first: bad_json: no object"


async def test_everything_of_the_message_is_kept() -> None:
    event = (await _letters().dead_letter(_record(), ValueError("no"), attempts=2)).event

    assert (event.service, event.group, event.service_version, event.worker_id) == (
        "echo",
        "echo-requests-readers",
        "1.2",
        "host:7",
    )
    assert (event.topic, event.partition, event.offset, event.timestamp_ms) == (
        "notes",
        3,
        17,
        1_700_000_000_000,
    )
    assert (event.key, event.value, event.header_names, event.header_values) == (b"k", b"v", ("h",), (b"1",))
    assert (event.error_class, event.error_message, event.attempts) == ("ValueError", "no", 2)
    assert (event.lost_from, event.lost_to) == (-1, -1)


CLAIMS = (
    ("entry", b"job-of-another/1"),
    ("execution", b"run-of-another"),
    ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
)


@pytest.mark.fault("A10", part="headers of a dead letter")
async def test_headers_of_a_public_topic_are_kept_and_not_believed() -> None:
    """Who searches the errors of a run must not find the texts of a stranger who named it."""
    record = _record(headers=CLAIMS)
    own = (await _letters().dead_letter(record, ValueError())).event
    public = (await _letters().dead_letter(record, ValueError(), headers=CLAIMS[2:], is_public=True)).event

    assert (own.task_id, own.execution_id, own.trace_id[:4]) == ("job-of-another/1", "run-of-another", "0af7")
    assert (public.task_id, public.execution_id, public.trace_id) == ("", "", "")
    assert public.header_names == tuple(name for name, _ in CLAIMS)


async def test_a_header_without_content_is_kept_as_an_empty_one() -> None:
    event = (await _letters().dead_letter(_record(headers=(("entry", None),)), ValueError())).event

    assert (event.header_names, event.header_values, event.task_id) == (("entry",), (b"",), "")


async def test_bytes_that_do_not_decode_have_no_stack_trace() -> None:
    """It would name the same lines of the codec each time, and be most of the letter."""
    event = (await _letters().dead_letter(_record(), DecodeError("bad_json", "no object"))).event

    assert (event.stack_trace, event.error_message) == ("", "bad_json: no object")


async def test_a_tombstone_differs_from_an_empty_value() -> None:
    letters = _letters()
    tombstone = (await letters.dead_letter(_record(value=None), ValueError())).event
    empty = (await letters.dead_letter(_record(value=b""), ValueError())).event

    assert (tombstone.value, tombstone.value_sha256) == (None, "")
    assert (empty.value, empty.value_sha256[:8]) == (b"", "e3b0c442")


ROOM_BYTES = TOPIC.max_bytes * 3 // 4
SMALL_BYTES = 5 + len(b"k") + 5 + len("h") + 5 + len(b"1") + 5
"""Bytes of a dead letter of `_record` that key, headers and the value's length take."""


@pytest.mark.parametrize(
    "has_store", [pytest.param(True, id="with a store"), pytest.param(False, id="without")]
)
async def test_a_message_of_up_to_three_quarters_of_the_limit_stays_whole(has_store: bool) -> None:
    objects = Objects() if has_store else None
    record = _record(value=b"x" * (ROOM_BYTES - SMALL_BYTES))
    event = (await _letters(objects).dead_letter(record, ValueError("no"))).event

    assert (event.value, event.value_object, event.error_message) == (record.value, "", "no")
    assert objects is None or objects.kept == []


async def test_a_larger_value_goes_to_the_object_store() -> None:
    objects = Objects()
    value = b"x" * (ROOM_BYTES - SMALL_BYTES + 1)
    event = (await _letters(objects).dead_letter(_record(value=value), ValueError("no"))).event

    assert objects.kept == [value]
    assert (event.value, event.value_object, event.value_bytes) == (None, "objects/1", len(value))
    assert (event.key, event.header_names, event.error_message) == (b"k", ("h",), "no")


@pytest.mark.parametrize(
    ("value_bytes", "key_bytes", "kept"),
    [
        pytest.param(300_000, 200_000, ["value"], id="the value is larger"),
        pytest.param(200_000, 300_000, ["key"], id="the key is larger"),
        pytest.param(500_000, 400_000, ["value", "key"], id="neither would fit alone"),
        pytest.param(400_000, 500_000, ["value", "key"], id="nor the other way round"),
    ],
)
async def test_no_more_goes_there_than_must(value_bytes: int, key_bytes: int, kept: list[str]) -> None:
    objects = Objects()
    record = _record(value=b"v" * value_bytes, key=b"k" * key_bytes)
    event = (await _letters(objects).dead_letter(record, ValueError())).event

    assert ["value" if content[:1] == b"v" else "key" for content in objects.kept] == kept
    assert (event.value is None, event.key is None) == ("value" in kept, "key" in kept)


async def test_huge_headers_and_keys_go_there_too_and_come_back_whole() -> None:
    objects = Objects()
    headers = tuple((f"h{number}", bytes([number % 256]) * 9) for number in range(20_000))
    event = (await _letters(objects).dead_letter(_record(key=b"k" * 10, headers=headers), ValueError())).event
    kept = json.loads(objects.kept[0])

    assert (event.key, event.header_names, event.header_values) == (
        None,
        ("strider-claimed-headers",),
        (b"objects/1",),
    )
    assert base64.b64decode(kept["key"]) == b"k" * 10
    assert [(name, base64.b64decode(content)) for name, content in kept["headers"]] == list(headers)


async def test_without_a_store_a_large_value_is_truncated_and_marked() -> None:
    """To stop the service for it would let everything wait; the message itself stands where it was read."""
    value = bytes(range(256)) * 2_000
    event = (await _letters().dead_letter(_record(value=value), ValueError("no"))).event
    assert event.value is not None
    missing = f"the last {len(value) - len(event.value)} of 512000 bytes of the value"

    assert value.startswith(event.value)
    assert ROOM_BYTES - 600 < len(event.value) < ROOM_BYTES
    assert (event.key, event.header_names, event.header_values) == (
        b"k",
        ("h", "strider-truncated"),
        (b"1", missing.encode()),
    )
    assert event.error_message == (
        f"truncated: without {missing}; whole at notes[3]@17 until retention takes it. no"
    )
    assert (event.reason, event.value_bytes, event.value_object) == ("handler_crashed", 512_000, "")
    assert event.value_sha256 == sha256(value).hexdigest()


async def test_without_a_store_huge_keys_and_headers_are_cut_as_well() -> None:
    """Whole headers, from the first on: half a header would be another one."""
    headers = tuple((f"h{number:04}", b"x" * 985) for number in range(200))
    record = _record(key=b"k" * 300_000, headers=headers, value=b"v" * 50)
    event = (await _letters().dead_letter(record, ValueError())).event

    assert event.key == b"k" * (ROOM_BYTES // 8 - 5)
    assert list(zip(event.header_names, event.header_values, strict=True)) == [
        *headers[:49],
        (
            "strider-truncated",
            b"the last 250853 of 300000 bytes of the key, 151 of 200 headers",
        ),
    ]
    assert event.value == b"v" * 50


class VerboseError(Exception):
    """An error with as much text as is kept, in characters that take the most bytes."""

    def __str__(self) -> str:
        return "\U0001f577" * 100_000


@pytest.mark.parametrize(
    "objects", [pytest.param(None, id="cut"), pytest.param(Objects(), id="by reference")]
)
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"value": b"v" * ROOM_BYTES}, id="value"),
        pytest.param({"value": b"v" * 1_000_000}, id="large value"),
        pytest.param({"key": b"k" * 900_000, "value": b"v" * 100_000}, id="key"),
        pytest.param({"headers": (("\udcff" * 200_000, b"h" * 400_000),) * 2}, id="headers"),
        pytest.param({"headers": tuple(("", b"") for _ in range(90_000))}, id="many headers"),
    ],
)
async def test_every_dead_letter_fits_its_topic(objects: Objects | None, changes: dict[str, Any]) -> None:
    """One that did not fit could never be written, and its message would come again for ever."""
    codec = Codec(SchemaStore.bundled())
    trail = tuple((name, "\U0001f577".encode() * 2_048) for name in ("entry", "execution"))
    record = _record(**{"headers": trail, **changes})
    say = await _letters(objects).dead_letter(
        record, VerboseError(), headers=(("traceparent", b"-" * 4_000),)
    )

    encoded = codec.encode(TOPIC, say.event)
    assert codec.decode(TOPIC, encoded.value, encoded.headers).offset == 17
    sent = len(encoded.value) + len(TOPIC.key_of(say.event) or b"")
    assert sent < int(TOPIC.config["max.message.bytes"]) - 64 * 1024


def _refuse(why: str) -> None:
    raise ValueError(why)


async def test_secrets_are_removed_from_error_texts() -> None:
    letters = _letters(scrub=lambda text: text.replace("hunter2", "***"))
    try:
        _refuse("password hunter2 refused")
    except ValueError as failure:
        event = (await letters.dead_letter(_record(), failure)).event

    assert event.error_message == "password *** refused"
    assert "hunter2" not in event.stack_trace
    assert "test_secrets_are_removed" in event.stack_trace


async def test_a_deep_traceback_is_clipped_to_its_inner_end() -> None:
    def dive(depth: int) -> None:
        if depth == 0:
            raise ValueError("at the bottom")
        exec("dive(depth - 1)", {"dive": dive, "depth": depth})

    try:
        dive(300)
    except ValueError as failure:
        event = (await _letters().dead_letter(_record(), failure)).event

    assert len(event.stack_trace) <= 16_384
    assert event.stack_trace.endswith("ValueError: at the bottom\n")


@pytest.mark.parametrize(
    ("headers", "trace_id"),
    [
        pytest.param((), "", id="none"),
        pytest.param((("traceparent", b"00-ab-cd-01"),), "ab", id="of the message"),
        pytest.param((("traceparent", b"\xff"),), "", id="broken"),
        pytest.param((("traceparent", None),), "", id="null"),
    ],
)
async def test_the_trace_is_named(headers: tuple[tuple[str, bytes], ...], trace_id: str) -> None:
    event = (await _letters().dead_letter(_record(headers=headers), ValueError())).event

    assert event.trace_id == trace_id


async def test_the_trace_that_it_was_handled_in_comes_first() -> None:
    record = _record(headers=(("traceparent", b"00-ab-cd-01"),))
    event = (
        await _letters().dead_letter(record, ValueError(), headers=(("traceparent", b"00-12-34-01"),))
    ).event

    assert event.trace_id == "12"
    assert replace(event, trace_id="") != event

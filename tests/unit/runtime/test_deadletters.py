"""What is kept of a message that could not be handled."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts import DecodeError, EncodeError, UnknownSchema
from strider.contracts.book import SchemaBook
from strider.contracts.codec import Codec
from strider.contracts.generated.topics import dlq
from strider.contracts.generated.words import DeadLetterReason
from strider.runtime.clocks import SystemClock
from strider.runtime.deadletters import DeadLetters, HandlerTimeoutError, Origin, reason_of
from strider.runtime.errors import OffsetLost, Unavailable
from strider.runtime.inprocess.log import Stored

TOPIC = dlq("echo")
ORIGIN = Origin("echo", "echo-requests-readers", version="1.2", worker_id="host:7")


class Objects:
    def __init__(self) -> None:
        self.kept: list[bytes] = []

    async def put(self, content: bytes) -> str:
        self.kept.append(content)
        return f"objects/{len(self.kept)}"


def _record(**changes: Any) -> Stored:
    return Stored("notes", 3, 17, 1_700_000_000_000, b"k", b"v", (("h", b"1"),))._replace(**changes)


def _letters(objects: Objects | None = None, **changes: Any) -> DeadLetters:
    return DeadLetters(TOPIC, ORIGIN, clock=SystemClock(), objects=objects, **changes)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        pytest.param(DecodeError("truncated", "at 7"), "truncated", id="bytes"),
        pytest.param(UnknownSchema(fingerprint=b"\0" * 8), "unknown_schema", id="schema"),
        pytest.param(EncodeError("too large"), "answer_refused", id="answer"),
        pytest.param(HandlerTimeoutError("30 s"), "handler_timeout", id="deadline"),
        pytest.param(KeyError("x"), "handler_crashed", id="crash"),
    ],
)
async def test_a_reason_is_a_word_of_the_list(failure: Exception, reason: str) -> None:
    """The codec refuses other words, and then no dead letter could be written."""
    say = await _letters().letter(_record(), failure)

    assert reason_of(failure) == say.event.reason == reason
    assert reason in set(DeadLetterReason)


async def test_a_letter_passes_the_real_codec() -> None:
    codec = Codec(SchemaBook.embedded())
    say = await _letters().letter(_record(value=b"\x00\xff" * 100), KeyError("x"), attempts=3)
    loss = _letters().loss(OffsetLost("notes", 3, wanted=5, available=9))
    encoded = [codec.encode(each.topic, each.event) for each in (say, loss)]
    read = [codec.decode(TOPIC, each.value, each.headers) for each in encoded]

    assert read == [say.event, loss.event]


async def test_everything_of_the_message_is_kept() -> None:
    event = (await _letters().letter(_record(), ValueError("no"), attempts=2)).event

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


async def test_a_tombstone_is_told_from_an_empty_value() -> None:
    letters = _letters()
    tombstone = (await letters.letter(_record(value=None), ValueError())).event
    empty = (await letters.letter(_record(value=b""), ValueError())).event

    assert (tombstone.value, tombstone.value_sha256) == (None, "")
    assert (empty.value, empty.value_sha256[:8]) == (b"", "e3b0c442")


@pytest.mark.parametrize("size", [pytest.param(0, id="at half the limit"), pytest.param(1, id="over it")])
async def test_a_value_over_half_the_limit_goes_to_the_object_store(size: int) -> None:
    objects = Objects()
    value = b"x" * (TOPIC.max_bytes // 2 + size)
    event = (await _letters(objects).letter(_record(value=value), ValueError())).event

    assert objects.kept == [value] * size
    assert event.value == (None if size else value)
    assert event.value_object == ("objects/1" if size else "")
    assert event.value_bytes == len(value)


async def test_huge_headers_and_keys_go_there_too_and_come_back_whole() -> None:
    objects = Objects()
    headers = tuple((f"h{number}", bytes([number % 256]) * 9) for number in range(20_000))
    event = (await _letters(objects).letter(_record(key=b"k" * 10, headers=headers), ValueError())).event
    kept = json.loads(objects.kept[0])

    assert (event.key, event.header_names, event.header_values) == (
        None,
        ("strider-claimed-headers",),
        (b"objects/1",),
    )
    assert base64.b64decode(kept["key"]) == b"k" * 10
    assert [(name, base64.b64decode(content)) for name, content in kept["headers"]] == list(headers)


async def test_without_a_store_nothing_is_cut_off() -> None:
    with pytest.raises(Unavailable, match="OBJECT_STORE_URL"):
        await _letters().letter(_record(value=b"x" * TOPIC.max_bytes), ValueError())


def _refuse(why: str) -> None:
    raise ValueError(why)


async def test_secrets_are_taken_out_of_what_we_say_ourselves() -> None:
    letters = _letters(scrub=lambda text: text.replace("hunter2", "***"))
    try:
        _refuse("password hunter2 refused")
    except ValueError as failure:
        event = (await letters.letter(_record(), failure)).event

    assert event.error_message == "password *** refused"
    assert "hunter2" not in event.stack_trace
    assert "test_secrets_are_taken_out" in event.stack_trace


async def test_a_deep_traceback_is_clipped_to_its_inner_end() -> None:
    def dive(depth: int) -> None:
        if depth == 0:
            raise ValueError("at the bottom")
        exec("dive(depth - 1)", {"dive": dive, "depth": depth})

    try:
        dive(300)
    except ValueError as failure:
        event = (await _letters().letter(_record(), failure)).event

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
    event = (await _letters().letter(_record(headers=headers), ValueError())).event

    assert event.trace_id == trace_id


async def test_the_trace_that_it_was_handled_in_comes_first() -> None:
    record = _record(headers=(("traceparent", b"00-ab-cd-01"),))
    event = (await _letters().letter(record, ValueError(), headers=(("traceparent", b"00-12-34-01"),))).event

    assert event.trace_id == "12"
    assert replace(event, trace_id="") != event

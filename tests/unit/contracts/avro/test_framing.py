"""Message frames are parsed to the event's offset and its schema's identifiers."""

from __future__ import annotations

import pytest

from strider.contracts import DecodeError
from strider.contracts.avro.framing import (
    MessageFrame,
    confluent_prefix,
    parse_frame,
    parse_header_frame,
    schema_header,
    single_object_prefix,
)

FINGERPRINT = bytes(range(8))
GUID_HEADER = ("__value_schema_id", b"\x01" + bytes(16))
ID_HEADER = ("__value_schema_id", b"\x00\x00\x00\x00\x07")


@pytest.mark.parametrize(
    ("value", "headers", "frame"),
    [
        pytest.param(
            single_object_prefix(FINGERPRINT) + b"x", (), MessageFrame(10, FINGERPRINT), id="single object"
        ),
        pytest.param(confluent_prefix(7) + b"x", (), MessageFrame(5, None, 7), id="confluent"),
        pytest.param(
            confluent_prefix(7),
            (schema_header(FINGERPRINT),),
            MessageFrame(5, FINGERPRINT, 7),
            id="confluent, named",
        ),
        pytest.param(b"\x02a", (ID_HEADER,), MessageFrame(0, None, 7), id="id in a header"),
        pytest.param(
            b"\x02a",
            (schema_header(FINGERPRINT), GUID_HEADER),
            MessageFrame(0, FINGERPRINT),
            id="guid, fingerprint beside it",
        ),
        pytest.param(
            confluent_prefix(7),
            (("schema-fp", None),),
            MessageFrame(5, None, 7),
            id="a header without content",
        ),
        pytest.param(
            confluent_prefix(7),
            (("schema-fp", b"no hex"),),
            MessageFrame(5, None, 7),
            id="a header that is no fingerprint",
        ),
        pytest.param(
            confluent_prefix(7),
            (("schema-fp", b"\xff"),),
            MessageFrame(5, None, 7),
            id="a header that is no text",
        ),
        pytest.param(
            confluent_prefix(7),
            (("schema-fp", b"00"),),
            MessageFrame(5, None, 7),
            id="too short a fingerprint",
        ),
        pytest.param(
            confluent_prefix((1 << 32) - 1), (), MessageFrame(5, None, (1 << 32) - 1), id="largest id"
        ),
    ],
)
def test_frames_are_recognised(
    value: bytes, headers: tuple[tuple[str, bytes], ...], frame: MessageFrame
) -> None:
    assert parse_frame(value, headers) == frame


@pytest.mark.parametrize(
    ("value", "headers", "reason"),
    [
        pytest.param(b"\xc3\x01" + bytes(7), (), "truncated", id="single object cut"),
        pytest.param(b"\x00\x00\x00\x00", (), "truncated", id="confluent cut"),
        pytest.param(b"\xc3\x02" + bytes(8), (), "bad_magic", id="another version"),
        pytest.param(b"hello", (), "bad_magic", id="text"),
        pytest.param(b"x", (GUID_HEADER,), "bad_magic", id="guid without a fingerprint"),
        pytest.param(b"x", (("__value_schema_id", b""),), "bad_magic", id="empty id header"),
    ],
)
def test_what_is_no_frame_has_a_reason(
    value: bytes, headers: tuple[tuple[str, bytes], ...], reason: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        parse_frame(value, headers)

    assert caught.value.reason == reason


def test_utf_16_is_named_because_windows_shells_send_it() -> None:
    with pytest.raises(DecodeError, match="UTF-16"):
        parse_frame('{"url":"http://example.org/"}'.encode("utf-16"))


def test_an_event_without_framing_is_recognised_by_its_header_alone() -> None:
    """It may begin like any frame by chance, so its first bytes prove nothing."""
    assert parse_header_frame((ID_HEADER,)) == MessageFrame(0, None, 7)
    assert parse_header_frame((schema_header(FINGERPRINT),)) is None


def test_the_fingerprint_header_is_readable_and_in_the_order_of_the_wire() -> None:
    assert schema_header(FINGERPRINT) == ("schema-fp", b"0001020304050607")

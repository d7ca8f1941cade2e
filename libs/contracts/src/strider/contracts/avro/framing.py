"""Message framing: where the event starts in the bytes and which schema it was written with.

Two framings are read: Avro single-object (`C3 01`, CRC-64 fingerprint, little-endian) and Confluent (`00`,
registry id, big-endian; or the id in a `__value_schema_id` header before a bare event). The `schema-fp`
header may accompany either and wins over a registry id, because a fingerprint is global while an id is valid
in one registry only. Must not know schemas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from strider.contracts.errors import DecodeError

Header = tuple[str, bytes | None]
"""Name and content; a client may write a header without content."""

SCHEMA_HEADER: Final = "schema-fp"
"""Header with the fingerprint as sixteen hexadecimal digits, in wire order."""

REGISTRY_HEADER: Final = "__value_schema_id"
"""Header in which Confluent serializers may put the schema id instead of a prefix."""

SINGLE_OBJECT: Final = b"\xc3\x01"
CONFLUENT: Final = b"\x00"
_REGISTRY_GUID: Final = b"\x01"
_FINGERPRINT_BYTES: Final = 8
_SINGLE_OBJECT_BYTES: Final = 10
_CONFLUENT_BYTES: Final = 5
_GUID_BYTES: Final = 17


class MessageFrame(NamedTuple):
    """Offset of the event, and every identifier of its schema."""

    start: int
    fingerprint: bytes | None = None
    registry_id: int | None = None


def single_object_prefix(fingerprint: bytes) -> bytes:
    """Return the prefix of a message in Avro single-object encoding."""
    return SINGLE_OBJECT + fingerprint


def confluent_prefix(registry_id: int) -> bytes:
    """Return the prefix of a message in the Confluent wire format."""
    return CONFLUENT + registry_id.to_bytes(4, "big")


def schema_header(fingerprint: bytes) -> Header:
    """Return the header that names the schema of a message in readable form."""
    return SCHEMA_HEADER, fingerprint.hex().encode()


def parse_frame(value: bytes, headers: Sequence[Header] = ()) -> MessageFrame:
    """Parse the framing of a message; raises DecodeError where it has neither framing."""
    if value.startswith(SINGLE_OBJECT):
        _require_length(value, _SINGLE_OBJECT_BYTES)
        return MessageFrame(_SINGLE_OBJECT_BYTES, fingerprint=value[2:_SINGLE_OBJECT_BYTES])
    if (frame := parse_header_frame(headers)) is not None:
        return frame
    if value.startswith(CONFLUENT):
        _require_length(value, _CONFLUENT_BYTES)
        registry_id = int.from_bytes(value[1:_CONFLUENT_BYTES], "big")
        return MessageFrame(_CONFLUENT_BYTES, _header_fingerprint(headers), registry_id)
    raise DecodeError("bad_magic", f"no framing begins with {value[:4].hex(' ')}{_encoding_hint(value)}")


def parse_header_frame(headers: Sequence[Header]) -> MessageFrame | None:
    """Return the frame given by the registry id header; the value then holds only the event.

    Such an event may by chance begin like a framing, so callers try this when the framing names an unknown
    schema.
    """
    content = next((content for name, content in headers if name == REGISTRY_HEADER), None)
    if content is None:
        return None
    stated = _header_fingerprint(headers)
    if len(content) == _CONFLUENT_BYTES and content.startswith(CONFLUENT):
        return MessageFrame(0, stated, int.from_bytes(content[1:], "big"))
    if len(content) == _GUID_BYTES and content.startswith(_REGISTRY_GUID) and stated is not None:
        # A GUID is valid in its registry only; the fingerprint beside it is sufficient.
        return MessageFrame(0, stated)
    raise DecodeError("bad_magic", f"header {REGISTRY_HEADER} is not a registry id: {content[:20].hex(' ')}")


def _header_fingerprint(headers: Sequence[Header]) -> bytes | None:
    """Return the `schema-fp` header's fingerprint; None where it is absent or invalid."""
    content = next((content for name, content in headers if name == SCHEMA_HEADER), None) or b""
    try:
        fingerprint = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        return None
    return fingerprint if len(fingerprint) == _FINGERPRINT_BYTES else None


def _require_length(value: bytes, frame_bytes: int) -> None:
    if len(value) < frame_bytes:
        raise DecodeError("truncated", f"{len(value)} bytes, the frame alone has {frame_bytes}")


def _encoding_hint(value: bytes) -> str:
    """Return a hint for bytes that producers send by mistake."""
    if value[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return " (UTF-16? JSON must be UTF-8)"
    is_text = value[:4].isascii() and value[:4].decode().isprintable()
    return " (text? where JSON is taken, it is an object in braces)" if is_text else ""

"""How a message fits into its dead letter: whole, in part by reference, or, as the last way out, cut.

Decides that from sizes as they are encoded, and whether there is an object store. Where there is
none, a service must not stop for one large message: what is cut is said, and the message itself
still stands in its topic until retention takes it. Does not know why a message was given up.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from strider.contracts.avro.deferred_encoding import encoded_bytes
from strider.messaging.ports import Header, Record
from strider.runtime.consumer.ports import DeadLetterObjectStore

CLAIMED_HEADERS: Final = "strider-claimed-headers"
"""Stands for the key and all headers where they are too large: its value refers to their object."""

TRUNCATED: Final = "strider-truncated"
"""Stands behind the headers where the message was cut: its value says what is missing. Never send such a
message again from its letter."""

LENGTH_BYTES: Final = 5
"""What a length may take beside the bytes that it counts."""


@dataclass(frozen=True, slots=True)
class PackedMessage:
    """What of a message goes into its letter."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    value_object: str = ""
    missing: str = ""
    """What was cut, in words; empty where nothing was."""


async def pack_message(
    record: Record, *, max_bytes: int, objects: DeadLetterObjectStore | None
) -> PackedMessage:
    """Fit a message into so many bytes; raises Unavailable where its store does not answer."""
    headers = tuple((name, content or b"") for name, content in record.headers)
    rest_bytes = _size(record.key) + sum(map(_header_size, headers))
    key, value, value_object = record.key, encoded_bytes(record.value), ""
    value_bytes = _size(value)
    if rest_bytes + value_bytes <= max_bytes:
        return PackedMessage(key, value, headers)
    if objects is None:
        return _cut(record, headers, room_bytes=max_bytes)
    # The larger part goes, because the smaller one alone mostly fits.
    if value is not None and (value_bytes >= rest_bytes or value_bytes > max_bytes):
        value_object, value = await objects.put(value), None
    if rest_bytes > value_bytes or rest_bytes > max_bytes:
        reference = await objects.put(_document(key, headers))
        key, headers = None, ((CLAIMED_HEADERS, reference.encode()),)
    return PackedMessage(key, value, headers, value_object)


def _cut(record: Record, headers: Sequence[Header], *, room_bytes: int) -> PackedMessage:
    """Keep the head of everything: an eighth of the room for key and headers each, the rest for the value."""
    key, missing = _head(record.key, room_bytes // 8, "key")
    kept: list[Header] = []
    used_bytes = 0
    for header in headers:
        used_bytes += _header_size(header)
        if used_bytes > room_bytes // 8:
            missing.append(f"{len(headers) - len(kept)} of {len(headers)} headers")
            break
        kept.append(header)
    left_bytes = room_bytes - _size(key) - sum(map(_header_size, kept)) - _TRUNCATED_HEADER_BYTES
    value, missing_value = _head(encoded_bytes(record.value), left_bytes, "value")
    said = ", ".join((*missing, *missing_value))
    return PackedMessage(key, value, (*kept, (TRUNCATED, said.encode())), missing=said)


_TRUNCATED_HEADER_BYTES: Final = 256
"""More than the header takes that says what is missing."""


def _head(content: bytes | None, most_bytes: int, name: str) -> tuple[bytes | None, list[str]]:
    if content is None or _size(content) <= most_bytes:
        return content, []
    head = content[: max(0, most_bytes - LENGTH_BYTES)]
    return head, [f"the last {len(content) - len(head)} of {len(content)} bytes of the {name}"]


def _document(key: bytes | None, headers: Sequence[Header]) -> bytes:
    document = {
        "key": None if key is None else base64.b64encode(key).decode(),
        "headers": [[name, base64.b64encode(content).decode()] for name, content in headers],
    }
    return json.dumps(document).encode()


def _header_size(header: Header) -> int:
    name, content = header
    return _size(name.encode("utf-8", "surrogatepass")) + _size(content)


def _size(content: bytes | None) -> int:
    return LENGTH_BYTES + len(content or b"")

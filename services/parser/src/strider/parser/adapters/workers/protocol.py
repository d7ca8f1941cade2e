"""What parser and worker say to each other over a socket.

Every frame is its length and its bytes. A request is an Avro event, and a body where the event has
none of its own; an answer begins with what it is and how long its parts are. No pickle: a worker reads what
strangers wrote, and what it answers must stay data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from strider.contracts.generated.enums import ExtractionLevel

PARSED: Final = 0
"""Outcome and Avro event."""
PARSED_WITH_TEXTS: Final = 1
"""The same, and texts for the object store behind it."""
PARSED_PART: Final = 5
"""The same, of a part of the page that others follow: the page is not answered yet."""
FAILED: Final = 2
"""A traceback: the parser has a fault."""
READY: Final = 3
"""The worker has started."""
RECYCLING: Final = 4
"""The worker has grown and ends; what it was sent and has not answered is for another."""

MAX_READER_BYTES: Final = 250
_LENGTH: Final = struct.Struct("<I")
HEAD_BYTES: Final = _LENGTH.size
_WITHIN: Final = struct.Struct("<BI")
"""Of a request, behind its length: how much is wanted, and the length of the event."""

_REQUEST_FRAME: Final = struct.Struct("<IBI")
_SAID: Final = struct.Struct("<BBBI")
"""Of an answer, behind its length: its kind, and how long outcome, reader and event are."""
_RESPONSE_FRAME: Final = struct.Struct("<IBBBI")
_EXTRACTION_LEVELS: Final = ("", *(level.value for level in ExtractionLevel))
MAX_FRAME_BYTES: Final = 256 * 1024 * 1024


class WorkerResponse(NamedTuple):
    """What a worker said."""

    kind: int
    outcome: str = ""
    event: bytes = b""
    texts: bytes = b""
    reader: str = ""
    """Who read the page, for counting."""


class ParseRequest(NamedTuple):
    """What a worker is asked to read."""

    event: bytes
    body: bytes = b""
    """Where the event has none of its own."""
    extraction: str = ""
    """How much of it is wanted; empty means as much as usual."""


def encode_request(request: ParseRequest) -> list[bytes]:
    """Write a request, in pieces that go out together."""
    event, body = request.event, request.body
    level = _EXTRACTION_LEVELS.index(request.extraction)
    head = _REQUEST_FRAME.pack(_REQUEST_FRAME.size - HEAD_BYTES + len(event) + len(body), level, len(event))
    return [head, event, body] if body else [head, event]


def decode_request(frame: bytes) -> ParseRequest:
    """Read a request, without the length before it."""
    level, size = _WITHIN.unpack_from(frame)
    start = _WITHIN.size
    return ParseRequest(frame[start : start + size], frame[start + size :], _EXTRACTION_LEVELS[level])


def encode_response(response: WorkerResponse) -> list[bytes]:
    """Write an answer, in pieces that go out together."""
    outcome, reader = response.outcome.encode(), response.reader.encode()[:MAX_READER_BYTES]
    event, texts = response.event, response.texts
    size = _SAID.size + len(outcome) + len(reader) + len(event) + len(texts)
    head = _RESPONSE_FRAME.pack(size, response.kind, len(outcome), len(reader), len(event)) + outcome + reader
    return [head, event, texts] if texts else [head, event]


def decode_response(frame: memoryview) -> WorkerResponse:
    """Read an answer; ValueError for bytes that are none."""
    try:
        kind, outcome_size, reader_size, size = _SAID.unpack_from(frame)
        start = _SAID.size
        middle = start + outcome_size
        end = middle + reader_size
        outcome, reader = str(frame[start:middle], "utf-8"), str(frame[middle:end], "utf-8")
    except (struct.error, UnicodeDecodeError) as failure:
        raise ValueError(f"no answer of a worker: {bytes(frame[:40])!r}") from failure
    if end + size > len(frame):
        raise ValueError("an answer of a worker that ends too early")
    return WorkerResponse(kind, outcome, bytes(frame[end : end + size]), bytes(frame[end + size :]), reader)


def frame_length(head: bytes | memoryview) -> int:
    """Read how long the frame is that follows."""
    (size,) = _LENGTH.unpack(head)
    if size > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {size} bytes")
    return int(size)


class FrameBuffer:
    """Puts frames together from what arrives."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes | memoryview) -> Iterator[memoryview]:
        """Take bytes, give the frames that are complete; ValueError where they cannot be frames.

        A frame is valid until the next one is asked for.
        """
        arrived = memoryview(self._held + data if self._held else data)
        start, here = 0, len(arrived)
        while here >= start + HEAD_BYTES:
            end = start + HEAD_BYTES + frame_length(arrived[start : start + HEAD_BYTES])
            if here < end:
                break
            yield arrived[start + HEAD_BYTES : end]
            start = end
        self._held = bytes(arrived[start:])

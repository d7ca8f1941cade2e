"""Binary protocol between the parser and its worker processes.

Every frame is its length and its bytes. A request is an Avro event, and a body where the event does not
contain it; a response begins with its kind and the lengths of its parts. No pickle: a worker parses
untrusted input, so its responses must stay data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from strider.contracts.generated.enums import ExtractionLevel
from strider.parser.core import DEFAULT_OPTIONS, PageOptions

PARSED: Final = 0
"""Outcome and Avro event."""
PARSED_WITH_TEXTS: Final = 1
"""Like PARSED, followed by texts for the object store."""
PARSED_PART: Final = 5
"""Like PARSED, for a part of the page that others follow: the request is not finished yet."""
FAILED: Final = 2
"""A traceback: the parser has a bug."""
READY: Final = 3
"""The worker has started."""
RECYCLING: Final = 4
"""The worker uses too much memory and exits; its unanswered requests go to another worker."""

MAX_READER_BYTES: Final = 250
MAX_FRAME_BYTES: Final = 256 * 1024 * 1024
_LENGTH: Final = struct.Struct("<I")
LENGTH_BYTES: Final = _LENGTH.size

_REQUEST_HEADER: Final = struct.Struct("<BBBI")
"""Of a request, after its length: the extraction level, whether Markdown is wanted, and the lengths of the
site parser's name and of the event."""
_REQUEST_FRAME: Final = struct.Struct("<IBBBI")
_RESPONSE_HEADER: Final = struct.Struct("<BBBII")
"""Of a response, after its length: its kind, the lengths of outcome, reader and event, and its cost."""
_RESPONSE_FRAME: Final = struct.Struct("<IBBBII")
_EXTRACTION_LEVELS: Final = ("", *(level.value for level in ExtractionLevel))


class WorkerResponse(NamedTuple):
    """A response of a worker."""

    kind: int
    outcome: str = ""
    event: bytes = b""
    texts: bytes = b""
    reader: str = ""
    """The parser that read the page, for metrics."""
    cost_us: int = 0
    """Processor time of the page in microseconds; 0 in all parts but the last."""


class ParseRequest(NamedTuple):
    """A page for a worker to parse."""

    event: bytes
    body: bytes = b""
    """The body where the event does not contain it."""
    options: PageOptions = DEFAULT_OPTIONS


def encode_request(request: ParseRequest) -> list[bytes]:
    """Return a request as chunks that are written together."""
    event, body, options = request.event, request.body, request.options
    level, name = _EXTRACTION_LEVELS.index(options.extraction), options.parser.encode()[:MAX_READER_BYTES]
    size = _REQUEST_HEADER.size + len(name) + len(event) + len(body)
    head = _REQUEST_FRAME.pack(size, level, options.with_markdown, len(name), len(event)) + name
    return [head, event, body] if body else [head, event]


def decode_request(frame: bytes) -> ParseRequest:
    """Return the request in a frame, given without its length."""
    level, with_markdown, name_size, size = _REQUEST_HEADER.unpack_from(frame)
    middle = _REQUEST_HEADER.size
    start = middle + name_size
    options = PageOptions(
        _EXTRACTION_LEVELS[level], bool(with_markdown), frame[middle:start].decode("utf-8", "replace")
    )
    return ParseRequest(frame[start : start + size], frame[start + size :], options)


def encode_response(response: WorkerResponse) -> list[bytes]:
    """Return a response as chunks that are written together."""
    outcome, reader = response.outcome.encode(), response.reader.encode()[:MAX_READER_BYTES]
    event, texts = response.event, response.texts
    size = _RESPONSE_HEADER.size + len(outcome) + len(reader) + len(event) + len(texts)
    lengths = len(outcome), len(reader), len(event)
    head = _RESPONSE_FRAME.pack(size, response.kind, *lengths, response.cost_us) + outcome + reader
    return [head, event, texts] if texts else [head, event]


def decode_response(frame: memoryview) -> WorkerResponse:
    """Return the response in a frame; raises ValueError for bytes that are not one."""
    try:
        kind, outcome_size, reader_size, size, cost_us = _RESPONSE_HEADER.unpack_from(frame)
        start = _RESPONSE_HEADER.size
        middle = start + outcome_size
        end = middle + reader_size
        outcome, reader = str(frame[start:middle], "utf-8"), str(frame[middle:end], "utf-8")
    except (struct.error, UnicodeDecodeError) as failure:
        raise ValueError(f"not a worker response: {bytes(frame[:40])!r}") from failure
    if end + size > len(frame):
        raise ValueError("truncated worker response")
    texts = bytes(frame[end + size :])
    return WorkerResponse(kind, outcome, bytes(frame[end : end + size]), texts, reader, cost_us)


def frame_length(head: bytes | memoryview) -> int:
    """Return the length of the frame that follows; raises ValueError above MAX_FRAME_BYTES."""
    (size,) = _LENGTH.unpack(head)
    if size > MAX_FRAME_BYTES:
        raise ValueError(f"frame of {size} bytes, the limit is {MAX_FRAME_BYTES}")
    return int(size)


class FrameBuffer:
    """Assembles frames from received bytes."""

    def __init__(self) -> None:
        self._incomplete = b""

    def feed(self, data: bytes | memoryview) -> Iterator[memoryview]:
        """Yield the frames that are complete with these bytes; raises ValueError for an invalid length.

        A frame is valid until the next one is requested.
        """
        received = memoryview(self._incomplete + data if self._incomplete else data)
        start, available = 0, len(received)
        while available >= start + LENGTH_BYTES:
            end = start + LENGTH_BYTES + frame_length(received[start : start + LENGTH_BYTES])
            if available < end:
                break
            yield received[start + LENGTH_BYTES : end]
            start = end
        self._incomplete = bytes(received[start:])

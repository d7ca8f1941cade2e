"""Frames between parser and worker survive being split anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strider.contracts.generated.enums import ExtractionLevel
from strider.parser.adapters.workers.protocol import (
    LENGTH_BYTES,
    MAX_FRAME_BYTES,
    PARSED,
    READY,
    FrameBuffer,
    ParseRequest,
    WorkerResponse,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    frame_length,
)
from strider.parser.core import PageOptions


def response_frame(response: WorkerResponse) -> bytes:
    """Return a response as one frame."""
    return b"".join(encode_response(response))


READERS = st.sampled_from(["", "a|b|1|read"])
RESPONSES = st.builds(
    WorkerResponse,
    st.integers(0, 4),
    st.sampled_from(["", "parsed"]),
    st.binary(),
    st.binary(),
    READERS,
    st.integers(0, 2**32 - 1),
)


@given(responses=st.lists(RESPONSES, max_size=5), cuts=st.lists(st.integers(0, 400), max_size=8))
def test_responses_arrive_whole_however_they_are_split(
    responses: list[WorkerResponse], cuts: list[int]
) -> None:
    stream = b"".join(map(response_frame, responses))
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    buffer = FrameBuffer()

    found = [
        decode_response(frame) for start, end in pairwise(bounds) for frame in buffer.feed(stream[start:end])
    ]

    assert found == responses


OPTIONS = st.builds(
    PageOptions,
    st.sampled_from(["", *ExtractionLevel]),
    st.booleans(),
    st.sampled_from(["", "off", "amazon"]),
)
REQUESTS = st.builds(ParseRequest, st.binary(), st.binary(), OPTIONS)


@given(request=REQUESTS)
def test_requests_carry_event_body_and_options(request: ParseRequest) -> None:
    frame = b"".join(encode_request(request))

    assert frame_length(frame[:LENGTH_BYTES]) == len(frame) - LENGTH_BYTES
    assert decode_request(frame[LENGTH_BYTES:]) == request


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0",
        b"\0\xff",
        b"\0\1\xff\0\0\0\0",
        response_frame(WorkerResponse(PARSED, "x", b"event"))[LENGTH_BYTES:-2],
    ],
    ids=["empty", "kind-only", "cut", "no-text", "event-cut"],
)
def test_invalid_responses_are_refused(frame: bytes) -> None:
    with pytest.raises(ValueError, match="worker response"):
        decode_response(memoryview(frame))


def test_a_length_that_cannot_be_is_refused() -> None:
    """A compromised worker must not make its parent wait for gigabytes."""
    head = (MAX_FRAME_BYTES + 1).to_bytes(4, "little")

    with pytest.raises(ValueError, match="frame of"):
        list(FrameBuffer().feed(head + response_frame(WorkerResponse(READY))))

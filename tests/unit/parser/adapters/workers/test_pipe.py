"""The worker's end of its sockets: responses are readable at once, notifications are shared."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from strider.parser.adapters.workers.pipe import RESPONSES_PER_NOTIFICATION, WorkerPipe
from strider.parser.adapters.workers.protocol import (
    PARSED,
    FrameBuffer,
    ParseRequest,
    WorkerResponse,
    decode_request,
    decode_response,
    encode_request,
)

RESPONSE = WorkerResponse(PARSED, "parsed", b"event", b"texts", "a|b|1|read")
LARGE_RESPONSE = WorkerResponse(PARSED, "parsed", bytes(3_000_000))
TIMEOUT_SECONDS = 20.0


@dataclass
class Parent:
    """The parent's end of the sockets."""

    requests: socket.socket
    responses: socket.socket

    def send(self, *events: bytes) -> None:
        self.requests.sendall(
            b"".join(piece for event in events for piece in encode_request(ParseRequest(event)))
        )

    def notifications(self) -> int:
        """Return the number of unread notifications."""
        return len(self.requests.recv(100)) if select.select((self.requests,), (), (), 0)[0] else 0

    def fetch(self) -> list[WorkerResponse]:
        """Return all responses that have arrived."""
        try:
            return [
                *map(decode_response, FrameBuffer().feed(self.responses.recv(1_000_000, socket.MSG_DONTWAIT)))
            ]
        except BlockingIOError:
            return []


@pytest.fixture
def ends() -> Iterator[tuple[WorkerPipe, Parent]]:
    with (
        (requests := socket.socketpair())[0],
        requests[1],
        (responses := socket.socketpair())[0],
        responses[1],
    ):
        requests[1].settimeout(TIMEOUT_SECONDS)
        yield WorkerPipe(requests[0], responses[0]), Parent(requests[1], responses[1])


def test_requests_come_one_after_the_other_however_they_are_split(ends: tuple[WorkerPipe, Parent]) -> None:
    pipe, parent = ends
    stream = b"".join(
        piece for event in (b"one", b"", b"three") for piece in encode_request(ParseRequest(event))
    )

    def send() -> None:
        for at in range(len(stream)):
            parent.requests.sendall(stream[at : at + 1])
        parent.requests.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    received = [pipe.receive_request() for _ in range(4)]
    sender.join()

    assert [decode_request(each).event if each is not None else None for each in received] == [
        b"one",
        b"",
        b"three",
        None,
    ]


def test_a_response_is_readable_before_its_notification(ends: tuple[WorkerPipe, Parent]) -> None:
    """Whatever the next page does to the worker, this page has its response."""
    pipe, parent = ends
    pipe.send_response(RESPONSE)

    assert (parent.notifications(), parent.fetch()) == (0, [RESPONSE])


def test_several_responses_share_one_notification(ends: tuple[WorkerPipe, Parent]) -> None:
    pipe, parent = ends
    for _ in range(RESPONSES_PER_NOTIFICATION):
        pipe.send_response(RESPONSE)

    assert (parent.notifications(), parent.fetch()) == (1, [RESPONSE] * RESPONSES_PER_NOTIFICATION)


def test_a_worker_notifies_before_it_waits(ends: tuple[WorkerPipe, Parent]) -> None:
    pipe, parent = ends
    parent.send(b"one", b"two")
    pipe.receive_request()
    pipe.send_response(RESPONSE)
    pipe.receive_request()
    before = parent.notifications()
    parent.requests.shutdown(socket.SHUT_WR)
    pipe.receive_request()

    assert (before, parent.notifications()) == (0, 1)


def test_nothing_is_notified_without_responses(ends: tuple[WorkerPipe, Parent]) -> None:
    pipe, parent = ends
    parent.send(b"one")
    pipe.receive_request()
    pipe.notify_parent()

    assert parent.notifications() == 0


def test_a_response_larger_than_the_socket_is_notified_piece_by_piece(
    ends: tuple[WorkerPipe, Parent],
) -> None:
    """A parent that reads only when notified receives all of it, and what follows."""
    pipe, parent = ends
    parent.responses.setblocking(False)

    def send_both() -> None:
        pipe.send_response(LARGE_RESPONSE)
        pipe.send_response(RESPONSE)
        pipe.notify_parent()

    worker = threading.Thread(target=send_both)
    worker.start()
    buffer, found = FrameBuffer(), list[WorkerResponse]()
    while len(found) < 2:
        assert parent.requests.recv(1), "no notification"
        try:
            while arrived := parent.responses.recv(100_000):
                found += map(decode_response, buffer.feed(arrived))
        except BlockingIOError:
            pass
    worker.join()

    assert found == [LARGE_RESPONSE, RESPONSE]

"""A worker's answers lie ready at once, and its parent is told of several at a time."""

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
    decode_response,
    encode_request,
)

ANSWER = WorkerResponse(PARSED, "parsed", b"event", b"texts", "a|b|1|read")
LARGE = WorkerResponse(PARSED, "parsed", bytes(3_000_000))
PATIENCE_SECONDS = 20.0


@dataclass
class Parent:
    """The other end, looked at by hand."""

    requests: socket.socket
    answers: socket.socket

    def send(self, *events: bytes) -> None:
        self.requests.sendall(
            b"".join(piece for event in events for piece in encode_request(ParseRequest(event)))
        )

    def bells(self) -> int:
        """Count what is rung and was not heard before."""
        return len(self.requests.recv(100)) if select.select((self.requests,), (), (), 0)[0] else 0

    def fetch(self) -> list[WorkerResponse]:
        """Give all answers that lie ready."""
        try:
            return [
                *map(decode_response, FrameBuffer().feed(self.answers.recv(1_000_000, socket.MSG_DONTWAIT)))
            ]
        except BlockingIOError:
            return []


@pytest.fixture
def ends() -> Iterator[tuple[WorkerPipe, Parent]]:
    with (
        (requests := socket.socketpair())[0],
        requests[1],
        (answers := socket.socketpair())[0],
        answers[1],
    ):
        requests[1].settimeout(PATIENCE_SECONDS)
        yield WorkerPipe(requests[0], answers[0]), Parent(requests[1], answers[1])


def test_requests_come_one_after_the_other_however_they_are_torn(ends: tuple[WorkerPipe, Parent]) -> None:
    box, parent = ends
    stream = b"".join(
        piece for event in (b"one", b"", b"three") for piece in encode_request(ParseRequest(event))
    )

    def send() -> None:
        for at in range(len(stream)):
            parent.requests.sendall(stream[at : at + 1])
        parent.requests.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    taken = [box.receive_request() for _ in range(4)]
    sender.join()

    assert [each[5:] if each is not None else None for each in taken] == [b"one", b"", b"three", None]


def test_a_response_is_readable_before_its_notification(ends: tuple[WorkerPipe, Parent]) -> None:
    """Whatever the next page does to the worker, this one is answered."""
    box, parent = ends
    box.send_response(ANSWER)

    assert (parent.bells(), parent.fetch()) == (0, [ANSWER])


def test_several_responses_share_one_notification(ends: tuple[WorkerPipe, Parent]) -> None:
    box, parent = ends
    for _ in range(RESPONSES_PER_NOTIFICATION):
        box.send_response(ANSWER)

    assert (parent.bells(), parent.fetch()) == (1, [ANSWER] * RESPONSES_PER_NOTIFICATION)


def test_a_worker_notifies_before_it_waits(ends: tuple[WorkerPipe, Parent]) -> None:
    box, parent = ends
    parent.send(b"one", b"two")
    box.receive_request()
    box.send_response(ANSWER)
    box.receive_request()
    before = parent.bells()
    parent.requests.shutdown(socket.SHUT_WR)
    box.receive_request()

    assert (before, parent.bells()) == (0, 1)


def test_nothing_is_notified_without_responses(ends: tuple[WorkerPipe, Parent]) -> None:
    box, parent = ends
    parent.send(b"one")
    box.receive_request()
    box.notify_parent()

    assert parent.bells() == 0


def test_a_response_larger_than_the_socket_is_notified_piece_by_piece(
    ends: tuple[WorkerPipe, Parent],
) -> None:
    """A parent that only looks when it is told to gets all of it, and what follows."""
    box, parent = ends
    parent.answers.setblocking(False)

    def put() -> None:
        box.send_response(LARGE)
        box.send_response(ANSWER)
        box.notify_parent()

    worker = threading.Thread(target=put)
    worker.start()
    buffer, found = FrameBuffer(), list[WorkerResponse]()
    while len(found) < 2:
        assert parent.requests.recv(1), "the bell"
        try:
            while arrived := parent.answers.recv(100_000):
                found += map(decode_response, buffer.feed(arrived))
        except BlockingIOError:
            pass
    worker.join()

    assert found == [LARGE, ANSWER]

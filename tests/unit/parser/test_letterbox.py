"""A worker's answers lie ready at once, and its parent is told of several at a time."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from strider.parser.adapters.frames import PARSED, Answer, FrameBuffer, Request, read_answer, request_frame
from strider.parser.adapters.letterbox import ANSWERS_PER_BELL, Letterbox

ANSWER = Answer(PARSED, "parsed", b"event", b"texts", "a|b|1|read")
LARGE = Answer(PARSED, "parsed", bytes(3_000_000))
PATIENCE_SECONDS = 20.0


@dataclass
class Parent:
    """The other end, looked at by hand."""

    requests: socket.socket
    answers: socket.socket

    def send(self, *events: bytes) -> None:
        self.requests.sendall(b"".join(piece for event in events for piece in request_frame(Request(event))))

    def bells(self) -> int:
        """Count what is rung and was not heard before."""
        return len(self.requests.recv(100)) if select.select((self.requests,), (), (), 0)[0] else 0

    def fetch(self) -> list[Answer]:
        """Give all answers that lie ready."""
        try:
            return [*map(read_answer, FrameBuffer().feed(self.answers.recv(1_000_000, socket.MSG_DONTWAIT)))]
        except BlockingIOError:
            return []


@pytest.fixture
def ends() -> Iterator[tuple[Letterbox, Parent]]:
    with (
        (requests := socket.socketpair())[0],
        requests[1],
        (answers := socket.socketpair())[0],
        answers[1],
    ):
        requests[1].settimeout(PATIENCE_SECONDS)
        yield Letterbox(requests[0], answers[0]), Parent(requests[1], answers[1])


def test_requests_come_one_after_the_other_however_they_are_torn(ends: tuple[Letterbox, Parent]) -> None:
    box, parent = ends
    stream = b"".join(piece for event in (b"one", b"", b"three") for piece in request_frame(Request(event)))

    def send() -> None:
        for at in range(len(stream)):
            parent.requests.sendall(stream[at : at + 1])
        parent.requests.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    taken = [box.take() for _ in range(4)]
    sender.join()

    assert [each[5:] if each is not None else None for each in taken] == [b"one", b"", b"three", None]


def test_an_answer_lies_ready_before_its_bell(ends: tuple[Letterbox, Parent]) -> None:
    """Whatever the next page does to the worker, this one is answered."""
    box, parent = ends
    box.put(ANSWER)

    assert (parent.bells(), parent.fetch()) == (0, [ANSWER])


def test_several_answers_have_one_bell(ends: tuple[Letterbox, Parent]) -> None:
    box, parent = ends
    for _ in range(ANSWERS_PER_BELL):
        box.put(ANSWER)

    assert (parent.bells(), parent.fetch()) == (1, [ANSWER] * ANSWERS_PER_BELL)


def test_a_worker_that_has_to_wait_rings_before(ends: tuple[Letterbox, Parent]) -> None:
    box, parent = ends
    parent.send(b"one", b"two")
    box.take()
    box.put(ANSWER)
    box.take()
    before = parent.bells()
    parent.requests.shutdown(socket.SHUT_WR)
    box.take()

    assert (before, parent.bells()) == (0, 1)


def test_nobody_rings_for_nothing(ends: tuple[Letterbox, Parent]) -> None:
    box, parent = ends
    parent.send(b"one")
    box.take()
    box.ring()

    assert parent.bells() == 0


def test_an_answer_larger_than_the_socket_is_fetched_bell_by_bell(ends: tuple[Letterbox, Parent]) -> None:
    """A parent that only looks when it is told to gets all of it, and what follows."""
    box, parent = ends
    parent.answers.setblocking(False)

    def put() -> None:
        box.put(LARGE)
        box.put(ANSWER)
        box.ring()

    worker = threading.Thread(target=put)
    worker.start()
    buffer, found = FrameBuffer(), list[Answer]()
    while len(found) < 2:
        assert parent.requests.recv(1), "the bell"
        try:
            while arrived := parent.answers.recv(100_000):
                found += map(read_answer, buffer.feed(arrived))
        except BlockingIOError:
            pass
    worker.join()

    assert found == [LARGE, ANSWER]

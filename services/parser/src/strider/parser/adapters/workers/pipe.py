"""A worker's end of its two sockets: requests come in, answers go out, and a bell says that there are some.

Being woken costs the parent as much as all else that it does for a page. So it does not wait for
answers: they lie in a socket of their own until the bell, one byte on the way that requests come, and
are fetched together. What is answered is in the parent's hands all the same, whatever becomes of the
worker a moment later.

Decides when to ring; knows nothing of pages.
"""

from __future__ import annotations

import select
import socket
from typing import Final

from .protocol import HEAD_BYTES, WorkerResponse, encode_response, frame_length

RESPONSES_PER_NOTIFICATION: Final = 8
"""Half of what a worker has at hand: while the parent fetches these and sends more, there is work left."""

RECEIVE_BYTES: Final = 64 * 1024
NOTIFICATION: Final = b"!"


class WorkerPipe:
    """Requests and answers, one after the other."""

    def __init__(self, requests: socket.socket, responses: socket.socket) -> None:
        self._requests = requests
        self._answers = responses
        self._arrived = b""
        self._at = 0
        self._unnotified = 0
        """Answers since the bell."""

    def receive_request(self) -> bytes | None:
        """Give the next request, as soon as there is one; None once the parent has gone."""
        while (missing := self._missing_bytes()) > 0:
            self.notify_parent()
            if not self._receive(missing):
                return None
        start = self._at + HEAD_BYTES
        self._at = start + frame_length(self._arrived[self._at : start])
        return self._arrived[start : self._at]

    def send_response(self, response: WorkerResponse) -> None:
        """Answer; the parent hears of it before long."""
        pieces = encode_response(response)
        try:
            sent = self._answers.sendmsg(pieces, [], socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        self._unnotified += 1
        if sent < sum(map(len, pieces)):
            self._send_rest(memoryview(b"".join(pieces))[sent:])
        if self._unnotified >= RESPONSES_PER_NOTIFICATION:
            self.notify_parent()

    def notify_parent(self) -> None:
        """Have the parent fetch what it has not been told of."""
        if self._unnotified:
            self._requests.sendall(NOTIFICATION)
            self._unnotified = 0

    def _send_rest(self, rest: memoryview) -> None:
        """Send what the socket has no room for, so that the parent knows each time that it is full."""
        while rest:
            try:
                rest = rest[self._answers.send(rest, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                self._unnotified += 1
                self.notify_parent()
                select.select((), (self._answers,), ())
        self._unnotified += 1

    def _missing_bytes(self) -> int:
        """Say how much of the next request is not here yet, as far as that is known."""
        here = len(self._arrived) - self._at
        if here < HEAD_BYTES:
            return HEAD_BYTES - here
        return HEAD_BYTES + frame_length(self._arrived[self._at : self._at + HEAD_BYTES]) - here

    def _receive(self, least_bytes: int) -> bool:
        pieces = [self._arrived[self._at :]]
        while least_bytes > 0:
            piece = self._requests.recv(RECEIVE_BYTES)
            if not piece:
                return False
            pieces.append(piece)
            least_bytes -= len(piece)
        self._arrived, self._at = b"".join(pieces), 0
        return True

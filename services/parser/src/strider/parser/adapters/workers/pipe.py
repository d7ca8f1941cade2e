"""The worker's end of its two sockets: requests arrive, responses and notifications leave.

Waking the parent costs as much as everything else it does for a page. So the parent does not wait for
responses: they collect in a socket of their own until a notification, one byte on the socket of the
requests, and are fetched together. A response that was sent belongs to the parent even when the worker
dies a moment later.

Decides when to notify the parent; knows nothing of pages.
"""

from __future__ import annotations

import select
import socket
from typing import Final

from .protocol import LENGTH_BYTES, WorkerResponse, encode_response, frame_length

RESPONSES_PER_NOTIFICATION: Final = 8
"""Half of a worker's queue: while the parent fetches these and sends more, the worker still has work."""

RECEIVE_BYTES: Final = 64 * 1024
NOTIFICATION: Final = b"!"


class WorkerPipe:
    """Receives requests and sends responses in order."""

    def __init__(self, requests: socket.socket, responses: socket.socket) -> None:
        self._requests = requests
        self._responses = responses
        self._buffer = b""
        self._position = 0
        self._unnotified = 0
        """Responses since the last notification."""

    def receive_request(self) -> bytes | None:
        """Return the next request, waiting for it; None once the parent has closed its end."""
        while (missing := self._missing_bytes()) > 0:
            self.notify_parent()
            if not self._fill_buffer(missing):
                return None
        start = self._position + LENGTH_BYTES
        self._position = start + frame_length(self._buffer[self._position : start])
        return self._buffer[start : self._position]

    def send_response(self, response: WorkerResponse) -> None:
        """Send a response; the parent is notified of several at a time."""
        chunks = encode_response(response)
        try:
            sent = self._responses.sendmsg(chunks, [], socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        self._unnotified += 1
        if sent < sum(map(len, chunks)):
            self._send_rest(memoryview(b"".join(chunks))[sent:])
        if self._unnotified >= RESPONSES_PER_NOTIFICATION:
            self.notify_parent()

    def notify_parent(self) -> None:
        """Notify the parent of responses that it has not been notified of."""
        if self._unnotified:
            self._requests.sendall(NOTIFICATION)
            self._unnotified = 0

    def _send_rest(self, rest: memoryview) -> None:
        """Send what did not fit into the socket, notifying the parent each time that it is full."""
        while rest:
            try:
                rest = rest[self._responses.send(rest, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                self._unnotified += 1
                self.notify_parent()
                select.select((), (self._responses,), ())
        self._unnotified += 1

    def _missing_bytes(self) -> int:
        """Return how many bytes of the next request have not arrived, as far as its length is known."""
        start, available = self._position, len(self._buffer) - self._position
        if available < LENGTH_BYTES:
            return LENGTH_BYTES - available
        return LENGTH_BYTES + frame_length(self._buffer[start : start + LENGTH_BYTES]) - available

    def _fill_buffer(self, min_bytes: int) -> bool:
        chunks = [self._buffer[self._position :]]
        while min_bytes > 0:
            chunk = self._requests.recv(RECEIVE_BYTES)
            if not chunk:
                return False
            chunks.append(chunk)
            min_bytes -= len(chunk)
        self._buffer, self._position = b"".join(chunks), 0
        return True

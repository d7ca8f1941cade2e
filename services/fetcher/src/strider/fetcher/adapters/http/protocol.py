"""Protocol of a connection in front of aiohttp's parser: size limits of heads and framing.

Heads are parsed on their own, so that a fault behind one does not undo it, and a head without an end is
limited. Data on an idle connection closes it: it is never the response to the next request. Limits of bodies
are in `core.body_limits`.
"""

from __future__ import annotations

import re
from math import inf
from typing import Any, Final

from aiohttp import hdrs
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader

from strider.contracts.generated.enums import ErrorClass

from .error_mapping import FetchFailure
from .timeline import RequestTimeline

MAX_LINE_BYTES: Final = 16 * 1024
MAX_HEADERS: Final = 256
MAX_HEAD_BYTES: Final = 256 * 1024
"""The whole head, 1xx responses included."""
MAX_INFORMATIONAL_RESPONSES: Final = 20
READ_BUFFER_BYTES: Final = 32 * 1024
"""Twice this is buffered of a body before its sender is paused."""
MAX_TINY_CHUNK_PAUSES: Final = 10
"""Pauses that the number of chunks causes rather than their size: chunks of a few bytes are read at a
hundredth of the usual speed, and these are more than ten thousand of them.
"""
MAX_FRAMING_BYTES: Final = 1024 * 1024
"""Of chunk sizes, extensions and trailers, besides eight times what they frame."""

_FRAMING_RATIO: Final = 8
_LOWEST_STATUS: Final = 100
_OVERLAP_BYTES: Final = 4
"""Kept of a partial head, so that an end that arrives in two parts is found."""
_KEEP_ALIVE_TIMEOUT: Final = re.compile(r"(?:^|[\s,;])timeout\s*=\s*\"?([0-9]{1,6})", re.IGNORECASE)
_KEEP_ALIVE_MARGIN_SECONDS: Final = 1.0
"""A kept connection is given up this much before its server closes it: a request on its way would be lost."""


class ResponseProtocol(ResponseHandler):
    """A connection that knows whether a response has begun and when it is over."""

    is_forward_proxy = False
    """Whether the peer is a proxy that forwards requests, without a tunnel."""
    _timeline: RequestTimeline | None = None
    """Timeline of the request whose response head is expected."""
    _head_bytes = 0
    _overlap = b""
    _informational = 0
    _body: StreamReader | None = None
    """Of the latest response."""
    _raw_bytes = 0
    """Bytes received after its head, framing included."""
    _paused_at_bytes = 0
    """Size of the body when its sender was paused last."""
    _tiny_chunk_pauses = 0
    _keep_alive_until = inf
    """When the server closes the connection, by its Keep-Alive header; a request sent then may be lost."""
    truncated_by: OSError | None = None
    """The error that ended the connection within the latest body."""

    def expect_response(self, timeline: RequestTimeline) -> None:
        """Prepare for the response to a request."""
        self._timeline, self._body, self._overlap = timeline, None, b""
        self._head_bytes = self._informational = 0
        self.truncated_by, self._keep_alive_until = None, inf
        self._raw_bytes = self._paused_at_bytes = self._tiny_chunk_pauses = 0

    def is_unusable(self, now: float) -> bool:
        """Whether the connection is about to be closed, or has received more than one response."""
        if self.should_close or now > self._keep_alive_until:
            return True
        try:
            return self._parser is not None and self._parser.feed_eof() is not None
        except HttpProcessingError:
            return True

    def data_received(self, data: bytes) -> None:
        """Receive bytes; beyond a limit, and after a complete response, the connection is closed."""
        while self._timeline is not None and data:
            data = self._feed_head(data, self._timeline)
            if not data or self._exception is not None:
                return
        body = self._body
        if body is None or not data:
            super().data_received(data)
            return
        if body.is_eof():
            self._abort(None)  # it is kept for a later request, which this cannot answer
            return
        super().data_received(data)
        self._raw_bytes += len(data)
        if self._raw_bytes - body.total_bytes > MAX_FRAMING_BYTES + _FRAMING_RATIO * body.total_bytes:
            self._abort(FetchFailure(ErrorClass.BAD_FRAMING, "more chunk framing than content"))

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Receive a parsed head; the number of 1xx responses is limited."""
        status = data[0].code
        if status < _LOWEST_STATUS:
            self._fail(ErrorClass.BAD_STATUS_LINE, f"status {status:03}")
            return
        if status >= 200 or status == 101:  # noqa: PLR2004  # HTTP's own numbers
            keep_alive = data[0].headers.get(hdrs.KEEP_ALIVE)
            if keep_alive is not None and self._timeline is not None:
                self._keep_alive_until = self._timeline.now() + _keep_alive_seconds(keep_alive)
            self._timeline, self._body = None, data[1]
        else:
            self._informational += 1
            if self._informational > MAX_INFORMATIONAL_RESPONSES:
                self._fail(
                    ErrorClass.TOO_MANY_INFORMATIONAL,
                    f"more than {MAX_INFORMATIONAL_RESPONSES} responses of 1xx",
                )
                return
        super().feed_data(data, size)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """Record that the connection has failed, also for the reader of a body."""
        if cause and isinstance(cause[0], Exception):
            # The cause is more specific; the library reports it only to the reader of a head.
            exc.__cause__ = cause[0]
        super().set_exception(exc, *cause)
        body = self._body
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(exc, *cause)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Record whether the connection was lost within a body."""
        if isinstance(exc, OSError) and self._body is not None and not self._body.is_eof():
            self.truncated_by = exc
        super().connection_lost(exc)

    def pause_reading(self) -> None:
        """Pause the sender; too many pauses for tiny chunks close the connection."""
        super().pause_reading()
        body = self._body
        if body is None:
            return
        received_bytes = body.total_bytes - self._paused_at_bytes
        self._paused_at_bytes = body.total_bytes
        self._tiny_chunk_pauses += received_bytes < READ_BUFFER_BYTES
        if self._tiny_chunk_pauses == MAX_TINY_CHUNK_PAUSES:
            failure = FetchFailure(ErrorClass.BAD_FRAMING, "endless chunks of a few bytes each")
            self._loop.call_soon(self._abort, failure)  # the parser is running now

    def _feed_head(self, data: bytes, timeline: RequestTimeline) -> bytes:
        """Pass a head to the parser, as far as it was received; returns the bytes behind it.

        The parser drops a head if something behind it is invalid, and a response without a body would then
        succeed or fail by how its packets are split.
        """
        if not timeline.first_byte_at:
            timeline.first_byte_at = timeline.now()
        end = self._head_length(data)
        self._head_bytes += end
        super().data_received(data[:end])
        if self._timeline is not None and self._head_bytes > MAX_HEAD_BYTES:
            self._fail(ErrorClass.HEAD_TOO_LARGE, f"the head has more than {MAX_HEAD_BYTES} bytes")
        return data[end:]

    def _head_length(self, data: bytes) -> int:
        """Return how many bytes belong to the head that is being read."""
        pending = self._overlap + data
        start = len(pending) - len(pending.lstrip(b"\r\n")) if pending[0] in b"\r\n" else 0
        at, length = pending.find(b"\r\n\r\n", start), 4
        if at < 0:
            at, length = pending.find(b"\n\n", start), 2
        if at < 0:
            self._overlap = pending[-_OVERLAP_BYTES:]
            return len(data)
        end = at + length - len(self._overlap)
        self._overlap = b""
        return end

    def _fail(self, error: ErrorClass, message: str) -> None:
        timeline, self._timeline = self._timeline, None
        self._abort(timeline.fail(error, message) if timeline is not None else None)

    def _abort(self, failure: FetchFailure | None) -> None:
        if failure is not None:
            self.set_exception(failure)
        self.force_close()
        if self.transport is not None:
            self.transport.abort()


def _keep_alive_seconds(header: str) -> float:
    """Return for how many seconds a server keeps a connection; infinite if not stated."""
    found = _KEEP_ALIVE_TIMEOUT.search(header)
    return inf if found is None else max(0.0, float(found[1]) - _KEEP_ALIVE_MARGIN_SECONDS)

"""What comes on a connection, up to aiohttp's parser: heads by themselves, and nothing that nobody asked for.

A head without end is no head; what is wrong behind one does not unsay it; what comes on a connection that
is kept is nobody's answer, least of all that of the next request. Decides nothing about an answer but how
large its head and its framing may be.
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
"""The whole head, 1xx answers included."""
MAX_INFORMATIONAL_RESPONSES: Final = 20
READ_BUFFER_BYTES: Final = 32 * 1024
"""Twice this is buffered of a body before its sender has to wait."""
MAX_CRUMBS: Final = 10
"""Times that a sender may have to wait for the number of its chunks and not for their size: chunks of a few
bytes are read at a hundredth of the usual pace, and these are more than ten thousand of them."""
MAX_FRAMING_BYTES: Final = 1024 * 1024
"""Of sizes, extensions and trailers of chunks, besides eight times what they frame."""

_FRAMING_RATIO: Final = 8
_LOWEST_STATUS: Final = 100
_OVERLAP_BYTES: Final = 4
"""What is kept of a part of a head, so that an end is found that comes in two parts."""
_KEPT: Final = re.compile(r"(?:^|[\s,;])timeout\s*=\s*\"?([0-9]{1,6})", re.IGNORECASE)
_KEEP_ALIVE_MARGIN_SECONDS: Final = 1.0
"""So much sooner than its server a connection is given up: a word on its way is not heard any more."""


class Wire(ResponseHandler):
    """A connection that knows whether an answer has begun, and when it is over."""

    is_forward_proxy = False
    """Whether a proxy at its other end reads what is asked, and asks the site itself."""
    _timeline: RequestTimeline | None = None
    """Whose head is to come."""
    _head_bytes = 0
    _overlap = b""
    _informational = 0
    _body: StreamReader | None = None
    """Of the latest answer."""
    _raw_bytes = 0
    """What has come behind its head, framing and all."""
    _paused_at_bytes = 0
    """How much of the body had come when its sender had to wait last."""
    _crumbs = 0
    _keep_alive_until = inf
    """When its server closes it, by its own word: what is said then may be lost on the way."""
    truncated_by: OSError | None = None
    """What ended the connection in the middle of the latest body: one without a length ends with it."""

    def expect_response(self, exchange: RequestTimeline) -> None:
        """Watch the next answer."""
        self._timeline, self._body, self._overlap = exchange, None, b""
        self._head_bytes = self._informational = 0
        self.truncated_by, self._keep_alive_until = None, inf
        self._raw_bytes = self._paused_at_bytes = self._crumbs = 0

    def is_unusable(self, now: float) -> bool:
        """Say whether it is about to be closed, or more has come than one answer: whose would it be?"""
        if self.should_close or now > self._keep_alive_until:
            return True
        try:
            return self._parser is not None and self._parser.feed_eof() is not None
        except HttpProcessingError:
            return True

    def data_received(self, data: bytes) -> None:
        """Take bytes; beyond a limit, and behind an answer, they end the connection."""
        while self._timeline is not None and data:
            data = self._feed_head(data, self._timeline)
            if not data or self._exception is not None:
                return
        body = self._body
        if body is None or not data:
            super().data_received(data)
            return
        if body.is_eof():
            self._end(None)  # it is kept for the next request, of which nobody knows yet
            return
        super().data_received(data)
        self._raw_bytes += len(data)
        if self._raw_bytes - body.total_bytes > MAX_FRAMING_BYTES + _FRAMING_RATIO * body.total_bytes:
            self._end(FetchFailure(ErrorClass.BAD_FRAMING, "more framing of chunks than there is in them"))

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take a parsed head; only so many may say that the answer is still to come."""
        status = data[0].code
        if status < _LOWEST_STATUS:
            self._refuse(ErrorClass.BAD_STATUS_LINE, f"status {status:03}")
            return
        if status >= 200 or status == 101:  # noqa: PLR2004  # HTTP's own numbers
            told = data[0].headers.get(hdrs.KEEP_ALIVE)
            if told is not None and self._timeline is not None:
                self._keep_alive_until = self._timeline.now() + _keep_alive_seconds(told)
            self._timeline, self._body = None, data[1]
        else:
            self._informational += 1
            if self._informational > MAX_INFORMATIONAL_RESPONSES:
                self._refuse(
                    ErrorClass.TOO_MANY_INFORMATIONAL,
                    f"more than {MAX_INFORMATIONAL_RESPONSES} answers of 1xx",
                )
                return
        super().feed_data(data, size)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """Note that the connection has failed; whoever reads a body of it must hear so too."""
        if cause and isinstance(cause[0], Exception):
            # It tells more; the library only has it told to whoever waits for a head.
            exc.__cause__ = cause[0]
        super().set_exception(exc, *cause)
        body = self._body
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(exc, *cause)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Note whether the end was in the middle of something."""
        if isinstance(exc, OSError) and self._body is not None and not self._body.is_eof():
            self.truncated_by = exc
        super().connection_lost(exc)

    def pause_reading(self) -> None:
        """Have the sender wait, which it has to for much that is unread, or for many chunks."""
        super().pause_reading()
        body = self._body
        if body is None:
            return
        come_bytes = body.total_bytes - self._paused_at_bytes
        self._paused_at_bytes = body.total_bytes
        self._crumbs += come_bytes < READ_BUFFER_BYTES
        if self._crumbs == MAX_CRUMBS:
            failure = FetchFailure(ErrorClass.BAD_FRAMING, "chunks of a few bytes each, without end")
            self._loop.call_soon(self._end, failure)  # the parser is at work now

    def _feed_head(self, data: bytes, exchange: RequestTimeline) -> bytes:
        """Have a head parsed, as far as it has come; gives what stands behind it.

        The parser tells of no head in whose company something is wrong, and an answer without a body
        would fail or not as its packets come.
        """
        if not exchange.first_byte_at:
            exchange.first_byte_at = exchange.now()
        end = self._head_length(data)
        self._head_bytes += end
        super().data_received(data[:end])
        if self._timeline is not None and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(ErrorClass.HEAD_TOO_LARGE, f"a head of more than {MAX_HEAD_BYTES} bytes")
        return data[end:]

    def _head_length(self, data: bytes) -> int:
        """Say how much belongs to the head that is being read."""
        come = self._overlap + data
        begins = len(come) - len(come.lstrip(b"\r\n")) if come[0] in b"\r\n" else 0
        at, length = come.find(b"\r\n\r\n", begins), 4
        if at < 0:
            at, length = come.find(b"\n\n", begins), 2
        if at < 0:
            self._overlap = come[-_OVERLAP_BYTES:]
            return len(data)
        end = at + length - len(self._overlap)
        self._overlap = b""
        return end

    def _refuse(self, error: ErrorClass, message: str) -> None:
        exchange, self._timeline = self._timeline, None
        self._end(exchange.refuse(error, message) if exchange is not None else None)

    def _end(self, failure: FetchFailure | None) -> None:
        if failure is not None:
            self.set_exception(failure)
        self.force_close()
        if self.transport is not None:
            self.transport.abort()


def _keep_alive_seconds(keep_alive: str) -> float:
    """Read for how long a server keeps a connection, counted from its answer."""
    found = _KEPT.search(keep_alive)
    return inf if found is None else max(0.0, float(found[1]) - _KEEP_ALIVE_MARGIN_SECONDS)

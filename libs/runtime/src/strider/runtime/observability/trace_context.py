"""The trace that is being worked on: a W3C `traceparent` carried along as the bytes that came.

Knows the header's format and nothing of spans: reading it and handing it on costs about a
microsecond, and that is all that happens for the messages that are not sampled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

from strider.messaging.ports import Header

TRACEPARENT: Final = "traceparent"

_FORMAT = re.compile(
    rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[^\s]*)?"
)
_SAMPLED_BIT: Final = 1

current_traceparent: ContextVar[bytes | None] = ContextVar("current_traceparent", default=None)
"""The trace of the message in hand; what is said because of it carries it on."""


def traceparent_of(headers: Iterable[Header]) -> bytes | None:
    """Find a well-formed traceparent; a broken one counts as none, as the standard says."""
    for name, value in headers:
        if name == TRACEPARENT:
            return value if value is not None and _FORMAT.fullmatch(value) else None
    return None


def is_sampled(traceparent: bytes) -> bool:
    """Whether whoever began the trace wants it recorded."""
    return bool(int(traceparent[53:55], 16) & _SAMPLED_BIT)


def current_trace_id() -> str | None:
    """Trace id of the message in hand, for log lines and dead letters."""
    traceparent = current_traceparent.get()
    return None if traceparent is None else traceparent[3:35].decode("ascii")

"""Message traces: one trace for one URL through every topic.

A message's `traceparent` is passed on as it came; a span object exists only where its sampled bit is set and
a collector is named. A message without one begins a trace, sampled at random.
"""

from __future__ import annotations

import random
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from strider.messaging.ports import Header, Record

if TYPE_CHECKING:
    from .span_export import SpanRecorder

TRACEPARENT: Final = "traceparent"

_FORMAT = re.compile(
    rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[^\s]*)?"
)
_SAMPLED_BIT: Final = 1

current_traceparent: ContextVar[bytes | None] = ContextVar("current_traceparent", default=None)
"""Trace of the message in flight; events published because of it carry it on."""

CLOSE_TIMEOUT_SECONDS: Final = 3.0
"""How long stopping may wait for the collector to take the last spans."""

_UNSAMPLED: Final = b"00"

_SAMPLED: Final = b"01"


def traceparent_of(headers: Iterable[Header]) -> bytes | None:
    """Return a well-formed traceparent; a broken one counts as none, as the standard says."""
    for name, value in headers:
        if name == TRACEPARENT:
            return value if value is not None and _FORMAT.fullmatch(value) else None
    return None


def is_sampled(traceparent: bytes) -> bool:
    """Whether the origin of the trace wants it recorded."""
    return bool(int(traceparent[53:55], 16) & _SAMPLED_BIT)


def current_trace_id() -> str | None:
    """Return the trace id of the message in flight, for log lines and dead letters."""
    traceparent = current_traceparent.get()
    return None if traceparent is None else traceparent[3:35].decode("ascii")


class MessageTracer:
    """Makes the trace of a message current while it is handled, and begins new traces."""

    def __init__(self, *, sample: float, recorder: SpanRecorder | None = None) -> None:
        self._recorder = recorder
        self._sample = 0.0 if recorder is None else sample
        self._random = random.Random(secrets.randbits(64))  # noqa: S311  # ids, unlike in each process

    @contextmanager
    def handling(self, record: Record, *, group: str = "") -> Iterator[None]:
        """Make the record's trace current while it is handled; record it where it is sampled."""
        arrived = traceparent_of(record.headers) or self._new_traceparent()
        if self._recorder is not None and is_sampled(arrived):
            with self._recorder.span(record, arrived, group):
                yield
            return
        token = current_traceparent.set(arrived)
        try:
            yield
        finally:
            current_traceparent.reset(token)

    def headers(self) -> tuple[Header, ...]:
        """Return the headers of events published now, so that their readers continue the trace."""
        current = current_traceparent.get()
        return () if current is None else ((TRACEPARENT, current),)

    def close(self, timeout_seconds: float = CLOSE_TIMEOUT_SECONDS) -> None:
        """Export what waits and stop; blocks as long as the collector takes, within the timeout."""
        if self._recorder is not None:
            self._recorder.close(timeout_seconds)

    def _new_traceparent(self) -> bytes:
        flags = _SAMPLED if self._sample and self._random.random() < self._sample else _UNSAMPLED
        return b"00-%032x-%016x-%s" % (
            self._random.getrandbits(128) or 1,
            self._random.getrandbits(64) or 1,
            flags,
        )


def open_tracer(
    service: str, *, endpoint: str, sample: float, on_lost: Callable[[int], None] = lambda _spans: None
) -> MessageTracer:
    """Return the tracer of a process; without a collector's address nothing is recorded."""
    if not endpoint:
        return MessageTracer(sample=sample)
    from .span_export import SpanRecorder, otlp_exporter  # noqa: PLC0415  # only who exports pays for it

    return MessageTracer(
        sample=sample, recorder=SpanRecorder(service, otlp_exporter(endpoint), on_lost=on_lost)
    )

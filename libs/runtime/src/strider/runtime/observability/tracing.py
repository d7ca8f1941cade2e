"""One trace for one URL's life, through every topic, at almost no cost for the rest.

A message's `traceparent` is carried on as it came; only where its sampled bit is set, and a
collector is named, does a span object exist at all. A message without one begins a trace, and
chance decides whether it is sampled.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol

from strider.messaging.ports import Header, Record

from .trace_context import TRACEPARENT, current_traceparent, is_sampled, traceparent_of

CLOSE_TIMEOUT_SECONDS: Final = 3.0
"""How long stopping may wait for the collector to take the last spans."""

_UNSAMPLED: Final = b"00"
_SAMPLED: Final = b"01"


class TraceRecorder(Protocol):
    """Who makes spans."""

    def span(self, record: Record, arrived: bytes, group: str) -> AbstractContextManager[None]:
        """Record what happens to a message, and make its span the current trace meanwhile."""

    def close(self, timeout_seconds: float) -> None:
        """Send what waits and stop."""


class MessageTracer:
    """The traces that pass through this process."""

    def __init__(self, *, sample: float, recorder: TraceRecorder | None = None) -> None:
        self._recorder = recorder
        self._sample = 0.0 if recorder is None else sample
        self._random = random.Random(secrets.randbits(64))  # noqa: S311  # ids, unlike in each process

    @contextmanager
    def handling(self, record: Record, *, group: str = "") -> Iterator[None]:
        """Make the record's trace the current one while it is worked on, recorded where it is sampled."""
        arrived = traceparent_of(record.headers) or self._begin()
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
        """Give what a message that is said now must carry, so that its reader goes on with the trace."""
        current = current_traceparent.get()
        return () if current is None else ((TRACEPARENT, current),)

    def close(self, timeout_seconds: float = CLOSE_TIMEOUT_SECONDS) -> None:
        """Send what waits and stop; blocks as long as the collector takes, within its time."""
        if self._recorder is not None:
            self._recorder.close(timeout_seconds)

    def _begin(self) -> bytes:
        flags = _SAMPLED if self._sample and self._random.random() < self._sample else _UNSAMPLED
        return b"00-%032x-%016x-%s" % (
            self._random.getrandbits(128) or 1,
            self._random.getrandbits(64) or 1,
            flags,
        )


def open_tracer(
    service: str, *, endpoint: str, sample: float, on_lost: Callable[[int], None] = lambda _spans: None
) -> MessageTracer:
    """Make the traces of a process; without a collector's address nothing is recorded."""
    if not endpoint:
        return MessageTracer(sample=sample)
    from .span_export import SpanRecorder, otlp_exporter  # noqa: PLC0415  # only who exports pays for it

    return MessageTracer(
        sample=sample, recorder=SpanRecorder(service, otlp_exporter(endpoint), on_lost=on_lost)
    )

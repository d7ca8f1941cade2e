"""Spans of sampled messages, exported to a collector.

Imported only where a collector is named: the SDK and its exporter cost every other process a second of start
and some megabytes. A collector that is down costs its spans and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from strider.messaging.ports import Record
from strider.runtime.observability import log_events
from strider.runtime.observability.tracing import current_traceparent

from .logging import logger

EXPORT_TIMEOUT_SECONDS: Final = 3.0
"""How long the collector may take for one batch; also bounds how long stopping waits for it."""
MAX_QUEUED_SPANS: Final = 2048
"""Spans that may wait for the collector; further ones are dropped."""

_log = logger("tracing")


class SpanRecorder:
    """Makes a span of each sampled message, and exports spans in batches, on a thread of its own."""

    def __init__(
        self, service: str, exporter: SpanExporter, *, on_lost: Callable[[int], None] = lambda _spans: None
    ) -> None:
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,  # every message that reaches this was sampled already
            resource=Resource({"service.name": service}),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(LossReportingExporter(exporter, on_lost), max_queue_size=MAX_QUEUED_SPANS)
        )
        self._tracer = self._provider.get_tracer("strider")

    @contextmanager
    def span(self, record: Record, arrived: bytes, group: str) -> Iterator[None]:
        """Record the handling of a message as a child of the span that it came from."""
        parent = SpanContext(
            int(arrived[3:35], 16), int(arrived[36:52], 16), is_remote=True, trace_flags=TraceFlags(1)
        )
        span = self._tracer.start_span(
            f"process {record.topic}",
            context=trace.set_span_in_context(NonRecordingSpan(parent)),
            kind=SpanKind.CONSUMER,
            attributes={
                "messaging.system": "kafka",
                "messaging.operation.type": "process",
                "messaging.destination.name": record.topic,
                "messaging.destination.partition.id": str(record.partition),
                "messaging.kafka.offset": record.offset,
                "messaging.consumer.group.name": group,
            },
        )
        token = current_traceparent.set(_traceparent(span))
        try:
            yield
        except BaseException as error:
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise
        finally:
            current_traceparent.reset(token)
            span.end()

    def close(self, timeout_seconds: float) -> None:
        """Export what waits and stop; blocks as long as the collector takes, within the timeout."""
        self._provider.force_flush(round(timeout_seconds * 1000))
        self._provider.shutdown()


def _traceparent(span: Span) -> bytes:
    context = span.get_span_context()
    return b"00-%032x-%016x-%s" % (context.trace_id, context.span_id, b"01")


class LossReportingExporter(SpanExporter):
    """Exporter that logs once that the collector is gone and once that it is back, and counts in between."""

    def __init__(self, inner: SpanExporter, on_lost: Callable[[int], None]) -> None:
        self._inner = inner
        self._on_lost = on_lost
        self._is_down = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export a batch; spans that the collector does not take are lost, and nothing else is."""
        try:
            result = self._inner.export(spans)
            why = "the collector refused or did not respond"
        except Exception as error:  # noqa: BLE001  # an exporter's bug must not reach the crawl either
            result, why = SpanExportResult.FAILURE, repr(error)
        is_down = result is not SpanExportResult.SUCCESS
        if is_down:
            self._on_lost(len(spans))
        if is_down and not self._is_down:
            _log.emit(log_events.TRACES_LOST, why=why, spans=len(spans))
        elif self._is_down and not is_down:
            _log.emit(log_events.TRACE_EXPORT_RECOVERED)
        self._is_down = is_down
        return result

    def shutdown(self) -> None:
        """Stop the inner exporter."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush the inner exporter; nothing waits here, since the queue stands before it."""
        return self._inner.force_flush(timeout_millis)


def otlp_exporter(endpoint: str) -> SpanExporter:
    """Return the exporter to a collector: OTLP over HTTP, at the standard path below the endpoint."""
    return OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces", timeout=EXPORT_TIMEOUT_SECONDS)

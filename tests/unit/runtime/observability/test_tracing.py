"""Traces: carried on as they came, recorded where they are sampled, harmless without a collector."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import structlog
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs

from strider.messaging.ports import Header
from strider.runtime.observability import log_events
from strider.runtime.observability.span_export import LossReportingExporter, SpanRecorder
from strider.runtime.observability.tracing import MessageTracer, current_trace_id, is_sampled, traceparent_of

TRACE = "0af7651916cd43dd8448eb211c80319c"
SAMPLED = f"00-{TRACE}-b7ad6b7169203331-01".encode()
UNSAMPLED = f"00-{TRACE}-b7ad6b7169203331-00".encode()


@dataclass(frozen=True, slots=True)
class Message:
    """A record of which only the headers matter."""

    headers: Sequence[Header] = ()
    topic: str = "echoes"
    partition: int = 3
    offset: int = 41
    timestamp: int = 0
    key: bytes | None = None
    value: bytes | None = None


class Failing(SpanExporter):
    """A collector that is down until it is up."""

    def __init__(self) -> None:
        self.is_down = True

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.is_down:
            raise ConnectionError
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing to stop."""


@pytest.mark.parametrize(
    ("value", "is_found"),
    [
        pytest.param(SAMPLED, True, id="plain"),
        pytest.param(b"01" + SAMPLED[2:] + b"-extra", True, id="a-later-version"),
        pytest.param(b"ff" + SAMPLED[2:], False, id="the-forbidden-version"),
        pytest.param(SAMPLED.upper(), False, id="upper-case"),
        pytest.param(b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01", False, id="zero-trace"),
        pytest.param(b"00-" + TRACE.encode() + b"-" + b"0" * 16 + b"-01", False, id="zero-span"),
        pytest.param(SAMPLED[:-1], False, id="truncated"),
        pytest.param(b"", False, id="empty"),
        pytest.param(None, False, id="null"),
        pytest.param(SAMPLED * 10_000, False, id="huge"),
    ],
)
def test_only_a_well_formed_traceparent_counts(value: bytes, is_found: bool) -> None:
    """What comes from strangers must not be handed on as if it were ours."""
    assert traceparent_of([("other", b"x"), ("traceparent", value)]) == (value if is_found else None)


def test_a_trace_that_is_not_sampled_is_handed_on_as_it_came() -> None:
    exporter = InMemorySpanExporter()
    traces = MessageTracer(sample=1.0, recorder=SpanRecorder("echo", exporter))

    with traces.handling(Message([("traceparent", UNSAMPLED)])):
        said = traces.headers()
    traces.close()

    assert said == (("traceparent", UNSAMPLED),)
    assert exporter.get_finished_spans() == ()


def test_a_sampled_trace_is_recorded_and_continued() -> None:
    """One trace is one URL's life: each hop is a span below the one before."""
    exporter = InMemorySpanExporter()
    traces = MessageTracer(sample=0.0, recorder=SpanRecorder("tally", exporter))

    with traces.handling(Message([("traceparent", SAMPLED)]), group="tally"):
        ((_, said),) = traces.headers()
        trace_id = current_trace_id()
    traces._recorder._provider.force_flush()  # before close, which empties the exporter's memory
    (span,) = exporter.get_finished_spans()
    traces.close()

    assert trace_id == TRACE
    assert is_sampled(said)
    assert said[3:35] == TRACE.encode()
    assert said[36:52].decode() == f"{span.context.span_id:016x}" != "b7ad6b7169203331"
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
    assert span.name == "process echoes"
    assert dict(span.attributes) == {
        "messaging.system": "kafka",
        "messaging.operation.type": "process",
        "messaging.destination.name": "echoes",
        "messaging.destination.partition.id": "3",
        "messaging.kafka.offset": 41,
        "messaging.consumer.group.name": "tally",
    }


def test_the_trace_ends_with_the_message() -> None:
    traces = MessageTracer(sample=0.0)

    with traces.handling(Message([("traceparent", UNSAMPLED)])):
        pass

    assert traces.headers() == ()
    assert current_trace_id() is None


def test_a_failing_handler_ends_its_span_with_an_error() -> None:
    exporter = InMemorySpanExporter()
    traces = MessageTracer(sample=0.0, recorder=SpanRecorder("echo", exporter))

    with pytest.raises(ZeroDivisionError), traces.handling(Message([("traceparent", SAMPLED)])):
        _ = 1 / 0
    traces._recorder._provider.force_flush()

    (span,) = exporter.get_finished_spans()
    assert (span.status.status_code.name, span.status.description) == ("ERROR", "ZeroDivisionError")
    assert current_trace_id() is None


def test_a_message_without_a_trace_begins_one() -> None:
    """Also unsampled: log lines of all services can then be put together."""
    traces = MessageTracer(sample=0.0)

    began = []
    for _ in range(2):
        with traces.handling(Message()):
            ((_, said),) = traces.headers()
            began.append(said)

    assert all(traceparent_of([("traceparent", said)]) for said in began)
    assert began[0] != began[1]


def test_about_as_many_traces_are_sampled_as_was_set() -> None:
    traces = MessageTracer(sample=0.2, recorder=SpanRecorder("echo", InMemorySpanExporter()))
    traces._random = random.Random(4)

    sampled = sum(is_sampled(traces._new_traceparent()) for _ in range(2000))
    traces.close()

    assert 340 < sampled < 460


def test_nothing_is_sampled_without_a_collector() -> None:
    assert not is_sampled(MessageTracer(sample=1.0)._new_traceparent())


def test_a_collector_that_is_down_is_logged_once_and_counted() -> None:
    """Telemetry must not fill the log in which a person looks for the real fault."""
    structlog.reset_defaults()
    lost: list[int] = []
    inner = Failing()
    exporter = LossReportingExporter(inner, lost.append)

    with capture_logs() as lines:
        results = [exporter.export([object()] * 2) for _ in range(3)]
        inner.is_down = False
        results.append(exporter.export([object()]))

    assert [result.name for result in results] == ["FAILURE", "FAILURE", "FAILURE", "SUCCESS"]
    assert sum(lost) == 6
    assert [line["event"] for line in lines] == [
        log_events.TRACES_LOST.text,
        log_events.TRACE_EXPORT_RECOVERED.text,
    ]


def test_more_spans_than_the_queue_holds_are_dropped_without_waiting() -> None:
    """A burst while the collector is down must neither block nor grow."""
    traces = MessageTracer(sample=0.0, recorder=SpanRecorder("echo", Failing()))

    for _ in range(5000):
        with traces.handling(Message([("traceparent", SAMPLED)])):
            pass
    traces.close(timeout_seconds=0.1)

    assert current_trace_id() is None

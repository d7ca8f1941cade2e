"""Traces on their way to a collector, and the collector being down."""

from __future__ import annotations

import asyncio
import socket

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from strider.contracts.generated.topics import ECHO_REQUESTS, ECHOES
from strider.echo.__main__ import build as build_echo
from strider.echo.settings import EchoSettings
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.ports import TopicPartition
from strider.runtime.clocks import SystemClock
from strider.runtime.observability import log_events
from strider.runtime.process.exit_codes import ExitCode

from .echo_requests import echoes, send_requests
from .in_process_service import a_broker, eventually, run_in_process


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


async def traceparents(broker: InProcessBroker) -> set[str]:
    """Read the trace that each echo carries on."""
    reader = await InProcessBus(broker).reader([TopicPartition(ECHOES.name, n) for n in range(4)])
    found = await reader.poll(max_records=100, timeout_seconds=0)
    return {dict(record.headers)["traceparent"].decode() for records in found.values() for record in records}


async def test_sampled_spans_reach_the_collector_and_the_trace_continues() -> None:
    taken: list[ExportTraceServiceRequest] = []

    async def take(request: web.Request) -> web.Response:
        taken.append(ExportTraceServiceRequest.FromString(await request.read()))
        return web.Response()

    app = web.Application()
    app.router.add_post("/v1/traces", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{runner.addresses[0][1]}",
        "STRIDER_TRACE_SAMPLE": "1",
    }
    broker = a_broker()
    async with run_in_process(EchoSettings, build_echo, broker, environ) as process:
        await send_requests(broker, "hello")
        (carried,) = await eventually(lambda: traceparents(broker))
        process.life.request_exit(ExitCode.OK)
        await process.code()
    await runner.cleanup()

    spans = [
        s
        for sent in taken
        for resource in sent.resource_spans
        for scope in resource.scope_spans
        for s in scope.spans
    ]
    (span,) = spans
    assert span.name == f"process {ECHO_REQUESTS.name}"
    assert carried == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"


@pytest.mark.fault("F32")
async def test_a_collector_that_is_down_changes_nothing() -> None:
    """One line, a counter, and the crawl continues at its speed; stopping does not wait for it either."""
    broker = a_broker()
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{closed_port()}",
        "STRIDER_TRACE_SAMPLE": "1",
    }
    async with run_in_process(EchoSettings, build_echo, broker, environ) as process:
        await send_requests(broker, *["hello"] * 200)

        async def all_answered() -> bool:
            return len(await echoes(broker)) == 200

        await eventually(all_answered)
        clock = SystemClock()
        began = clock.monotonic()
        process.life.request_exit(ExitCode.OK)
        code = await process.code()
        took = clock.monotonic() - began
        await asyncio.sleep(0)
        metrics = process.start._metrics.render().decode()

    assert code == ExitCode.OK
    assert took < 10
    assert len(process.lines_of(log_events.TRACES_LOST.text)) == 1
    assert "strider_spans_lost_total 200.0" in metrics
    assert not [line for line in process.lines if line["level"] in {"error", "critical"}]

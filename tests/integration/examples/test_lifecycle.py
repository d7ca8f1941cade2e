"""A process from its first phase to its exit code, with a real event loop, socket and signals."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from strider.contracts.generated.events import EchoRequested
from strider.contracts.generated.topics import ECHO_REQUESTS, SCHEMAS
from strider.echo.__main__ import build as build_echo
from strider.echo.settings import EchoSettings
from strider.messaging.effects import Effects, Subscription
from strider.messaging.errors import Unavailable
from strider.messaging.inprocess import InProcessBroker, InProcessBus
from strider.messaging.log_events import LogEvent
from strider.messaging.ports import TopicPartition
from strider.runtime.observability import log_events
from strider.runtime.observability.job_logs import JobLogLine
from strider.runtime.observability.logging import log_context, logger
from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.process.health import Dependency
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume
from strider.tally.__main__ import build as build_tally
from strider.tally.settings import TallySettings

from .echo_requests import CODEC, HangingHandler, echoes, send_requests, with_echo
from .in_process_service import InProcessService, a_broker, eventually, run_in_process


@pytest.mark.req("S1.2.1", "S1.3.2", "S1.3.9", "S3.14.7")
@pytest.mark.req("S1.3.8", part="the server of health and metrics is a phase of the start")
@pytest.mark.req("S4.4.1", part="metrics of a process")
async def test_a_process_starts_in_phases_works_and_stops_in_order() -> None:
    broker = a_broker()
    async with run_in_process(EchoSettings, build_echo, broker) as process:
        await send_requests(broker, "hello", "")
        await eventually(lambda: ready(process))
        found = await eventually(lambda: echoes(broker))
        live, metrics = await process.get("/livez"), await process.get("/metrics")
        os.kill(os.getpid(), signal.SIGTERM)
        code = await process.code()

    assert code == ExitCode.OK
    assert sorted(found) == ["echoed", "refused_empty"]
    assert live.text == "alive\n"
    assert 'strider_messages_total{outcome="echoed",topic="echo-requests"} 1.0' in metrics.text
    assert 'crawler_active_workers{group="echo"}' in metrics.text
    assert f'strider_build_info{{service="echo",version="{process.lines[0]["version"]}"}} 1.0' in metrics.text
    phases = [
        (line["phase"], line["seconds"] >= 0)
        for line in process.lines_of(log_events.STARTUP_PHASE_COMPLETED.text)
    ]
    assert phases == [
        (name, True) for name in ("logs", "telemetry", "health", "adapters", "checks", "consumers")
    ]
    assert all(line["service"] == "echo" for line in process.lines)
    assert process.lines_of(log_events.SERVICE_STOPPED.text)[0]["code"] == 0


async def ready(process: InProcessService) -> bool:
    return (await process.get("/readyz")).status_code == 200


async def test_schemas_are_declared_before_the_first_message() -> None:
    broker = a_broker()
    async with run_in_process(EchoSettings, build_echo, broker) as process:
        await process.wait_for_event(log_events.SERVICE_RUNNING.text)
        reader = await InProcessBus(broker).reader([TopicPartition(SCHEMAS.name, 0)])
        ((_, records),) = (await reader.poll(max_records=100, timeout_seconds=0)).items()

    names = {CODEC.decode(SCHEMAS, record.value, record.headers).name for record in records}
    assert names == {"dead-letter.v1", "echoed.v1", "schema-declared.v1"}


@pytest.mark.req("S1.3.3", part="a start waits for its database")
async def test_a_start_during_an_outage_waits_and_reports_for_what() -> None:
    """Parts start in any order; a crash loop would only make more noise."""
    broker, steps = a_broker(), []
    broker.set_unavailable("connection refused")

    async def connect() -> None:
        steps.append("connect")
        if len(steps) < 2:
            raise Unavailable("postgres", "the database system is starting up")

    async def ping() -> None:
        steps.append("ping")

    dependency = Dependency("postgres", ping)

    def build(process: ServiceContext[EchoSettings]) -> ServiceDefinition:
        return with_echo(process, connect=(connect,), dependencies=(dependency,))

    async with run_in_process(EchoSettings, build, broker) as process:
        answer = await eventually(lambda: waits_for(process, "kafka: connection refused"))
        broker.set_available()
        await eventually(lambda: ready(process))
        os.kill(os.getpid(), signal.SIGINT)
        code = await process.code()

    assert "starting: waiting for kafka" in answer["reasons"]
    assert answer["dependencies"]["postgres"]["ok"]
    assert steps[:3] == ["connect", "connect", "ping"]
    assert code == ExitCode.OK


async def waits_for(process: InProcessService, reason: str) -> dict[str, Any] | None:
    answer = await process.get("/readyz")
    assert answer.status_code == 503
    return answer.json() if reason in answer.json()["reasons"] else None


async def test_a_start_can_be_stopped_in_the_middle() -> None:
    broker = a_broker()
    broker.set_unavailable("connection refused")
    async with run_in_process(EchoSettings, build_echo, broker) as process:
        await process.wait_for_event(log_events.DEPENDENCY_AWAITED.text)
        os.kill(os.getpid(), signal.SIGTERM)

        assert await process.code() == ExitCode.OK


async def test_a_wrong_partition_count_refuses_the_start() -> None:
    async with run_in_process(EchoSettings, build_echo, a_broker(shards=6)) as process:
        code = await process.code()

    assert code == ExitCode.REFUSED
    assert (
        "echo-requests has 6 partitions on the broker, but 4 are"
        in process.lines_of(log_events.STARTUP_REFUSED.text)[0]["why"]
    )


async def test_a_taken_port_ends_the_start_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with run_in_process(
            EchoSettings, build_echo, a_broker(), {"STRIDER_HEALTH_PORT": port}
        ) as process:
            code = await process.code()

    assert code == ExitCode.FAILED
    why = process.lines_of(log_events.STARTUP_FAILED.text)[0]["why"]
    assert why.startswith(f"cannot listen on 127.0.0.1:{port}: ")
    assert "STRIDER_HEALTH_PORT" in why


async def test_a_service_that_cannot_be_built_ends_with_the_reason() -> None:
    def build(_process: ServiceContext[EchoSettings]) -> ServiceDefinition:
        raise KeyError("a bug")

    async with run_in_process(EchoSettings, build, a_broker()) as process:
        code = await process.code()

    assert code == ExitCode.FAILED
    assert process.lines_of(log_events.STARTUP_FAILED.text)[0]["exception"][0]["exc_type"] == "KeyError"


@pytest.mark.req("S2.1.14")
async def test_a_task_that_dies_takes_the_process_with_it() -> None:
    """Half a process is worse than none: the platform starts a whole one."""

    async def doomed() -> None:
        raise MemoryError

    def build(process: ServiceContext[EchoSettings]) -> ServiceDefinition:
        return with_echo(process, background=(doomed,))

    async with run_in_process(EchoSettings, build, a_broker()) as process:
        code = await process.code()

    died = process.lines_of(log_events.TASK_DIED.text)[0]
    assert code == ExitCode.FAILED
    assert (died["level"], died["exception"][0]["exc_type"]) == ("critical", "MemoryError")


class Broken:
    """Hooks of a topology with a bug in letting go."""

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        """Be ready at once."""

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        raise KeyError(f"{sorted(shards)} were never here")


async def test_a_consumer_that_dies_while_it_stops_has_not_stopped_in_order() -> None:
    """Exit code 0 promises that everything in flight was finished and committed."""

    def build(process: ServiceContext[TallySettings]) -> ServiceDefinition:
        wiring = build_tally(process)
        reads = wiring.consumers[0].subscriptions
        return replace(wiring, consumers=(consume("tally", *reads, shards=Broken()),))

    async with run_in_process(TallySettings, build, a_broker()) as process:
        await process.wait_for_event(log_events.PARTITIONS_ASSIGNED.text)
        os.kill(os.getpid(), signal.SIGTERM)
        code = await process.code()

    assert code == ExitCode.FAILED
    assert process.lines_of(log_events.TASK_DIED.text)[0]["exception"][0]["exc_type"] == "KeyError"


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, ExitCode.TERMINATED), (signal.SIGINT, ExitCode.INTERRUPTED)],
)
async def test_work_that_exceeds_the_shutdown_time_is_left(number: signal.Signals, code: ExitCode) -> None:
    """It is not committed, so it comes again; and the code shows that the end was not a clean one."""
    broker, hanging = a_broker(), HangingHandler()
    async with run_in_process(EchoSettings, hanging.build, broker, {"STRIDER_GRACE": "3s"}) as process:
        await send_requests(broker, "hello")
        await eventually(hanging.entered.is_set)
        os.kill(os.getpid(), number)
        ended = await process.code()

    assert ended == code
    assert process.lines_of(log_events.MESSAGES_ABANDONED.text)
    assert broker.group("echo").committed[TopicPartition(ECHO_REQUESTS.name, place(broker))] == 0


def place(broker: InProcessBroker) -> int:
    """Find the partition in which the one request stands."""
    logs = broker.topic(ECHO_REQUESTS.name).partitions
    return next(log.partition for log in logs if log.end > 0)


async def test_a_second_signal_ends_at_once() -> None:
    """A person at the terminal presses the keys again."""
    broker, hanging = a_broker(), HangingHandler()
    async with run_in_process(EchoSettings, hanging.build, broker) as process:
        await send_requests(broker, "hello")
        await eventually(hanging.entered.is_set)
        os.kill(os.getpid(), signal.SIGTERM)
        await process.wait_for_event(log_events.SERVICE_STOPPING.text)
        os.kill(os.getpid(), signal.SIGTERM)
        await process.wait_for_event(log_events.SECOND_SIGNAL_RECEIVED.text)

        assert process.exits == [ExitCode.TERMINATED]


@pytest.mark.req("S1.2.27")
async def test_lines_of_a_job_reach_its_log() -> None:
    class Shelf:
        def __init__(self) -> None:
            self.lines: list[JobLogLine] = []

        async def write(self, lines: Sequence[JobLogLine]) -> None:
            self.lines += lines

    broker, shelf = a_broker(), Shelf()

    async def on_request(request: EchoRequested, _record: object) -> Effects:
        with log_context(job_id="j1"):
            logger("echo").emit(LogEvent("Asked", "info", "A request."), request=request.request_id)
        return Effects()

    def build(process: ServiceContext[EchoSettings]) -> ServiceDefinition:
        reads = Subscription(ECHO_REQUESTS, handler=on_request)
        return with_echo(process, consumers=(consume("echo", reads),), job_logs=shelf)

    async with run_in_process(EchoSettings, build, broker) as process:
        await send_requests(broker, "hello")
        await eventually(lambda: process.lines_of("Asked"))

    assert [(line.job_id, line.event) for line in shelf.lines] == [("j1", "Asked")]

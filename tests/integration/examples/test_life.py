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
from strider.runtime.effects import Effects, Reads
from strider.runtime.errors import Unavailable
from strider.runtime.exits import ExitCode
from strider.runtime.inprocess import Broker, InProcessBus
from strider.runtime.logs import log_context, logger
from strider.runtime.logs_jobs import JobLogLine
from strider.runtime.ports import TopicPartition
from strider.runtime.readiness import Dependency
from strider.runtime.service import Process, Wiring, consume
from strider.tally.__main__ import build as build_tally
from strider.tally.settings import TallySettings

from .asking import CODEC, Hanging, ask, echoes, with_echo
from .living import Living, a_broker, eventually, living


@pytest.mark.req("S1.2.1", "S1.3.2", "S1.3.9")
@pytest.mark.req("S1.3.8", part="the server of health and metrics is a phase of the start")
@pytest.mark.req("S4.4.1", part="metrics of a process")
async def test_a_process_starts_in_phases_works_and_stops_in_order() -> None:
    broker = a_broker()
    async with living(EchoSettings, build_echo, broker) as process:
        await ask(broker, "hello", "")
        await eventually(lambda: ready(process))
        found = await eventually(lambda: echoes(broker))
        live, metrics = await process.answer("/livez"), await process.answer("/metrics")
        os.kill(os.getpid(), signal.SIGTERM)
        code = await process.code()

    assert code == ExitCode.OK
    assert sorted(found) == ["echoed", "refused_empty"]
    assert live.text == "alive\n"
    assert 'strider_messages_total{outcome="echoed",topic="echo-requests"} 1.0' in metrics.text
    assert f'strider_build_info{{service="echo",version="{process.lines[0]["version"]}"}} 1.0' in metrics.text
    phases = [(line["phase"], line["seconds"] >= 0) for line in process.said("Phase Done")]
    assert phases == [
        (name, True) for name in ("logs", "telemetry", "health", "adapters", "checks", "consumers")
    ]
    assert all(line["service"] == "echo" for line in process.lines)
    assert process.said("Stopped")[0]["code"] == 0


async def ready(process: Living) -> bool:
    return (await process.answer("/readyz")).status_code == 200


async def test_schemas_are_declared_before_the_first_message() -> None:
    broker = a_broker()
    async with living(EchoSettings, build_echo, broker) as process:
        await process.until_said("Running")
        reader = await InProcessBus(broker).reader([TopicPartition(SCHEMAS.name, 0)])
        ((_, records),) = (await reader.poll(max_records=100, timeout_seconds=0)).items()

    names = {CODEC.decode(SCHEMAS, record.value, record.headers).name for record in records}
    assert names == {"dead-letter.v1", "echoed.v1", "schema-declared.v1"}


@pytest.mark.req("S1.3.3", part="a start waits for its database")
async def test_a_start_while_things_are_down_waits_and_says_for_what() -> None:
    """Parts start in any order; a crash loop would only make more noise."""
    broker, steps = a_broker(), []
    broker.fail("connection refused")

    async def connect() -> None:
        steps.append("connect")
        if len(steps) < 2:
            raise Unavailable("postgres", "the database system is starting up")

    async def ping() -> None:
        steps.append("ping")

    dependency = Dependency("postgres", ping)

    def build(process: Process[EchoSettings]) -> Wiring:
        return with_echo(process, connect=(connect,), dependencies=(dependency,))

    async with living(EchoSettings, build, broker) as process:
        answer = await eventually(lambda: waits_for(process, "kafka: connection refused"))
        broker.recover()
        await eventually(lambda: ready(process))
        os.kill(os.getpid(), signal.SIGINT)
        code = await process.code()

    assert "starting: waiting for kafka" in answer["reasons"]
    assert answer["dependencies"]["postgres"]["ok"]
    assert steps[:3] == ["connect", "connect", "ping"]
    assert code == ExitCode.OK


async def waits_for(process: Living, reason: str) -> dict[str, Any] | None:
    answer = await process.answer("/readyz")
    assert answer.status_code == 503
    return answer.json() if reason in answer.json()["reasons"] else None


async def test_a_start_can_be_stopped_in_the_middle() -> None:
    broker = a_broker()
    broker.fail("connection refused")
    async with living(EchoSettings, build_echo, broker) as process:
        await process.until_said("Waiting")
        os.kill(os.getpid(), signal.SIGTERM)

        assert await process.code() == ExitCode.OK


async def test_a_wrong_partition_count_refuses_the_start() -> None:
    async with living(EchoSettings, build_echo, a_broker(shards=6)) as process:
        code = await process.code()

    assert code == ExitCode.REFUSED
    assert (
        "echo-requests has 6 partitions on the broker, but 4 are" in process.said("Start Refused")[0]["why"]
    )


async def test_a_taken_port_ends_the_start_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with living(EchoSettings, build_echo, a_broker(), {"STRIDER_HEALTH_PORT": port}) as process:
            code = await process.code()

    assert code == ExitCode.FAILED
    why = process.said("Start Failed")[0]["why"]
    assert why.startswith(f"cannot listen on 127.0.0.1:{port}: ")
    assert "STRIDER_HEALTH_PORT" in why


async def test_a_service_that_cannot_be_built_ends_with_the_reason() -> None:
    def build(_process: Process[EchoSettings]) -> Wiring:
        raise KeyError("a bug")

    async with living(EchoSettings, build, a_broker()) as process:
        code = await process.code()

    assert code == ExitCode.FAILED
    assert process.said("Start Failed")[0]["exception"][0]["exc_type"] == "KeyError"


@pytest.mark.req("S2.1.14")
async def test_a_task_that_dies_takes_the_process_with_it() -> None:
    """Half a process is worse than none: the platform starts a whole one."""

    async def doomed() -> None:
        raise MemoryError

    def build(process: Process[EchoSettings]) -> Wiring:
        return with_echo(process, background=(doomed,))

    async with living(EchoSettings, build, a_broker()) as process:
        code = await process.code()

    died = process.said("Task Died")[0]
    assert code == ExitCode.FAILED
    assert (died["level"], died["exception"][0]["exc_type"]) == ("critical", "MemoryError")


class Broken:
    """Hooks of a topology with a bug in letting go."""

    async def on_shards_taken(self, shards: frozenset[int]) -> None:
        """Be ready at once."""

    async def on_shards_lost(self, shards: frozenset[int]) -> None:
        raise KeyError(f"{sorted(shards)} were never here")


async def test_a_consumer_that_dies_while_it_stops_has_not_stopped_in_order() -> None:
    """Exit code 0 promises that everything in hand was finished and committed."""

    def build(process: Process[TallySettings]) -> Wiring:
        wiring = build_tally(process)
        reads = wiring.consumes[0].reads
        return replace(wiring, consumes=(consume("tally", *reads, shards=Broken()),))

    async with living(TallySettings, build, a_broker()) as process:
        await process.until_said("Partitions Assigned")
        os.kill(os.getpid(), signal.SIGTERM)
        code = await process.code()

    assert code == ExitCode.FAILED
    assert process.said("Task Died")[0]["exception"][0]["exc_type"] == "KeyError"


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, ExitCode.TERMINATED), (signal.SIGINT, ExitCode.INTERRUPTED)],
)
async def test_work_that_does_not_end_within_the_grace_is_left(
    number: signal.Signals, code: ExitCode
) -> None:
    """It is not committed, so it comes again; and the code says that the end was not a clean one."""
    broker, hanging = a_broker(), Hanging()
    async with living(EchoSettings, hanging.build, broker, {"STRIDER_GRACE": "3s"}) as process:
        await ask(broker, "hello")
        await eventually(hanging.entered.is_set)
        os.kill(os.getpid(), number)
        ended = await process.code()

    assert ended == code
    assert process.said("Messages Abandoned")
    assert broker.group("echo").committed[TopicPartition(ECHO_REQUESTS.name, place(broker))] == 0


def place(broker: Broker) -> int:
    """Find the partition in which the one request stands."""
    logs = broker.topic(ECHO_REQUESTS.name).partitions
    return next(log.partition for log in logs if log.end > 0)


async def test_a_second_signal_ends_at_once() -> None:
    """Somebody stands there and presses the keys again."""
    broker, hanging = a_broker(), Hanging()
    async with living(EchoSettings, hanging.build, broker) as process:
        await ask(broker, "hello")
        await eventually(hanging.entered.is_set)
        os.kill(os.getpid(), signal.SIGTERM)
        await process.until_said("Stopping")
        os.kill(os.getpid(), signal.SIGTERM)
        await process.until_said("Second Signal")

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
            logger("echo").info("Asked", request=request.request_id)
        return Effects()

    def build(process: Process[EchoSettings]) -> Wiring:
        reads = Reads(ECHO_REQUESTS, handler=on_request)
        return with_echo(process, consumes=(consume("echo", reads),), job_logs=shelf)

    async with living(EchoSettings, build, broker) as process:
        await ask(broker, "hello")
        await eventually(lambda: process.said("Asked"))

    assert [(line.job_id, line.event) for line in shelf.lines] == [("j1", "Asked")]

"""The entrance of a process: the command line, the settings, and what is refused."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from strider.contracts.generated.topics import ECHO_REQUESTS, ECHOES, SCHEMAS, TALLIES
from strider.echo.settings import EchoSettings
from strider.messaging.effects import Subscription
from strider.messaging.errors import StartRefused, Unavailable
from strider.messaging.inprocess import EventLoopClock, InProcessBroker, InProcessBus, simulate
from strider.runtime.clocks import SeededRandomness
from strider.runtime.observability import log_events
from strider.runtime.process.exit_codes import ExitCode
from strider.runtime.process.health import Readiness
from strider.runtime.process.main import ServiceContext, ServiceDefinition, consume, run_service
from strider.runtime.process.startup import StartupRetry, check_partition_counts, exit_code_for
from strider.runtime.process.supervision import CloseStack, TaskSupervisor


def never(_process: ServiceContext[EchoSettings]) -> ServiceDefinition:
    pytest.fail("nothing may be built before the settings are right")


@pytest.mark.req("S1.3.1")
def test_the_config_is_printed_and_nothing_is_started(capsys: pytest.CaptureFixture[str]) -> None:
    environ = {"KAFKA_SASL_PASSWORD": "s3cret", "STRIDER_SHARDS": "6"}

    code = run_service("echo", EchoSettings, never, argv=["--print-config"], environ=environ)

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert "STRIDER_SHARDS=6" in out
    assert "s3cret" not in out


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_given_even_with_wrong_settings(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Who got something wrong is who needs it."""
    code = run_service("echo", EchoSettings, never, argv=[option], environ={"STRIDER_SHARDS": "none"})

    assert code == 0
    assert capsys.readouterr().out.startswith("usage: echo")


@pytest.mark.parametrize(
    ("argv", "environ", "said"),
    [
        pytest.param(
            [],
            {"STRIDER_SHARD": "6"},
            "STRIDER_SHARD: there is no such setting; did you mean STRIDER_SHARDS?",
            id="unknown",
        ),
        pytest.param(
            ["--print-config"],
            {"STRIDER_SHARDS": "0"},
            "STRIDER_SHARDS: should be greater than or equal to 1 (from environment)",
            id="invalid",
        ),
        pytest.param(
            [],
            {"KAFKA_BOOTSTRAP_SERVERS": ""},
            "KAFKA_BOOTSTRAP_SERVERS: is set and empty; name an address, or unset it for the default",
            id="no broker",
        ),
        pytest.param(["--pront"], {}, "unknown option --pront; see --help", id="option"),
    ],
)
def test_what_is_wrong_is_one_line_on_stderr_and_code_2(
    argv: list[str], environ: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_service("echo", EchoSettings, never, argv=argv, environ=environ)

    out, err = capsys.readouterr()
    assert (code, out, err) == (2, "", f"echo: {said}\n")


def test_a_consumption_follows_the_declaration() -> None:
    """Whether a group is sharded stands in the topic's file, and nowhere else."""
    tally = consume("tally", Subscription(ECHOES))
    echo = consume("echo", Subscription(ECHO_REQUESTS))

    assert (tally.group.topics, tally.group.sharded) == (("echoes",), True)
    assert (echo.group.topics, echo.group.sharded) == (("echo-requests",), False)


def test_a_group_reads_only_what_declares_it() -> None:
    with pytest.raises(ValueError, match="declares echo as a consumer group"):
        consume("echo", Subscription(TALLIES))


@pytest.mark.fault("A17")
def test_a_group_reads_public_topics_as_they_are_and_alone() -> None:
    """Only there a stranger may write: what holds or floods his topic must not hold any other."""
    public = Subscription(ECHO_REQUESTS, is_public=True)
    other = Subscription(ECHO_REQUESTS)

    spec = consume("echo", public).group
    assert (spec.read_committed, spec.max_batch_records) == (False, 10_000)
    spec = consume("echo", other).group
    assert (spec.read_committed, spec.max_batch_records) == (True, None)
    with pytest.raises(ValueError, match="either public topics only or none"):
        consume("echo", public, other)


def a_broker(**partitions: int) -> InProcessBroker:
    broker = InProcessBroker(clock=EventLoopClock())
    for name, count in partitions.items():
        broker.create_topic(name.replace("_", "-"), count)
    return broker


async def test_partition_counts_must_be_the_declared_ones() -> None:
    bus = InProcessBus(a_broker(echoes=12, schemas=1))

    await check_partition_counts(bus, [ECHOES, SCHEMAS], shards=12)

    with pytest.raises(
        StartRefused, match="echoes has 12 partitions on the broker, but 6 are set by STRIDER"
    ):
        await check_partition_counts(bus, [ECHOES], shards=6)


async def test_a_topic_that_is_not_there_yet_is_waited_for() -> None:
    """Topics are applied by another process, which may come later."""
    with pytest.raises(Unavailable, match="strider topics apply"):
        await check_partition_counts(InProcessBus(a_broker()), [ECHOES], shards=12)


def test_the_startup_waits_for_a_dependency_and_continues() -> None:
    async def scenario() -> tuple[list[list[str]], list[str]]:
        clock = EventLoopClock()
        readiness = Readiness(clock)
        broker = a_broker()
        broker.set_unavailable("connection refused")
        patience = StartupRetry(readiness, clock=clock, chance=SeededRandomness(1))
        with capture_logs() as lines:
            waiting = asyncio.create_task(patience.run(InProcessBus(broker).ping))
            await asyncio.sleep(3600)
            seen = [readiness.reasons()]
            broker.set_available()
            await waiting
        seen.append(readiness.reasons())
        return seen, [line["event"] for line in lines]

    seen, lines = simulate(scenario())

    assert seen[0] == ["starting: waiting for kafka", "kafka: connection refused"]
    assert seen[1] == ["starting"]
    assert lines == [log_events.DEPENDENCY_AWAITED.text]  # an hour of it is one line


async def died(work: object) -> tuple[int, list[dict[str, object]]]:
    counted: list[int] = []
    tasks = TaskSupervisor(lambda _error: counted.append(1))
    with capture_logs() as lines:
        tasks.start("worker", work)
        await asyncio.sleep(0.01)
    await tasks.cancel_all(1)
    return len(counted), lines


async def test_a_task_that_raises_is_a_fault() -> None:
    async def crash() -> None:
        raise ZeroDivisionError

    counted, (line,) = await died(crash())

    assert counted == 1
    assert (line["event"], line["log_level"], line["task"]) == (
        log_events.TASK_DIED.text,
        "critical",
        "worker",
    )


async def test_a_task_that_just_ends_is_a_fault_too() -> None:
    """A consumer that is not there any more is the most silent failure of all."""
    counted, (line,) = await died(asyncio.sleep(0))

    assert counted == 1
    assert line["event"] == log_events.TASK_DIED.text


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StartRefused("two counts"), ExitCode.REFUSED),
        (ValueError(), ExitCode.FAILED),
        (None, ExitCode.FAILED),
    ],
)
def test_a_consumer_that_refuses_its_group_is_not_restarted(error: Exception | None, code: ExitCode) -> None:
    """Restarting would meet the same fact again; the code means that a person is needed."""
    assert exit_code_for(error) == code


async def test_an_end_that_is_expected_is_none() -> None:
    counted: list[int] = []
    tasks = TaskSupervisor(lambda _error: counted.append(1))
    tasks.start("worker", asyncio.sleep(0), is_consumer=True)
    tasks.allow_task_end()

    assert await tasks.wait_for_consumers(1)
    assert counted == []


async def test_a_task_that_ignores_its_cancellation_does_not_hold_up_the_end() -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    tasks = TaskSupervisor(lambda _error: None)
    tasks.start("stubborn", stubborn())
    tasks.allow_task_end()
    await asyncio.sleep(0)

    with capture_logs() as lines:
        await tasks.cancel_all(0.05)
    release.set()

    assert [line["event"] for line in lines] == [log_events.TASK_NOT_CANCELLED.text]


def test_everything_is_closed_the_latest_first_whatever_fails() -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        closed: list[str] = []
        closing = CloseStack()

        async def close(name: str) -> None:
            closed.append(name)
            if name == "hanging":
                await asyncio.sleep(3600)
            if name == "failing":
                raise ZeroDivisionError

        for name in ("bus", "failing", "hanging", "publisher"):
            closing.add(name, lambda name=name: close(name))
        with capture_logs() as lines:
            await closing.close_all()
            await closing.close_all()
        return closed, [line["event"] for line in lines]

    closed, lines = simulate(scenario())

    assert closed == ["publisher", "hanging", "failing", "bus"]
    assert lines == [log_events.CLOSE_TIMED_OUT.text, log_events.CLOSE_FAILED.text]

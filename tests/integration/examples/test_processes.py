"""The example pair as two real processes on a real broker: starting, draining, dying, counting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strider.runtime.observability import log_events
from strider.testing.stack import ServerStack

from .processes import Requests, ServiceProcess, wait_for
from .test_telemetry import closed_port

Start = Callable[..., ServiceProcess]


@pytest.fixture
def requests(stack: ServerStack) -> Requests:
    """Requests for hosts that no other test knows."""
    name = uuid.uuid4().hex[:8]
    requests = Requests(stack.kafka.address, [f"h{number}-{name}.test" for number in range(24)])
    requests.apply_topics()
    return requests


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[ServiceProcess] = []

    def launch(name: str, bootstrap: str, **environ: str) -> ServiceProcess:
        log = tmp_path / f"{name}-{len(running)}.log"
        running.append(ServiceProcess(name, bootstrap, log, environ))
        return running[-1]

    yield launch
    for process in running:
        process.close()


@pytest.mark.req("S1.2.1", "S1.2.28", "S1.3.2", "S1.3.9", "S2.5.2")
def test_the_pair_counts_drains_and_continues(stack: ServerStack, requests: Requests, start: Start) -> None:
    """Requests sent while it stops are counted after the restart; nothing is counted twice."""
    bootstrap = stack.kafka.address
    echo, tally = start("echo", bootstrap), start("tally", bootstrap)
    tally.wait_for_event(log_events.SERVICE_RUNNING.text)
    requests.ask(480)
    wait_for(lambda: requests.counted() == 480)
    first_codes = echo.stop(), tally.stop(signal.SIGINT)
    requests.ask(240)
    start("echo", bootstrap)
    tally = start("tally", bootstrap)
    wait_for(lambda: requests.counted() == 720)

    tallies = requests.tallies()
    assert first_codes == (0, 0)
    assert {host: tally.count for host, tally in tallies.items()} == requests.expected
    assert {host: tally.refused for host, tally in tallies.items() if tally.refused} == requests.refused
    assert requests.is_exact()
    ready = tally.get("/readyz")
    assert (ready.status_code, ready.json()["dependencies"]["kafka"]["ok"]) == (200, True)
    assert 'strider_messages_total{outcome="counted",topic="echoes"}' in tally.get("/metrics").text
    heartbeat = ready.json()["heartbeat"]
    assert (heartbeat["last_success"] is not None, heartbeat["consecutive_failures"]) == (True, 0)
    phases = tally.lines_of(log_events.STARTUP_PHASE_COMPLETED.text)
    assert [line["phase"] for line in phases] == [
        *("logs", "telemetry", "health", "adapters", "checks", "consumers")
    ]
    assert {line["service"] for line in phases} == {"tally"}


def test_a_tally_killed_in_the_middle_counts_exactly(
    stack: ServerStack, requests: Requests, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kill -9, again and again, with echoes half counted: each echo in the log is counted once."""
    bootstrap, portion, kills = stack.kafka.address, 1500, 2
    start("echo", bootstrap)
    tally = start("tally", bootstrap)
    tally.wait_for_event(log_events.SERVICE_RUNNING.text)
    killed_at = []
    for kill in range(kills):
        requests.ask(portion)
        wait_for(lambda kill=kill: requests.counted() > kill * portion + portion // 4)
        tally.stop(signal.SIGKILL)
        killed_at.append(requests.counted())
        requests.ask(portion // 4)
        tally = start("tally", bootstrap)
    total = requests.expected.total() + requests.refused.total()
    wait_for(lambda: requests.counted() >= total)

    with capsys.disabled():
        sys.stdout.write(f"\ntally killed at {killed_at} of {total} echoes; counted {requests.counted()}\n")
    assert requests.is_exact()
    assert {host: tally.count for host, tally in requests.tallies().items()} == requests.expected


def test_two_tallies_share_the_shards_and_one_death_costs_nothing(
    stack: ServerStack, requests: Requests, start: Start
) -> None:
    bootstrap = stack.kafka.address
    start("echo", bootstrap)
    one, two = start("tally", bootstrap), start("tally", bootstrap)
    one.wait_for_event(log_events.SERVICE_RUNNING.text)
    two.wait_for_event(log_events.SERVICE_RUNNING.text)
    requests.ask(1200)
    wait_for(lambda: requests.counted() > 100)
    two.stop(signal.SIGKILL)
    requests.ask(600)
    wait_for(lambda: requests.counted() >= 1800)

    assert requests.is_exact()
    assert one.stop() == 0


def test_a_broker_that_is_not_there_is_waited_for(start: Start) -> None:
    """No crash loop: red and patient, and it can be stopped at any time."""
    process = start("tally", f"127.0.0.1:{closed_port()}")
    process.wait_for_event(log_events.DEPENDENCY_AWAITED.text)

    ready = process.get("/readyz")
    live = process.get("/livez")

    assert (ready.status_code, live.status_code) == (503, 200)
    assert any(reason.startswith("kafka: ") for reason in ready.json()["reasons"])
    assert process.stop() == 0


def run(name: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run an example to its end."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    return subprocess.run(
        [sys.executable, "-m", f"strider.{name}", *arguments],
        env={**kept, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.req("S1.3.1")
def test_the_config_is_printed_by_the_real_process(tmp_path: Path) -> None:
    """From one file, and the environment wins over it."""
    file = tmp_path / "strider.yaml"
    file.write_text("run: {shards: 6}\nservices: {tally: {commit_interval_seconds: 9s}}\n")
    done = run(
        "tally",
        "--print-config",
        STRIDER_CONFIG=str(file),
        POSTGRES_DSN="postgresql://u:s3cret@h/d",
        TALLY_COMMIT_INTERVAL_SECONDS="1s",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "TALLY_COMMIT_INTERVAL_SECONDS=1 " in done.stdout
    assert "STRIDER_SHARDS=6 " in done.stdout
    assert "s3cret" not in done.stdout


def test_wrong_credentials_are_one_line_and_no_start() -> None:
    done = run("echo", KAFKA_SECURITY_PROTOCOL="SASL_SSL", KAFKA_SASL_USERNAME="u")

    assert done.returncode == 2
    assert done.stderr == (
        "echo: KAFKA_SECURITY_PROTOCOL=SASL_SSL needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD\n"
    )


@pytest.mark.fault("F26", part="at the start")
def test_a_wrong_shard_count_refuses_the_start(stack: ServerStack, requests: Requests, start: Start) -> None:
    """Keys would lead to wrong shards, unnoticed for weeks."""
    process = start("tally", stack.kafka.address, STRIDER_SHARDS="6")

    refused = process.wait_for_event(log_events.STARTUP_REFUSED.text)

    assert "echoes has 12 partitions on the broker, but 6 are set by STRIDER_SHARDS" in refused["why"]
    assert process.code() == 4

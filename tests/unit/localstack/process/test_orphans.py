"""What a killed supervisor has left behind, told as it is and ended in order."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from strider.localstack.commands import has_stopped, stop_stack
from strider.localstack.directories import StackDirectory
from strider.localstack.process.child import ChildProcess
from strider.localstack.process.identity import ProcessIdentity, identify
from strider.localstack.process.orphans import end_orphans, surviving_state
from strider.localstack.stack_state import (
    DONE,
    EXTERNAL,
    FAILED,
    READY,
    RESTARTING,
    STOPPED,
    ProcessStatus,
    StackState,
    read_state,
    write_state,
)

SINCE = "2026-01-01T00:00:00+00:00"
GONE = ProcessIdentity(os.getpid(), "another boot:1")
"""A number that is in use again, by this test."""


def a_line(name: str, state: str = READY, *, process: ProcessIdentity | None = GONE) -> ProcessStatus:
    kind = "server" if name in ("kafka", "postgres", "redis") else "service"
    pid, started = (process.pid, process.started) if process else (None, None)
    return ProcessStatus(name, kind, state, SINCE, pid=pid, started=started)


def a_state(*lines: ProcessStatus, **endpoints: str | None) -> StackState:
    return StackState(
        READY,
        SINCE,
        supervisor=GONE,
        endpoints=endpoints,
        ports={"kafka": 20001},
        processes=lines,
        desired_number=3,
    )


def test_ended_processes_are_shown_as_stopped_without_endpoint() -> None:
    """The last word of a killed supervisor was that all of it is ready."""
    lives = identify(os.getpid())
    kafka, named = a_line("kafka", process=lives), a_line("postgres", EXTERNAL, process=None)
    step = a_line("topics", DONE, process=None)
    state = a_state(
        kafka,
        named,
        a_line("redis"),
        a_line("echo", RESTARTING, process=None),
        step,
        kafka="127.0.0.1:20001",
        postgres="postgresql://elsewhere/x",
        redis="redis://127.0.0.1:20002/0",
    )

    left = surviving_state(state)

    assert left.supervisor is None
    assert left.processes == (
        kafka,
        named,
        a_line("redis", STOPPED, process=None),
        a_line("echo", STOPPED, process=None),
        step,
    )
    assert left.endpoints == {
        "kafka": "127.0.0.1:20001",
        "postgres": "postgresql://elsewhere/x",
        "redis": None,
    }


def test_where_nothing_lives_nothing_has_an_address() -> None:
    left = surviving_state(a_state(a_line("kafka"), kafka="127.0.0.1:20001", objects="file:///data"))

    assert left.endpoints == {"kafka": None, "objects": None}


def test_down_writes_what_a_killed_supervisor_could_not(tmp_path: Path) -> None:
    """Else its last state stays, and the next `up` applies its command."""
    home = StackDirectory(tmp_path)
    write_state(home.state, a_state(a_line("kafka"), kafka="127.0.0.1:20001"))

    assert stop_stack(home) is None

    state = read_state(home.state)
    assert state is not None
    assert state == StackState(STOPPED, state.since, ports={"kafka": 20001}, desired_number=3)
    assert state.since > SINCE
    assert has_stopped(state)


def test_down_leaves_the_reason_of_a_start_that_gave_up(tmp_path: Path) -> None:
    home = StackDirectory(tmp_path)
    failed = StackState(FAILED, SINCE, message="no room")
    write_state(home.state, failed)

    stop_stack(home)

    assert read_state(home.state) == failed


def test_down_names_only_what_it_has_ended(tmp_path: Path) -> None:
    home = StackDirectory(tmp_path)
    with subprocess.Popen(("sleep", "60")) as sleeper:
        try:
            redis = a_line("redis", process=identify(sleeper.pid))
            write_state(home.state, a_state(redis, a_line("kafka")))

            assert stop_stack(home) == (redis,)
        finally:
            sleeper.kill()


@pytest.mark.parametrize("names", [("redis", "echo"), ("echo", "redis")])
def test_servers_are_ended_after_the_services(tmp_path: Path, names: tuple[str, ...]) -> None:
    """A service finishes what it has in flight, and needs its servers for that."""
    order = tmp_path / "order"
    opened = [_slow(name, order, seconds=0.15 if name == "echo" else 0) for name in names]
    try:
        assert _wait_for_files(tmp_path, names)
        orphans = {
            name: ChildProcess(identity)
            for name, each in zip(names, opened, strict=True)
            if (identity := identify(each.pid))
        }

        end_orphans(orphans)

        assert order.read_text().split() == ["echo", "redis"]
        assert [child.is_alive() for child in orphans.values()] == [False, False]
    finally:
        for each in opened:
            each.kill()
            each.wait()


def _slow(name: str, order: Path, *, seconds: float) -> subprocess.Popen[bytes]:
    """Start a process that takes its time to end, and then says that it has."""
    script = (
        f"trap 'sleep {seconds}; echo {name} >> {order}; exit' TERM; "
        f"touch {order.with_name(name)}; while :; do sleep 0.02; done"
    )
    return subprocess.Popen(("/bin/sh", "-c", script))


def _wait_for_files(place: Path, names: tuple[str, ...]) -> bool:
    until = time.monotonic() + 5
    while not all((place / name).exists() for name in names) and time.monotonic() < until:
        time.sleep(0.005)
    return all((place / name).exists() for name in names)

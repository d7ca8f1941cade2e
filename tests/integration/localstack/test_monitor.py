"""A keeper and small shell processes: what it makes of their ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from strider.localstack.errors import SetupFailure, StackNotReady
from strider.localstack.process.child import ChildProcess, LaunchSpec, start_process
from strider.localstack.process.monitor import ProcessMonitor
from strider.localstack.stack_state import READY

HERE_WHEN_IT_SAYS_SO = "touch up; exec sleep 60"


@dataclass
class ShellUnit:
    """A process that is ready when it has made the file `up`."""

    directory: Path
    script: str
    name: str = "one"
    address: str = ""
    wrong: str = ""

    def prepare(self) -> None:
        (self.directory / "up").unlink(missing_ok=True)
        if self.wrong:
            raise SetupFailure(self.wrong, remedy="mend it")

    def launch(self, *, log: Path, pid_file: Path) -> LaunchSpec:
        return LaunchSpec(
            "one", ("/bin/sh", "-c", self.script), self.directory, log, pid_file, stop_timeout_seconds=2
        )

    async def probe(self) -> None:
        if not (self.directory / "up").exists():
            raise StackNotReady("one", "no file yet")


Keep = Callable[..., Awaitable[tuple[ProcessMonitor, list[str]]]]


@pytest.fixture
async def keep(tmp_path: Path) -> AsyncIterator[Keep]:
    running: list[tuple[ProcessMonitor, asyncio.Task[None]]] = []

    async def begin(
        script: str, *, kind: str = "service", wrong: str = "", adopted: ChildProcess | None = None
    ) -> tuple[ProcessMonitor, list[str]]:
        states: list[str] = []
        keeper = ProcessMonitor(
            ShellUnit(tmp_path, script, wrong=wrong),
            kind=kind,
            log=tmp_path / "one.log",
            pid_file=tmp_path / "one.pid",
            on_change=lambda: states.append(keeper.status.state),
            adopted=adopted,
        )
        running.append((keeper, asyncio.create_task(keeper.run())))
        return keeper, states

    yield begin
    for keeper, task in running:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await keeper.stop()


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_part_is_ready_when_its_probe_succeeds(keep: Keep) -> None:
    keeper, states = await keep(HERE_WHEN_IT_SAYS_SO)

    await keeper.is_ready.wait()

    assert states[0] == "starting"
    assert states[-1] == "ready"
    assert keeper.status.pid


async def test_a_killed_process_is_started_again_and_counted(keep: Keep) -> None:
    keeper, _ = await keep(HERE_WHEN_IT_SAYS_SO)
    await keeper.is_ready.wait()
    first = keeper.status

    assert first.identity is not None
    ChildProcess(first.identity).signal(signal.SIGKILL)

    await _until(lambda: keeper.status.restarts == 1 and keeper.status.state == READY)
    assert keeper.status.pid != first.pid


async def test_a_crash_loop_is_called_failing_with_its_last_output(keep: Keep) -> None:
    keeper, states = await keep("echo cannot go on; exit 1")

    await _until(lambda: keeper.status.state == "failing")

    assert keeper.status.restarts == 4
    assert states.count("restarting") == 3
    assert keeper.status.reason == "it ended with status 1; last line of its log: cannot go on"


@pytest.mark.parametrize("code", [pytest.param(2, id="settings"), pytest.param(4, id="refused")])
async def test_a_service_that_only_a_person_can_help_waits_for_that_person(keep: Keep, code: int) -> None:
    keeper, states = await keep(f"echo X_Y: there is no such setting; exit {code}")
    await _until(lambda: keeper.status.state == "refused")
    assert keeper.status.restarts == 1

    keeper.retry_now()

    await _until(lambda: keeper.status.restarts == 2 and keeper.status.state == "refused")
    assert "restarting" not in states


async def test_the_same_codes_of_a_server_mean_nothing(keep: Keep) -> None:
    """Java and PostgreSQL have numbers of their own."""
    keeper, _ = await keep("exit 2", kind="server")

    await _until(lambda: keeper.status.restarts == 2)


async def test_a_failed_preparation_is_reported_and_retried(keep: Keep) -> None:
    keeper, _ = await keep("true", wrong="the disk is of another kind")

    await _until(lambda: keeper.status.state == "refused")

    assert keeper.status.reason.startswith("the disk is of another kind; mend it")


async def test_a_process_of_another_starter_is_taken_over_as_it_runs(keep: Keep, tmp_path: Path) -> None:
    unit = ShellUnit(tmp_path, HERE_WHEN_IT_SAYS_SO)
    child = start_process(unit.launch(log=tmp_path / "one.log", pid_file=tmp_path / "one.pid"))

    keeper, _ = await keep(HERE_WHEN_IT_SAYS_SO, adopted=ChildProcess(child.identity))
    await keeper.is_ready.wait()

    assert keeper.status.identity == child.identity
    assert keeper.status.restarts == 0
    await keeper.stop()
    assert child.exit_code == -signal.SIGTERM


async def test_a_stop_in_the_middle_of_a_start_leaves_nothing(tmp_path: Path) -> None:
    """The start continues in its thread; what it brings up must be ended as well."""
    states: list[str] = []
    keeper = ProcessMonitor(
        ShellUnit(tmp_path, "exec sleep 60"),
        kind="service",
        log=tmp_path / "one.log",
        pid_file=tmp_path / "one.pid",
        on_change=lambda: states.append(keeper.status.state),
    )
    task = asyncio.create_task(keeper.run())
    await _until(lambda: "starting" in states)

    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await keeper.stop()

    assert keeper.status.state == "stopped"
    assert keeper.status.pid is None
    assert not (tmp_path / "one.pid").exists()

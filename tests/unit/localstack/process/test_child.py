from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from strider.localstack.errors import SetupFailure
from strider.localstack.process.child import (
    ChildProcess,
    LaunchSpec,
    last_log_lines,
    read_pid_file,
    start_process,
    stop_all,
)
from strider.localstack.process.identity import identify

STUBBORN = ("/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.05; done")


@pytest.fixture
def launch(tmp_path: Path) -> Callable[..., LaunchSpec]:
    def make(*command: str, **more: object) -> LaunchSpec:
        return LaunchSpec(
            name="one",
            command=command,
            directory=tmp_path,
            log=tmp_path / "logs" / "one.log",
            pid_file=tmp_path / "run" / "one.pid",
            environment={"PATH": "/usr/bin:/bin"},
            **more,
        )

    return make


def _wait(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 5
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
    return condition()


def test_a_process_has_left_its_number_before_its_program_runs(launch: Callable[..., LaunchSpec]) -> None:
    """A process that finds it after the death of its parent must not depend on what that one still wrote."""
    plan = launch("/bin/sh", "-c", 'test "$(cat run/one.pid)" = $$ && echo same')

    child = start_process(plan)

    assert child.wait(5)
    assert (child.exit_code, plan.log.read_text()) == (0, "same\n")


def test_log_and_pid_file_are_readable_for_their_owner_only(launch: Callable[..., LaunchSpec]) -> None:
    """Logs may contain URLs and addresses of other people."""
    plan = launch("/bin/sh", "-c", "echo out")

    assert start_process(plan).wait(5)
    assert [path.stat().st_mode & 0o777 for path in (plan.log, plan.pid_file)] == [0o600, 0o600]


def test_all_output_of_a_child_is_in_its_log(launch: Callable[..., LaunchSpec]) -> None:
    plan = launch("/bin/sh", "-c", "echo out; echo err >&2")

    start_process(plan).wait(5)
    start_process(plan).wait(5)

    assert plan.log.read_text() == "out\nerr\nout\nerr\n"
    assert plan.pid_file.read_text().strip().isdigit()


def test_words_with_blanks_and_quotes_arrive_as_they_are(launch: Callable[..., LaunchSpec]) -> None:
    """The shell that becomes the program must read none of them."""
    word = "a b'c\"d $HOME `x` *"
    plan = launch(sys.executable, "-S", "-c", "import sys; print(sys.argv[1:])", word)

    start_process(plan).wait(5)

    assert plan.log.read_text() == f"{[word]!r}\n"


def test_a_process_that_ignores_sigterm_is_killed_after_the_timeout(
    launch: Callable[..., LaunchSpec],
) -> None:
    plan = launch(*STUBBORN)
    child = start_process(plan)
    assert _wait(lambda: plan.log.read_text() == "deaf\n")

    child.stop(signal.SIGTERM, timeout_seconds=0.1)

    assert not child.is_alive()
    assert child.exit_code == -signal.SIGKILL


def test_its_own_children_end_with_it(launch: Callable[..., LaunchSpec]) -> None:
    """Killing a parser must not leave its workers behind."""
    plan = launch("/bin/sh", "-c", "sleep 60 & echo $!; wait")
    child = start_process(plan)
    assert _wait(lambda: plan.log.read_text().strip().isdigit())
    grandchild = int(plan.log.read_text())

    child.kill()

    assert _wait(lambda: identify(grandchild) is None)


def test_a_foreign_starters_child_is_found_by_the_file_that_it_wrote(
    launch: Callable[..., LaunchSpec],
) -> None:
    plan = launch("sleep", "60")
    child = start_process(plan)
    assert _wait(lambda: plan.pid_file.read_text().strip().isdigit())

    assert read_pid_file(plan.pid_file) == child.identity

    child.kill()
    assert read_pid_file(plan.pid_file) is None


def test_a_number_file_is_not_believed_when_the_process_began_at_another_time(tmp_path: Path) -> None:
    """A stale file names the process that has the number now; that one must live."""
    stale = tmp_path / "one.pid"
    stale.write_text(f"{os.getppid()}\n")
    os.utime(stale, (time.time() - 86400, time.time() - 86400))

    assert read_pid_file(stale) is None


@pytest.mark.parametrize("text", [pytest.param("", id="empty"), pytest.param("12x", id="torn")])
def test_a_truncated_pid_file_names_no_process(tmp_path: Path, text: str) -> None:
    torn = tmp_path / "one.pid"
    torn.write_text(text)

    assert read_pid_file(torn) is None


def test_all_processes_are_signalled_before_any_is_waited_for(launch: Callable[..., LaunchSpec]) -> None:
    """Ten graces one after the other would be minutes."""
    plan = launch(*STUBBORN)
    children = [start_process(plan) for _ in range(3)]
    assert _wait(lambda: plan.log.read_text() == "deaf\n" * 3)
    began = time.monotonic()

    stop_all((child, signal.SIGTERM, 1.0) for child in children)

    assert time.monotonic() - began < 2.5
    assert [child.exit_code for child in children] == [-signal.SIGKILL] * 3


def test_a_process_taken_over_is_watched_without_being_its_parent(launch: Callable[..., LaunchSpec]) -> None:
    child = start_process(launch("sleep", "60"))
    taken_over = ChildProcess(child.identity)

    assert taken_over.is_alive()
    assert taken_over.exit_code is None

    taken_over.stop(signal.SIGTERM, timeout_seconds=5)

    assert not taken_over.is_alive()
    assert child.exit_code == -signal.SIGTERM


def test_a_removed_directory_is_reported_in_one_line(tmp_path: Path) -> None:
    plan = LaunchSpec("one", ("true",), tmp_path / "gone", tmp_path / "one.log", tmp_path / "one.pid")

    with pytest.raises(SetupFailure, match=r"^one cannot be started \(No such file or directory"):
        start_process(plan)


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    log.write_text("first\nsecond\nthird\n")

    assert last_log_lines(log, lines=2) == "second\nthird"
    assert last_log_lines(tmp_path / "none.log") == ""

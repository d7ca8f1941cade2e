"""What a worker's exit means for the page that it was parsing."""

from __future__ import annotations

import signal
import socket
from contextlib import ExitStack

import pytest

from strider.parser.adapters.workers.pipe import RESPONSES_PER_NOTIFICATION
from strider.parser.adapters.workers.process import WorkerExit, WorkerProcess, _socket_pair
from strider.parser.adapters.workers.protocol import READY, WorkerResponse

MIB = 1024


def a_process(*, status: int, peak_mb: int = 40, first_peak_mb: int = 30) -> WorkerProcess:
    """Return a process that exited like this."""
    with socket.socket() as responses:
        process = WorkerProcess(0, responses, on_response=lambda *_: None, on_disconnect=lambda *_: None)
    process._handle_response(WorkerResponse(READY, event=str(first_peak_mb * MIB).encode()))
    process._exit_status, process._peak_kib = status, peak_mb * MIB
    return process


@pytest.mark.parametrize(
    ("status", "peak_mb", "outcome", "may_be_external"),
    [
        pytest.param(signal.SIGABRT, 40, "crashed", False, id="abort"),
        pytest.param(signal.SIGSEGV, 40, "crashed", False, id="segfault"),
        pytest.param(3 << 8, 40, "crashed", False, id="exit-code"),
        pytest.param(signal.SIGABRT, 220, "out_of_memory", False, id="abort-when-full"),
        pytest.param(signal.SIGPROF, 220, "timed_out", False, id="own-timer"),
        pytest.param(signal.SIGKILL, 40, "out_of_memory", True, id="killed"),
        pytest.param(0, 40, "out_of_memory", True, id="went-by-itself"),
    ],
)
async def test_an_exit_code_gives_the_reason(
    status: int, peak_mb: int, outcome: str, *, may_be_external: bool
) -> None:
    worker_exit = a_process(status=status, peak_mb=peak_mb).exit_reason(memory_mb=256)

    assert (worker_exit.outcome, worker_exit.may_be_external) == (outcome, may_be_external)


async def test_an_inherited_memory_peak_is_ignored() -> None:
    """The kernel reports the parent's peak until the child exceeds it."""
    process = a_process(status=signal.SIGABRT, peak_mb=300, first_peak_mb=300)

    assert process.exit_reason(memory_mb=256).outcome == "crashed"


async def test_a_worker_killed_by_the_parent_has_the_parents_reason() -> None:
    process = a_process(status=signal.SIGKILL)
    process._kill_reason = why = WorkerExit("timed_out", "it took longer than 10 s")

    assert process.exit_reason(memory_mb=256) == why


def test_the_responses_of_one_notification_fit_into_the_socket() -> None:
    """Otherwise the worker would wait for its parent between them; usual ones have 27 KB."""
    with ExitStack() as opened:
        parent_end, worker_end = _socket_pair(opened)
        sent = [
            worker_end.send(bytes(27_000), socket.MSG_DONTWAIT) for _ in range(RESPONSES_PER_NOTIFICATION)
        ]
        worker_end.close()
        parent_end.setblocking(True)
        found = b"".join(iter(lambda: parent_end.recv(1_000_000), b""))

    assert sent == [27_000] * RESPONSES_PER_NOTIFICATION
    assert len(found) == sum(sent)

"""One worker process, from the parent's side: started, spoken to, ended, and what it died of.

Decides what a death means. Does not decide what becomes of the pages that it had.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from strider.contracts.generated.enums import ParseOutcome

from .protocol import READY, FrameBuffer, WorkerResponse, decode_response
from .worker import MIB, RESPONSES_FD, WorkerConfig

_MODULE: Final = "strider.parser.adapters.workers.worker"

_PASSED_ENVIRONMENT: Final = frozenset(
    [
        *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"),
        *("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH"),
    ]
)
"""All of the environment that a worker gets: it reads what strangers wrote, and needs no secrets."""

OUT_OF_MEMORY_SHARE: Final = 0.8
"""A process that had so much of its memory limit in use died of that."""

KIB_PER_MIB: Final = 1024
"""Linux counts the peak of a process in KiB. (macOS counts bytes; there the reason is less exact.)"""

REAP_INTERVAL_SECONDS: Final = 0.005
"""Between looks whether a process that has closed its socket is gone; it mostly is at the first."""

MAX_REAP_ATTEMPTS: Final = 200
"""So many looks a process may take to go once its socket is closed."""

RECEIVE_BUFFER_BYTES: Final = MIB // 4
"""Of answers, at a time: more than those of a bell mostly have."""

ROOM_BYTES: Final = MIB
"""Asked of the kernel for what lies in a socket: the usual fifth holds fewer answers than a bell has."""

_SIGNAL_NUMBERS: Final = frozenset(int(number) for number in signal.Signals)


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """How a worker ended."""

    outcome: str
    """What it means for the page that it was at."""
    message: str
    is_foreign: bool = False
    """Whether somebody else may have ended it, so that the page may be innocent."""


class WorkerProcess(asyncio.Protocol):
    """A running worker and the sockets to it: one for requests and its bell, one for its answers."""

    def __init__(
        self,
        pid: int,
        responses: socket.socket,
        *,
        on_response: Callable[[WorkerProcess, WorkerResponse], None],
        on_gone: Callable[[WorkerProcess], None],
    ) -> None:
        self.pid = pid
        self.is_ready = asyncio.get_running_loop().create_future()
        """Done once it works (True) or is gone before (False)."""
        self._kill_reason: WorkerExit | None = None
        self._on_response = on_response
        self._on_gone = on_gone
        self._answers = responses
        self._arrived = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self._frames = FrameBuffer()
        self._transport: asyncio.WriteTransport | None = None
        self._exit_status: int | None = None
        self._peak_kib = 0
        self._initial_peak_kib = 0
        """Its peak when it began; the kernel lets a process inherit that of the one that started it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to it."""
        self._transport = transport  # type: ignore[assignment]  # a socket's transport, whoever's loop this is

    def data_received(self, data: bytes) -> None:
        """Hear its bell."""
        del data
        self.collect_responses()

    def connection_lost(self, exc: Exception | None) -> None:
        """Its end of the sockets has closed, so it has ended or is about to; what it has answered counts."""
        del exc
        self.collect_responses()
        self._answers.close()
        self._set_ready(is_ready=False)
        self._on_gone(self)

    def collect_responses(self) -> None:
        """Hand on what it has answered so far, told of or not; what is no answer ends it."""
        try:
            size = RECEIVE_BUFFER_BYTES
            while size == RECEIVE_BUFFER_BYTES:
                size = self._receive()
                for frame in self._frames.feed(self._arrived[:size]):
                    self._take(decode_response(frame))
        except ValueError as failure:
            self.kill(WorkerExit(ParseOutcome.CRASHED, str(failure)))

    def _receive(self) -> int:
        try:
            return self._answers.recv_into(self._arrived)
        except OSError:  # nothing there, or nobody
            return 0

    def send(self, pieces: list[bytes]) -> None:
        """Hand over requests."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(pieces)

    def kill(self, reason: WorkerExit) -> None:
        """End it at once."""
        if self._kill_reason is None and self._exit_status is None:
            self._kill_reason = reason
            os.kill(self.pid, signal.SIGKILL)

    def disconnect(self) -> None:
        """Close the socket, which a worker takes for its end."""
        if self._transport is not None:
            self._transport.abort()

    async def wait(self) -> None:
        """Wait until it is gone; one that closed its socket and stays is helped."""
        looks = 0
        while not self.reap():  # only the kernel knows, and its signal is for the whole process
            await asyncio.sleep(REAP_INTERVAL_SECONDS)
            looks += 1
            if looks == MAX_REAP_ATTEMPTS:
                self.kill(WorkerExit(ParseOutcome.CRASHED, "it closed its socket and did not end"))

    def reap(self) -> bool:
        """Take its last words from the kernel; False while it still runs."""
        if self._exit_status is not None:
            return True
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else has waited for it
            self._exit_status = 0
            return True
        if not pid:
            return False
        self._exit_status, self._peak_kib = status, usage.ru_maxrss
        return True

    def death(self, *, memory_mb: int) -> WorkerExit:
        """Say what it died of."""
        if self._kill_reason is not None:
            return self._kill_reason
        code = os.waitstatus_to_exitcode(self._exit_status or 0)
        name = signal.Signals(-code).name if -code in _SIGNAL_NUMBERS else f"exit code {code}"
        if -code == signal.SIGPROF:
            return WorkerExit(ParseOutcome.TIMED_OUT, "it took more processor time than a page may")
        if -code in {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP} or code == 0:
            return WorkerExit(ParseOutcome.OUT_OF_MEMORY, f"others have ended it: {name}", is_foreign=True)
        if self._initial_peak_kib < self._peak_kib >= OUT_OF_MEMORY_SHARE * memory_mb * KIB_PER_MIB:
            return WorkerExit(ParseOutcome.OUT_OF_MEMORY, f"{name} with {self._peak_kib} KiB in use")
        return WorkerExit(ParseOutcome.CRASHED, name)

    def _take(self, response: WorkerResponse) -> None:
        if response.kind == READY:
            self._initial_peak_kib = int(response.event)
            self._set_ready(is_ready=True)
        self._on_response(self, response)

    def _set_ready(self, *, is_ready: bool) -> None:
        if not self.is_ready.done():
            self.is_ready.set_result(is_ready)


async def start_worker(
    orders: WorkerConfig,
    environ: Mapping[str, str],
    *,
    on_response: Callable[[WorkerProcess, WorkerResponse], None],
    on_gone: Callable[[WorkerProcess], None],
) -> WorkerProcess:
    """Start a process and connect to it; may raise OSError."""
    with ExitStack() as opened:
        requests, their_requests = _socket_pair(opened)
        answers, their_answers = _socket_pair(opened)
        pid = _spawn(orders, environ, their_requests, their_answers)
        worker = WorkerProcess(pid, answers, on_response=on_response, on_gone=on_gone)
        their_requests.close()
        their_answers.close()
        opened.pop_all()
    await asyncio.get_running_loop().create_unix_connection(lambda: worker, sock=requests)
    return worker


def _socket_pair(opened: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Give our end, which never waits, and theirs; both are closed with `opened`."""
    ours, theirs = map(opened.enter_context, socket.socketpair())
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM_BYTES)  # it gives what it may
    ours.setblocking(False)  # noqa: FBT003  # the socket's own shape
    return ours, theirs


def _spawn(
    orders: WorkerConfig, environ: Mapping[str, str], requests: socket.socket, answers: socket.socket
) -> int:
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", _MODULE, orders.to_json()],
        {name: environ[name] for name in _PASSED_ENVIRONMENT & environ.keys()},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, requests.fileno(), 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, answers.fileno(), RESPONSES_FD),
        ],
    )

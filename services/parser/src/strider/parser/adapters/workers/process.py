"""One worker process as the parent sees it: start, sockets, exit and its reason.

Decides what an exit means. Does not decide what happens to the pages that the worker had.
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
"""The environment that a worker inherits: it parses untrusted input and needs no secrets."""

OUT_OF_MEMORY_SHARE: Final = 0.8
"""Share of its memory limit above which a process that died is taken to have run out of memory."""

KIB_PER_MIB: Final = 1024
"""Linux counts the peak of a process in KiB. (macOS counts bytes; there the reason is less exact.)"""

REAP_INTERVAL_SECONDS: Final = 0.005
"""Between attempts to reap a process that has closed its socket; the first mostly succeeds."""

MAX_REAP_ATTEMPTS: Final = 200
"""Attempts after which a process that has closed its socket is killed."""

RECEIVE_BUFFER_BYTES: Final = MIB // 4
"""Received at a time: more than the responses of one notification mostly have."""

SOCKET_BUFFER_BYTES: Final = MIB
"""Requested from the kernel: the default, a fifth of it, holds fewer responses than a notification covers."""

_SIGNAL_NUMBERS: Final = frozenset(int(number) for number in signal.Signals)


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """The reason why a worker exited."""

    outcome: str
    """The outcome for the page that it was parsing."""
    message: str
    may_be_external: bool = False
    """Whether another process may have killed it, so that the page may not be the reason."""


class WorkerProcess(asyncio.Protocol):
    """A running worker and its sockets: one for requests and notifications, one for responses."""

    def __init__(
        self,
        pid: int,
        responses: socket.socket,
        *,
        on_response: Callable[[WorkerProcess, WorkerResponse], None],
        on_disconnect: Callable[[WorkerProcess], None],
    ) -> None:
        self.pid = pid
        self.is_ready = asyncio.get_running_loop().create_future()
        """Resolves to True once the worker is ready, or to False if it exits before."""
        self._kill_reason: WorkerExit | None = None
        self._on_response = on_response
        self._on_disconnect = on_disconnect
        self._responses = responses
        self._receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self._frames = FrameBuffer()
        self._transport: asyncio.WriteTransport | None = None
        self._exit_status: int | None = None
        self._peak_kib = 0
        self._initial_peak_kib = 0
        """Its peak at the start; a process inherits the peak of the one that started it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = transport  # type: ignore[assignment]  # a socket's transport

    def data_received(self, data: bytes) -> None:
        """Receive a notification."""
        del data
        self.collect_responses()

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the closed socket of a worker that exits; responses that it has sent still count."""
        del exc
        self.collect_responses()
        self._responses.close()
        self._set_ready(is_ready=False)
        self._on_disconnect(self)

    def collect_responses(self) -> None:
        """Handle the responses that have arrived, with or without notification; kill after invalid ones."""
        try:
            size = RECEIVE_BUFFER_BYTES
            while size == RECEIVE_BUFFER_BYTES:
                size = self._receive()
                for frame in self._frames.feed(self._receive_buffer[:size]):
                    self._handle_response(decode_response(frame))
        except ValueError as failure:
            self.kill(WorkerExit(ParseOutcome.CRASHED, str(failure)))

    def _receive(self) -> int:
        try:
            return self._responses.recv_into(self._receive_buffer)
        except OSError:  # nothing received, or closed
            return 0

    def send(self, pieces: list[bytes]) -> None:
        """Send requests."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(pieces)

    def kill(self, reason: WorkerExit) -> None:
        """Kill the worker at once."""
        if self._kill_reason is None and self._exit_status is None:
            self._kill_reason = reason
            os.kill(self.pid, signal.SIGKILL)

    def disconnect(self) -> None:
        """Close the socket, on which a worker exits."""
        if self._transport is not None:
            self._transport.abort()

    async def wait(self) -> None:
        """Wait until the process is gone; kill one that stays after it closed its socket."""
        attempts = 0
        while not self.reap():  # polled: SIGCHLD belongs to the whole process
            await asyncio.sleep(REAP_INTERVAL_SECONDS)
            attempts += 1
            if attempts == MAX_REAP_ATTEMPTS:
                self.kill(WorkerExit(ParseOutcome.CRASHED, "the worker closed its socket but did not exit"))

    def reap(self) -> bool:
        """Reap the process; return False while it still runs."""
        if self._exit_status is not None:
            return True
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:  # reaped elsewhere
            self._exit_status = 0
            return True
        if not pid:
            return False
        self._exit_status, self._peak_kib = status, usage.ru_maxrss
        return True

    def exit_reason(self, *, memory_mb: int) -> WorkerExit:
        """Return why the worker exited."""
        if self._kill_reason is not None:
            return self._kill_reason
        code = os.waitstatus_to_exitcode(self._exit_status or 0)
        name = signal.Signals(-code).name if -code in _SIGNAL_NUMBERS else f"exit code {code}"
        if -code == signal.SIGPROF:
            return WorkerExit(ParseOutcome.TIMED_OUT, "took more processor time than a page may")
        if -code in {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP} or code == 0:
            return WorkerExit(ParseOutcome.OUT_OF_MEMORY, f"ended from outside: {name}", may_be_external=True)
        if self._initial_peak_kib < self._peak_kib >= OUT_OF_MEMORY_SHARE * memory_mb * KIB_PER_MIB:
            return WorkerExit(ParseOutcome.OUT_OF_MEMORY, f"{name} with {self._peak_kib} KiB in use")
        return WorkerExit(ParseOutcome.CRASHED, name)

    def _handle_response(self, response: WorkerResponse) -> None:
        if response.kind == READY:
            self._initial_peak_kib = int(response.event)
            self._set_ready(is_ready=True)
        self._on_response(self, response)

    def _set_ready(self, *, is_ready: bool) -> None:
        if not self.is_ready.done():
            self.is_ready.set_result(is_ready)


async def start_worker(
    config: WorkerConfig,
    environ: Mapping[str, str],
    *,
    on_response: Callable[[WorkerProcess, WorkerResponse], None],
    on_disconnect: Callable[[WorkerProcess], None],
) -> WorkerProcess:
    """Start a process and connect to it; may raise OSError."""
    with ExitStack() as opened:
        requests, worker_requests = _socket_pair(opened)
        responses, worker_responses = _socket_pair(opened)
        pid = _spawn(config, environ, worker_requests, worker_responses)
        worker = WorkerProcess(pid, responses, on_response=on_response, on_disconnect=on_disconnect)
        worker_requests.close()
        worker_responses.close()
        opened.pop_all()
    await asyncio.get_running_loop().create_unix_connection(lambda: worker, sock=requests)
    return worker


def _socket_pair(opened: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Return the parent's end, non-blocking, and the worker's; both are closed with `opened`."""
    parent_end, worker_end = map(opened.enter_context, socket.socketpair())
    for end in (parent_end, worker_end):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)  # the kernel caps it
    parent_end.setblocking(False)  # noqa: FBT003  # the signature of socket
    return parent_end, worker_end


def _spawn(
    config: WorkerConfig, environ: Mapping[str, str], requests: socket.socket, responses: socket.socket
) -> int:
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", _MODULE, config.to_json()],
        {name: environ[name] for name in _PASSED_ENVIRONMENT & environ.keys()},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, requests.fileno(), 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, responses.fileno(), RESPONSES_FD),
        ],
    )

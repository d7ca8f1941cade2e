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

from .frames import READY, Answer, FrameBuffer, read_answer
from .worker import ANSWERS_FD, MIB, WorkerOrders

_MODULE: Final = "strider.parser.adapters.worker"

_PASSED_ON: Final = frozenset(
    [
        *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"),
        *("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH"),
    ]
)
"""All of the environment that a worker gets: it reads what strangers wrote, and needs no secrets."""

SHARE_OF_LIMIT: Final = 0.8
"""A process that had so much of its memory limit in use died of that."""

KIB_PER_MIB: Final = 1024
"""Linux counts the peak of a process in KiB. (macOS counts bytes; there the reason is less exact.)"""

REAP_SECONDS: Final = 0.005
"""Between looks whether a process that has closed its socket is gone; it mostly is at the first."""

LINGER_LOOKS: Final = 200
"""So many looks a process may take to go once its socket is closed."""

COLLECT_BYTES: Final = MIB // 4
"""Of answers, at a time: more than those of a bell mostly have."""

ROOM_BYTES: Final = MIB
"""Asked of the kernel for what lies in a socket: the usual fifth holds fewer answers than a bell has."""

_SIGNALS: Final = frozenset(int(number) for number in signal.Signals)


@dataclass(frozen=True, slots=True)
class Death:
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
        answers: socket.socket,
        *,
        on_answer: Callable[[WorkerProcess, Answer], None],
        on_gone: Callable[[WorkerProcess], None],
    ) -> None:
        self.pid = pid
        self.is_ready = asyncio.get_running_loop().create_future()
        """Done once it works (True) or is gone before (False)."""
        self._killed_for: Death | None = None
        self._on_answer = on_answer
        self._on_gone = on_gone
        self._answers = answers
        self._arrived = memoryview(bytearray(COLLECT_BYTES))
        self._frames = FrameBuffer()
        self._transport: asyncio.WriteTransport | None = None
        self._status: int | None = None
        self._peak_kib = 0
        self._first_peak_kib = 0
        """Its peak when it began; the kernel lets a process inherit that of the one that started it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to it."""
        self._transport = transport  # type: ignore[assignment]  # a socket's transport, whoever's loop this is

    def data_received(self, data: bytes) -> None:
        """Hear its bell."""
        del data
        self.collect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Its end of the sockets has closed, so it has ended or is about to; what it has answered counts."""
        del exc
        self.collect()
        self._answers.close()
        self._set_ready(is_ready=False)
        self._on_gone(self)

    def collect(self) -> None:
        """Hand on what it has answered so far, told of or not; what is no answer ends it."""
        try:
            size = COLLECT_BYTES
            while size == COLLECT_BYTES:
                size = self._receive()
                for frame in self._frames.feed(self._arrived[:size]):
                    self._take(read_answer(frame))
        except ValueError as failure:
            self.kill(Death(ParseOutcome.CRASHED, str(failure)))

    def _receive(self) -> int:
        try:
            return self._answers.recv_into(self._arrived)
        except OSError:  # nothing there, or nobody
            return 0

    def send(self, pieces: list[bytes]) -> None:
        """Hand over requests."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(pieces)

    def kill(self, why: Death) -> None:
        """End it at once."""
        if self._killed_for is None and self._status is None:
            self._killed_for = why
            os.kill(self.pid, signal.SIGKILL)

    def hang_up(self) -> None:
        """Close the socket, which a worker takes for its end."""
        if self._transport is not None:
            self._transport.abort()

    async def wait(self) -> None:
        """Wait until it is gone; one that closed its socket and stays is helped."""
        looks = 0
        while not self.reap():  # only the kernel knows, and its signal is for the whole process
            await asyncio.sleep(REAP_SECONDS)
            looks += 1
            if looks == LINGER_LOOKS:
                self.kill(Death(ParseOutcome.CRASHED, "it closed its socket and did not end"))

    def reap(self) -> bool:
        """Take its last words from the kernel; False while it still runs."""
        if self._status is not None:
            return True
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else has waited for it
            self._status = 0
            return True
        if not pid:
            return False
        self._status, self._peak_kib = status, usage.ru_maxrss
        return True

    def death(self, *, memory_mb: int) -> Death:
        """Say what it died of."""
        if self._killed_for is not None:
            return self._killed_for
        code = os.waitstatus_to_exitcode(self._status or 0)
        name = signal.Signals(-code).name if -code in _SIGNALS else f"exit code {code}"
        if -code == signal.SIGPROF:
            return Death(ParseOutcome.TIMED_OUT, "it took more processor time than a page may")
        if -code in {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP} or code == 0:
            return Death(ParseOutcome.OUT_OF_MEMORY, f"others have ended it: {name}", is_foreign=True)
        if self._first_peak_kib < self._peak_kib >= SHARE_OF_LIMIT * memory_mb * KIB_PER_MIB:
            return Death(ParseOutcome.OUT_OF_MEMORY, f"{name} with {self._peak_kib} KiB in use")
        return Death(ParseOutcome.CRASHED, name)

    def _take(self, answer: Answer) -> None:
        if answer.kind == READY:
            self._first_peak_kib = int(answer.event)
            self._set_ready(is_ready=True)
        self._on_answer(self, answer)

    def _set_ready(self, *, is_ready: bool) -> None:
        if not self.is_ready.done():
            self.is_ready.set_result(is_ready)


async def start_worker(
    orders: WorkerOrders,
    environ: Mapping[str, str],
    *,
    on_answer: Callable[[WorkerProcess, Answer], None],
    on_gone: Callable[[WorkerProcess], None],
) -> WorkerProcess:
    """Start a process and connect to it; may raise OSError."""
    with ExitStack() as opened:
        requests, their_requests = _pair(opened)
        answers, their_answers = _pair(opened)
        pid = _spawn(orders, environ, their_requests, their_answers)
        worker = WorkerProcess(pid, answers, on_answer=on_answer, on_gone=on_gone)
        their_requests.close()
        their_answers.close()
        opened.pop_all()
    await asyncio.get_running_loop().create_unix_connection(lambda: worker, sock=requests)
    return worker


def _pair(opened: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Give our end, which never waits, and theirs; both are closed with `opened`."""
    ours, theirs = map(opened.enter_context, socket.socketpair())
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM_BYTES)  # it gives what it may
    ours.setblocking(False)  # noqa: FBT003  # the socket's own shape
    return ours, theirs


def _spawn(
    orders: WorkerOrders, environ: Mapping[str, str], requests: socket.socket, answers: socket.socket
) -> int:
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", _MODULE, orders.to_json()],
        {name: environ[name] for name in _PASSED_ON & environ.keys()},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, requests.fileno(), 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, answers.fileno(), ANSWERS_FD),
        ],
    )

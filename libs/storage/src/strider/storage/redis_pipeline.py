"""One Redis connection that pipelines concurrent calls.

Commands of one turn of the event loop are sent together, and the replies arrive in the order of the calls:
both sides wake once for all of them. A pool gives each call a connection, a system call and a wake-up of its
own, which costs both sides several times what a frontier function does. The reply to a cancelled call is read
and dropped at its position, so it can never be taken for another's. Knows nothing of scripts, and nothing of
what an error means: callers get the library's errors.
"""

from __future__ import annotations

import asyncio
from asyncio import Future, Task, TimerHandle
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from hiredis import pack_command
from redis import exceptions
from redis.asyncio.connection import AbstractConnection

Argument = str | bytes | int

_CONNECTION_ERRORS: Final = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    OSError,
    EOFError,
    asyncio.TimeoutError,
)
"""Errors that end a connection, for all calls in flight."""


class RedisPipeline:
    """Connects on the first call, and again after each loss; every wait is bounded."""

    def __init__(
        self, connection: Callable[[], AbstractConnection], *, timeout_seconds: float, idle_seconds: float
    ) -> None:
        """Take a factory of connections without timeouts: time is kept here, for all calls together."""
        self._new_connection = connection
        self._timeout_seconds = timeout_seconds
        self._idle_seconds = idle_seconds
        self._connecting: Task[None] | None = None
        self._connection: AbstractConnection | None = None
        self._tasks: tuple[Task[None], ...] = ()
        self._unsent: list[bytes] = []
        self._has_unsent = asyncio.Event()
        self._waiting: deque[tuple[Future[Any], float]] = deque()
        """Calls that wait for a reply, in the order of the replies, with their start times."""
        self._timeout_timer: TimerHandle | None = None
        self._last_reply_at = 0.0
        self._disconnects: set[Task[None]] = set()

    async def execute(self, words: Sequence[Argument]) -> Any:
        """Send a command and return its reply. Raises the library's errors."""
        await self._ensure_connected()
        return await self._send(words)

    async def execute_all(self, commands: Iterable[Sequence[Argument]]) -> list[Any]:
        """Send commands in one write and return their replies, error replies included. Raises a lost one."""
        await self._ensure_connected()
        answers = [self._send(words) for words in commands]
        found = await asyncio.gather(*answers, return_exceptions=True)
        for each in found:
            if isinstance(each, BaseException) and not isinstance(each, exceptions.ResponseError):
                raise each
        return found

    async def _ensure_connected(self) -> None:
        now = asyncio.get_running_loop().time()
        if (
            self._connection is not None
            and not self._waiting
            and now - self._last_reply_at > self._idle_seconds
        ):
            self._disconnect("idle for so long that the connection may be dead")
        while self._connection is None:
            await self._await_connection()

    def _send(self, words: Sequence[Argument]) -> Future[Any]:
        """Queue a command of this turn of the loop; there is a connection."""
        loop = asyncio.get_running_loop()
        answer: Future[Any] = loop.create_future()
        self._waiting.append((answer, loop.time()))
        packed: bytes = pack_command(tuple(words))  # type: ignore[arg-type]  # its stub lacks an ellipsis
        self._unsent.append(packed)
        self._has_unsent.set()
        if self._timeout_timer is None:
            self._timeout_timer = loop.call_later(self._timeout_seconds, self._check_timeouts)
        return answer

    async def close(self) -> None:
        """Close the connection; calls in flight fail."""
        if self._connecting is not None:
            self._connecting.cancel()
        works = self._tasks
        self._disconnect("the connection was closed")
        await asyncio.gather(*works, *self._disconnects, return_exceptions=True)

    async def _await_connection(self) -> None:
        """Wait for one attempt to connect, shared by all calls meanwhile."""
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect(), name="connect to redis")
            self._connecting.add_done_callback(_retrieve_exception)
        attempt = self._connecting
        try:
            await asyncio.shield(attempt)
        except asyncio.CancelledError:
            if not attempt.cancelled():
                raise
            raise exceptions.ConnectionError("the connection was closed") from None

    async def _connect(self) -> None:
        try:
            connection = await self._open_connection()
        finally:
            self._connecting = None
        self._connection = connection
        self._last_reply_at = asyncio.get_running_loop().time()
        self._tasks = (
            asyncio.create_task(self._write(connection), name="write to redis"),
            asyncio.create_task(self._read(connection), name="read from redis"),
        )

    async def _open_connection(self) -> AbstractConnection:
        connection = self._new_connection()  # reads a file of the library, which may fail as well
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await connection.connect()  # type: ignore[no-untyped-call]  # the library's
        except TimeoutError:
            await connection.disconnect(nowait=True)
            raise exceptions.TimeoutError("no connection in time") from None
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        return connection

    async def _write(self, connection: AbstractConnection) -> None:
        try:
            while True:
                await self._has_unsent.wait()
                self._has_unsent.clear()
                unsent, self._unsent = self._unsent, []
                await connection.send_packed_command(unsent, check_health=False)
        except _CONNECTION_ERRORS as failure:
            self._on_connection_lost(connection, str(failure) or type(failure).__name__)

    async def _read(self, connection: AbstractConnection) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                answer: Any
                try:
                    answer = await connection.read_response(disconnect_on_error=False)
                except exceptions.ResponseError as refusal:
                    answer = refusal
                waiting, _ = self._waiting.popleft()
                self._last_reply_at = loop.time()
                if waiting.done():  # cancelled
                    continue
                if isinstance(answer, exceptions.ResponseError):
                    waiting.set_exception(answer)
                else:
                    waiting.set_result(answer)
        except (*_CONNECTION_ERRORS, exceptions.InvalidResponse, IndexError) as failure:
            self._on_connection_lost(connection, str(failure) or type(failure).__name__)

    def _check_timeouts(self) -> None:
        """Fail the calls that have timed out; drop a connection without any replies."""
        self._timeout_timer = None
        loop = asyncio.get_running_loop()
        late = loop.time() - self._timeout_seconds
        if self._waiting and max(self._waiting[0][1], self._last_reply_at) <= late:
            self._disconnect("no reply in time")
            return
        for each, since in self._waiting:
            if since > late:
                self._timeout_timer = loop.call_at(since + self._timeout_seconds, self._check_timeouts)
                return
            if not each.done():
                each.set_exception(exceptions.TimeoutError("no reply in time"))
        if self._waiting:  # all have failed, and their replies may still come
            self._timeout_timer = loop.call_later(self._timeout_seconds, self._check_timeouts)

    def _on_connection_lost(self, connection: AbstractConnection, why: str) -> None:
        if connection is self._connection:
            self._disconnect(why)

    def _disconnect(self, why: str) -> None:
        """Drop the connection; calls in flight fail as lost."""
        connection, works, waiting = self._connection, self._tasks, self._waiting
        self._connection, self._tasks, self._waiting, self._unsent = None, (), deque(), []
        self._has_unsent.clear()
        if self._timeout_timer is not None:
            self._timeout_timer.cancel()
            self._timeout_timer = None
        for each, _ in waiting:
            if not each.done():
                each.set_exception(exceptions.ConnectionError(why))
        for work in works:
            if work is not asyncio.current_task():
                work.cancel()
        if connection is not None:
            ending = asyncio.create_task(connection.disconnect(nowait=True), name="disconnect from redis")
            self._disconnects.add(ending)
            ending.add_done_callback(self._disconnects.discard)


def _retrieve_exception(attempt: Task[None]) -> None:
    """Retrieve a failure even where all calls that waited for it were cancelled."""
    if not attempt.cancelled():
        attempt.exception()

"""uvicorn within the service's process: its signals, its logs, its order of stopping."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn

from strider.api import log_events
from strider.messaging.errors import StartRefused
from strider.runtime.observability.logging import logger

from .http_connection import ConnectionLimits, connection_class

GRACE_SECONDS: Final = 3
"""For requests in flight when the process stops; the runtime gives a part 5 s to close."""
_POLL_SECONDS: Final = 0.02

_log = logger("api")


class _Server(uvicorn.Server):
    """A server that leaves signals to the process that it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class HttpServer:
    """Serves an application from `start` until `close`."""

    def __init__(self, app: Any, *, host: str, port: int, limits: ConnectionLimits) -> None:
        self._host = host
        self._port = port
        self._server = _Server(
            uvicorn.Config(
                app,
                http=connection_class(limits),
                log_config=None,
                log_level="warning",
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen and serve; raises StartRefused where the address is not available."""
        listener = _listening(self._host, self._port)
        address = listener.getsockname()
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]), name="http")
        while not self._server.started:  # the library has a flag, and no event
            if self._serving.done():
                await self._serving
            await asyncio.sleep(_POLL_SECONDS)
        name = f"[{address[0]}]" if ":" in address[0] else address[0]
        _log.emit(log_events.API_LISTENING, url=f"http://{name}:{address[1]}")

    async def run(self) -> None:
        """Run as long as the server does; raises what ended it."""
        assert self._serving is not None, "call start() first"
        await asyncio.shield(self._serving)

    async def close(self) -> None:
        """Accept no more requests, and finish those in flight."""
        if self._serving is None:
            return
        self._server.should_exit = True
        await asyncio.wait([self._serving])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as failure:
        raise StartRefused(f"STRIDER_API_HOST: {host} cannot be used: {failure.strerror}") from failure
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as failure:
        listener.close()
        raise StartRefused(
            f"STRIDER_API_PORT: {host}:{port} is not available: {failure.strerror}"
        ) from failure
    listener.setblocking(False)  # noqa: FBT003  # the library's own shape
    return listener

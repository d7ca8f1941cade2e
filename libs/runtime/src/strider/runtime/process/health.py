"""Where a process answers how it is: `/livez`, `/readyz`, `/metrics`.

Runs on the event loop that does the work, so that an answer of `/livez` proves that the loop turns.
Decides nothing: what is ready is `readiness`' matter, what is counted is `metrics`'; how a question is
read is `health_asking`'s.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from strider.messaging.errors import InfrastructureError

from .health_http import BadHealthRequest, HealthResponse, read_request, render_response
from .readiness import Readiness

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
MAX_CONNECTIONS: Final = 64
"""More at a time are closed unheard: whoever floods the probes must not take the process's files."""
CONNECTION_TIMEOUT_SECONDS: Final = 5.0
"""For the question to come, and for the answer to be taken."""


class HealthPortUnavailable(InfrastructureError):
    """The port to listen on is somebody else's, or no address of this machine."""

    def __init__(self, host: str, port: int, cause: str) -> None:
        super().__init__(
            f"cannot listen on {host}:{port}: {cause}; "
            "set STRIDER_HEALTH_PORT to a free port, or to 0 to have one chosen"
        )


class HealthServer:
    """The small HTTP server of a process: one question a connection.

    Three fixed answers need no web framework, and loading one was a fifth of a service's start.
    """

    def __init__(
        self,
        *,
        service: str,
        readiness: Readiness,
        metrics: Callable[[], bytes],
        details: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._service = service
        self._readiness = readiness
        self._metrics = metrics
        self._details = details
        self._server: asyncio.Server | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._paths: Final = {"/livez": self.livez, "/readyz": self.readyz, "/metrics": self.metrics}
        self.port = 0

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port; raises AddressTaken where that is impossible."""
        try:
            self._server = await asyncio.start_server(self._hear, host, port)
        except OSError as error:
            raise HealthPortUnavailable(host, port, error.strerror or str(error)) from error
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self.port

    async def close(self) -> None:
        """Stop listening; whoever is being answered has a moment more."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        if self._asking:
            _, late = await asyncio.wait(self._asking, timeout=1.0)
            for task in late:
                task.cancel()

    def respond(self, method: str, path: str) -> HealthResponse:
        """Answer one question; never raises."""
        tell = self._paths.get(path)
        if tell is None:
            return HealthResponse(404, "text/plain", f"there are {' '.join(self._paths)}\n".encode())
        if method not in ("GET", "HEAD"):
            return HealthResponse(405, "text/plain", b"GET or HEAD\n", (("Allow", "GET, HEAD"),))
        try:
            return tell()
        except Exception as failure:  # noqa: BLE001  # a probe must be told what is wrong, not be cut off
            return HealthResponse(500, "text/plain", f"{type(failure).__name__}: {failure}\n".encode())

    def livez(self) -> HealthResponse:
        """Answer that the event loop turns; anything more would restart processes that only wait."""
        return HealthResponse(200, "text/plain; charset=utf-8", b"alive\n")

    def readyz(self) -> HealthResponse:
        """Answer 200 where the work can be done, else 503; with every reason either way."""
        report = {"service": self._service, **self._readiness.report(), **self._details()}
        text = json.dumps(report, indent=1, default=str) + "\n"
        return HealthResponse(
            200 if report["ready"] else 503, "application/json; charset=utf-8", text.encode()
        )

    def metrics(self) -> HealthResponse:
        """Answer with everything that is counted, in Prometheus' text format."""
        return HealthResponse(200, METRICS_TYPE, self._metrics())

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._asking) >= MAX_CONNECTIONS:
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._asking.add(task)
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECTION_TIMEOUT_SECONDS):
                    await self._serve(reader, writer)
        finally:
            self._asking.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method = "GET"
        try:
            method, path = await read_request(reader)
            answer = self.respond(method, path)
        except BadHealthRequest as wrong:
            answer = HealthResponse(wrong.status, "text/plain", f"{wrong}\n".encode())
        writer.write(render_response(answer, has_body=method != "HEAD"))
        await writer.drain()

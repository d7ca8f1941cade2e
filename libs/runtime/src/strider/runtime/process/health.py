"""Health server of a process, and its readiness with the reasons against it.

The server (`/livez`, `/readyz`, `/metrics`) runs on the event loop that does the work, so that a response of
`/livez` proves that the loop runs. The head of a request is bounded in size; what it carries besides its
first line is ignored. Readiness collects the phase, the state of each dependency and the pauses of the
consumers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from strider.messaging.errors import InfrastructureError, Unavailable
from strider.messaging.ports import Clock

from .connection_table import ConnectionTable, client_of

STARTING: Final = "starting"
RUNNING: Final = "running"
STOPPING: Final = "stopping"


PROBE_TIMEOUT_SECONDS: Final = 5.0
"""A dependency that takes longer to respond counts as unavailable."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Something outside that this process needs, and how to probe it."""

    name: str
    ping: Callable[[], Awaitable[None]]
    """Returns where it responds (`SELECT 1`, PING, metadata), raises Unavailable where it does not."""
    reconnect: Callable[[], Awaitable[None]] | None = None
    """Replaces connections that may be dead; raises Unavailable where it cannot."""
    is_vital: bool = True
    """Whether the process cannot work without it; else its state is shown, and nothing waits for it."""


@dataclass(frozen=True, slots=True)
class DependencyState:
    """State of a dependency when it was last probed."""

    name: str
    ok: bool
    detail: str
    since: float
    """Monotonic time of the last change."""
    is_vital: bool = True


class Readiness:
    """State of the process, for its probes and for the watchdog."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._dependencies: dict[str, DependencyState] = {}
        self._pauses: list[Callable[[], Iterable[str]]] = []
        self._exempt_pauses: list[Callable[[], Iterable[str]]] = []
        self.phase = STARTING
        self.step = ""
        """The dependency that the current phase waits for."""

    def register(self, name: str, *, is_vital: bool = True) -> None:
        """Register a dependency before its first probe: unknown is not ready."""
        since = self._clock.monotonic()
        unknown = DependencyState(name, ok=False, detail="not probed yet", since=since, is_vital=is_vital)
        self._dependencies.setdefault(name, unknown)

    def record(self, name: str, *, ok: bool, detail: str = "") -> bool:
        """Record the state of a dependency; return whether it has changed."""
        before = self._dependencies.get(name)
        changed = before is None or before.ok != ok
        since = self._clock.monotonic() if changed or before is None else before.since
        is_vital = before is None or before.is_vital
        self._dependencies[name] = DependencyState(name, ok=ok, detail=detail, since=since, is_vital=is_vital)
        return changed

    def watch_pauses(
        self, pauses: Callable[[], Iterable[str]], *, exempt: Callable[[], Iterable[str]] | None = None
    ) -> None:
        """Add a source of pauses, called whenever the state is read.

        `exempt` yields those pauses for which work may wait without a limit; all, where it is not given.
        """
        self._pauses.append(pauses)
        self._exempt_pauses.append(exempt or pauses)

    def pauses(self) -> tuple[str, ...]:
        """Return the reasons for which consumption is paused now."""
        return _gather(self._pauses)

    def dependencies(self) -> Mapping[str, DependencyState]:
        """Return the dependencies, by name."""
        return dict(self._dependencies)

    def reasons(self) -> list[str]:
        """Return why the process is not ready; empty where it is."""
        return [*self._process_reasons(), *(f"paused: {reason}" for reason in self.pauses())]

    def exempt_reasons(self) -> list[str]:
        """Return why nothing need move, however long it takes: the pauses that the watchdog accepts."""
        return [*self._process_reasons(), *(f"paused: {reason}" for reason in _gather(self._exempt_pauses))]

    def _process_reasons(self) -> list[str]:
        reasons = []
        if self.phase != RUNNING:
            reasons.append(f"{self.phase}: {self.step}" if self.step else self.phase)
        reasons += [
            f"{state.name}: {state.detail or 'does not answer'}"
            for state in self._dependencies.values()
            if state.is_vital and not state.ok
        ]
        return reasons

    def report(self) -> dict[str, Any]:
        """Return the whole state, for `/readyz`."""
        now = self._clock.monotonic()
        reasons = self.reasons()
        return {
            "ready": not reasons,
            "phase": self.phase,
            "reasons": reasons,
            "dependencies": {
                state.name: {
                    "ok": state.ok,
                    "why": state.detail,
                    "for_seconds": round(now - state.since, 1),
                }
                for state in self._dependencies.values()
            },
            "pauses": list(self.pauses()),
        }


def _gather(sources: Iterable[Callable[[], Iterable[str]]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for source in sources for reason in source()))


async def probe_dependency(dependency: Dependency) -> str:
    """Probe a dependency: empty where it responds in time, else what is wrong."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            await dependency.ping()
    except Unavailable as error:
        return error.detail
    except TimeoutError:
        return f"no response within {PROBE_TIMEOUT_SECONDS:g} s"
    return ""


MAX_HEAD_BYTES: Final = 16 * 1024
_REQUEST_LINE_PARTS: Final = 3

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

MAX_CONNECTIONS: Final = 64
"""A further connection displaces the oldest: silent ones must neither use up the process's files nor keep
probes out.
"""

CONNECTION_TIMEOUT_SECONDS: Final = 5.0
"""For the request to arrive, and for the response to be taken."""


@dataclass(frozen=True, slots=True)
class HealthResponse:
    """Response to a probe or scraper."""

    status: int
    content_type: str
    body: bytes
    headers: Sequence[tuple[str, str]] = ()


class BadHealthRequest(Exception):
    """Not an HTTP request, or one that is too long; the message says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str]:
    """Return method and path of a request; raise BadHealthRequest, or ConnectionError at its end."""
    head = b""
    while b"\r\n\r\n" not in head and b"\n\n" not in head:
        if len(head) > MAX_HEAD_BYTES:
            raise BadHealthRequest(431, f"a head of more than {MAX_HEAD_BYTES} bytes")
        part = await reader.read(MAX_HEAD_BYTES)
        if not part:
            raise ConnectionError("closed before the request was complete")
        head += part
    parts = head.split(b"\n", 1)[0].decode("latin-1").split()
    if len(parts) != _REQUEST_LINE_PARTS or not parts[2].startswith("HTTP/1."):
        raise BadHealthRequest(400, "not a request of HTTP/1.1")
    return parts[0], parts[1].partition("?")[0]


def render_response(response: HealthResponse, *, has_body: bool) -> bytes:
    """Encode a response; the connection ends with it."""
    lines = [
        f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
        f"Content-Type: {response.content_type}",
        f"Content-Length: {len(response.body)}",
        *(f"{name}: {value}" for name, value in response.headers),
        "Connection: close",
    ]
    return "\r\n".join((*lines, "", "")).encode() + (response.body if has_body else b"")


class HealthPortUnavailable(InfrastructureError):
    """The port is in use, or the address is none of this machine."""

    def __init__(self, host: str, port: int, cause: str) -> None:
        super().__init__(
            f"cannot listen on {host}:{port}: {cause}; "
            "set STRIDER_HEALTH_PORT to a free port, or to 0 to have one chosen"
        )


class HealthServer:
    """The small HTTP server of a process: one request a connection.

    Three fixed responses need no web framework, and loading one was a fifth of a service's start.
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
        self._open_connections: set[asyncio.Task[None]] = set()
        # Each response is one write, so that no connection has work that could be lost.
        self._table = ConnectionTable[asyncio.Task[None]](
            total=MAX_CONNECTIONS, per_client=MAX_CONNECTIONS, is_idle=lambda _task: True
        )
        self._paths: Final = {"/livez": self.livez, "/readyz": self.readyz, "/metrics": self.metrics}
        self.port = 0

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port; raises HealthPortUnavailable where that is impossible."""
        try:
            self._server = await asyncio.start_server(self._on_connection, host, port)
        except OSError as error:
            raise HealthPortUnavailable(host, port, error.strerror or str(error)) from error
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self.port

    async def close(self) -> None:
        """Stop listening; open connections have a moment more."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        if self._open_connections:
            _, late = await asyncio.wait(self._open_connections, timeout=1.0)
            for task in late:
                task.cancel()

    def respond(self, method: str, path: str) -> HealthResponse:
        """Return the response to a request; never raise."""
        handler = self._paths.get(path)
        if handler is None:
            return HealthResponse(404, "text/plain", f"there are {' '.join(self._paths)}\n".encode())
        if method not in ("GET", "HEAD"):
            return HealthResponse(405, "text/plain", b"GET or HEAD\n", (("Allow", "GET, HEAD"),))
        try:
            return handler()
        except Exception as failure:  # noqa: BLE001  # a probe must get the reason, not a closed connection
            return HealthResponse(500, "text/plain", f"{type(failure).__name__}: {failure}\n".encode())

    def livez(self) -> HealthResponse:
        """Return 200 while the event loop runs; any further check would restart processes that only wait."""
        return HealthResponse(200, "text/plain; charset=utf-8", b"alive\n")

    def readyz(self) -> HealthResponse:
        """Return 200 where the process is ready, else 503; with every reason either way."""
        report = {"service": self._service, **self._readiness.report(), **self._details()}
        text = json.dumps(report, indent=1, default=str) + "\n"
        return HealthResponse(
            200 if report["ready"] else 503, "application/json; charset=utf-8", text.encode()
        )

    def metrics(self) -> HealthResponse:
        """Return all metrics in Prometheus' text format."""
        return HealthResponse(200, METRICS_TYPE, self._metrics())

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open_connections.add(task)
        address = writer.get_extra_info("peername")
        displaced = self._table.admit(client_of(str(address[0])) if address else "", task).displaced
        if displaced is not None:
            displaced.cancel()
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECTION_TIMEOUT_SECONDS):
                    await self._serve(reader, writer)
        finally:
            self._table.remove(task)
            self._open_connections.discard(task)
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

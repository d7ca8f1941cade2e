"""HTTP server of a generated site: keep-alive, gzip, access log with monotonic times.

Started as a process of its own by `process.serve_site`, with seed and shape as JSON on the command line, so
that only numbers travel. Ends with its standard input, that is with its parent.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO

import uvloop

from .models import PathKind, PlannedResponse, SitePlan, SiteShape
from .plan import make_plan

_REASONS: Final = {200: "OK", 302: "Found", 404: "Not Found", 429: "Too Many Requests", 500: "Oops"}
_LARGEST_HEAD: Final = 65_536
_PULSE_SECONDS: Final = 0.02


class EventLoopPulse:
    """Measures since when this process has not read its sockets, however long it was not scheduled.

    Data is read after the pulse that follows its arrival, before the next one. So what is read now came after
    the last pulse but one: the last may be as late as the reading is.
    """

    def __init__(self) -> None:
        self.read_no_earlier_than = self._last = time.monotonic()

    def beat(self) -> None:
        """Record a pulse, and schedule the next."""
        self.read_no_earlier_than, self._last = self._last, time.monotonic()
        asyncio.get_running_loop().call_later(_PULSE_SECONDS, self.beat)


class SiteServer:
    """The site, its rendered responses and its access log."""

    def __init__(self, plan: SitePlan, log: TextIO | None, *, latency_seconds: float = 0.0) -> None:
        self._plan = plan
        self._log = log
        self._latency_seconds = latency_seconds
        self._ready: dict[tuple[str, str, bool], bytes] = {}
        self._failed: Counter[tuple[str, str]] = Counter()
        self.connections = 0
        self.pulse = EventLoopPulse()

    def render_all(self) -> None:
        """Render every response now, so that the first request waits no longer than the next."""
        for (host, path), answer in self._plan.responses.items():
            self._ready[host, path, True] = _render(answer, takes_gzip=True)

    def planned_response(self, host: str, path: str) -> PlannedResponse | None:
        """Return the planned response of a path."""
        return self._plan.responses.get((host, path))

    def wait_seconds(self, host: str, path: str) -> float:
        """Return the duration of a response."""
        answer = self.planned_response(host, path)
        return (answer.delay_seconds if answer else 0.0) or self._latency_seconds

    def response(self, host: str, path: str, *, takes_gzip: bool) -> tuple[int, bytes]:
        """Return status and bytes of a response; repeats are cached."""
        answer = self.planned_response(host, path)
        if answer is None:
            return 404, _message(404, b"<h1>Nothing here</h1>", [])
        if answer.failures > self._failed[host, path]:
            self._failed[host, path] += 1
            headers = [("Retry-After", "1")] if answer.kind is PathKind.BUSY else []
            status = 429 if answer.kind is PathKind.BUSY else 500
            return status, _message(status, b"<h1>Not now</h1>", headers)
        place = (host, path, takes_gzip)
        if place not in self._ready:
            self._ready[place] = _render(answer, takes_gzip=takes_gzip)
        return answer.status, self._ready[place]

    def log(self, **line: object) -> None:
        """Write one line of the access log; flushed at once, because the reader is another process.

        A delayed request has two lines: at its arrival, and at its response.
        """
        if self._log is not None:
            self._log.write(json.dumps(line) + "\n")
            self._log.flush()


def _render(answer: PlannedResponse, *, takes_gzip: bool) -> bytes:
    headers = [("Location", answer.location)] * bool(answer.location)
    headers.append(("Content-Type", answer.content_type))
    body = answer.body
    if takes_gzip and len(body) > 200:  # noqa: PLR2004  # shorter ones grow
        body = gzip.compress(body, 6, mtime=0)
        headers.append(("Content-Encoding", "gzip"))
    return _message(answer.status, body, headers)


def _message(status: int, body: bytes, headers: list[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class _Connection(asyncio.Protocol):
    """One client. Requests of a connection are answered in turn."""

    def __init__(self, served: SiteServer) -> None:
        self._served = served
        self._buffer = b""
        self._transport: Any = None
        served.connections += 1
        self._number = served.connections
        self._waits = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _LARGEST_HEAD:
            self._transport.close()
            return
        self._go_on()

    def _go_on(self) -> None:
        while not self._waits and b"\r\n\r\n" in self._buffer:
            head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            self._request(head.decode("latin-1"))

    def _request(self, head: str) -> None:
        started = time.monotonic()
        first, *lines = head.split("\r\n")
        method, _, rest = first.partition(" ")
        path = rest.rpartition(" ")[0]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        host = headers.get("host", "")
        takes_gzip = "gzip" in headers.get("accept-encoding", "")
        status, message = self._served.response(host, path, takes_gzip=takes_gzip)
        wait_seconds = self._served.wait_seconds(host, path)
        line = {
            "host": host,
            "path": path,
            "method": method,
            "status": status,
            "started": started,
            "earliest": self._served.pulse.read_no_earlier_than,
            "connection": self._number,
            "agent": headers.get("user-agent", ""),
        }
        if wait_seconds:
            self._waits = True
            self._served.log(**line, ended=None)
            asyncio.get_running_loop().call_later(wait_seconds, self._finish, message, line)
        else:
            self._finish(message, line)

    def _finish(self, message: bytes, line: dict[str, object]) -> None:
        self._served.log(**line, ended=time.monotonic())
        if not self._transport.is_closing():
            self._transport.write(message)
        if self._waits:
            self._waits = False
            self._go_on()


def _raise_priority() -> None:
    """Raise the priority, to log requests on arrival on a busy machine; only root may do that."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)


async def _serve(order: dict[str, Any], log: TextIO | None) -> None:
    loop = asyncio.get_running_loop()
    addresses: list[str] = order["addresses"]
    served: list[SiteServer] = []

    def connection() -> _Connection:
        return _Connection(served[0])

    first = await loop.create_server(connection, addresses[0], order["port"], backlog=512)
    port = first.sockets[0].getsockname()[1]
    for address in addresses[1:]:
        await loop.create_server(connection, address, port, backlog=512)
    origins = [f"http://{name}:{port}" for name in order["names"]]
    shape = SiteShape(**order["shape"])
    plan = make_plan(order["seed"], origins, shape)
    served.append(SiteServer(plan, log, latency_seconds=shape.latency_seconds))
    if shape.is_plain:
        served[0].render_all()
    if log is not None:
        served[0].pulse.beat()
    print(port, flush=True)  # noqa: T201  # the caller that started us waits for it
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    """Serve the site of the command line, until standard input ends."""
    order = json.loads(sys.argv[1])
    if not order["log"]:
        uvloop.run(_serve(order, None))
        return
    _raise_priority()
    with Path(order["log"]).open("a", encoding="utf-8") as log:
        uvloop.run(_serve(order, log))


if __name__ == "__main__":
    main()

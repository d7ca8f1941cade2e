"""Where a process answers how it is: `/livez`, `/readyz`, `/metrics`.

Runs on the event loop that does the work, so that an answer of `/livez` proves that the loop turns.
Decides nothing: what is ready is `readiness`' matter, what is counted is `metrics`'.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from .errors import RuntimeFailure
from .readiness import Readiness

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class AddressTaken(RuntimeFailure):
    """The port to listen on is somebody else's, or no address of this machine."""

    def __init__(self, host: str, port: int, cause: str) -> None:
        super().__init__(
            f"cannot listen on {host}:{port}: {cause}; "
            "set STRIDER_HEALTH_PORT to a free port, or to 0 to have one chosen"
        )


class HealthServer:
    """The small HTTP server of a process."""

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
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port; raises AddressTaken where that is impossible."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/livez", self.livez),
                web.get("/readyz", self.readyz),
                web.get("/metrics", self.metrics),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        try:
            await site.start()
        except OSError as error:
            await self.close()
            raise AddressTaken(host, port, error.strerror or str(error)) from error
        self.port = int(self._runner.addresses[0][1])
        return self.port

    async def close(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def livez(self, _request: web.Request) -> web.Response:
        """Answer that the event loop turns; anything more would restart processes that only wait."""
        return web.Response(text="alive\n")

    async def readyz(self, _request: web.Request) -> web.Response:
        """Answer 200 where the work can be done, else 503; with every reason either way."""
        report = {"service": self._service, **self._readiness.report(), **self._details()}
        text = json.dumps(report, indent=1, default=str) + "\n"
        return web.Response(
            text=text, status=200 if report["ready"] else 503, content_type="application/json"
        )

    async def metrics(self, _request: web.Request) -> web.Response:
        """Answer with everything that is counted, in Prometheus' text format."""
        return web.Response(body=self._metrics(), headers={"Content-Type": METRICS_TYPE})

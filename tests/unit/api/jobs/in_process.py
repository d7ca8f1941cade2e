"""A transport that sends the requests of a synchronous client to an application in this process."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx


class InProcessTransport(httpx.BaseTransport):
    """Calls the application for each request, in an event loop of its own."""

    def __init__(self, app: Any) -> None:
        self._asgi = httpx.ASGITransport(app, raise_app_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run(self._respond(request))

    async def _respond(self, request: httpx.Request) -> httpx.Response:
        sent = httpx.Request(
            request.method, request.url, headers=request.headers, content=request.read(), extensions={}
        )
        response = await self._asgi.handle_async_request(sent)
        content = await response.aread()
        return httpx.Response(response.status_code, headers=response.headers, content=content)

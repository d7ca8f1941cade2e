"""A program: send requests to one server until no local port is left, and one more after a connection ended.

Prints the status of each response, or why there was none. It is run in a network of its own.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

from strider.fetcher.adapters import FetchFailure
from strider.fetcher.adapters.http.connector import HttpConnector
from strider.fetcher.adapters.http.timeline import RequestTimeline
from strider.testing.hostile import http_response, sends, serve_hostile
from tests.integration.fetcher.http.runner import running_client

CLIENTS = 8
"""More than there are ports."""


async def _status(connector: HttpConnector, url: str) -> int:
    timeline = RequestTimeline(asyncio.get_running_loop().time)
    response = await connector.send(url, [], timeline=timeline)
    async for _ in response.body:
        pass
    response.body.close(is_whole=True)
    return response.status


def _write(line: object) -> None:
    sys.stdout.write(f"{line}\n")


async def _run() -> None:
    async with AsyncExitStack() as opened:
        server = await opened.enter_async_context(serve_hostile({"/": sends(http_response())}))
        clients = [(await opened.enter_async_context(running_client())).connector for _ in range(CLIENTS)]
        for connector in clients:  # each has a connection of its own, and keeps it
            try:
                _write(await _status(connector, server.url("/")))
            except FetchFailure as failure:
                _write(failure)
                break
        _write(await _status(clients[0], server.url("/")))


if __name__ == "__main__":
    asyncio.run(_run())

"""Log of requests: who changed what, and what was refused. Successful reading is not logged.

The query is left out, and so are headers and bodies: they may have secrets.
"""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from strider.api import log_events
from strider.runtime.observability.logging import logger

READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_PATH_CHARS: Final = 200

_log = logger("api")


class RequestLog:
    """Middleware that logs requests; `authorize` puts the subject of the token into their state."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and log it once its response has begun, or has failed."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        state = scope.setdefault("state", {})
        began = time.monotonic()

        async def send_logged(message: Message) -> None:
            if message["type"] == "http.response.start":
                _log_request(scope, message["status"], state.get("subject", ""), time.monotonic() - began)
            await send(message)

        try:
            return await self._app(scope, receive, send_logged)
        except Exception:
            _log_request(scope, 500, state.get("subject", ""), time.monotonic() - began)
            raise


def _log_request(scope: Scope, status: int, subject: str, seconds: float) -> None:
    if scope["method"] in READING and status < HTTPStatus.BAD_REQUEST:
        return
    _log.emit(
        log_events.API_REQUEST_HANDLED,
        method=scope["method"][:20],
        path=scope["path"][:MAX_PATH_CHARS],
        status=status,
        by=subject,
        seconds=round(seconds, 3),
    )

"""Aliases: paths without the version, or of another one, of routes that are described.

A request to an alias is routed once more under the other path, so that both have the same role, parameters
and responses. The OpenAPI document describes the paths with the version alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "/api/health": "/api/v1/health",
        "/api/seeds": "/api/v1/seeds",
        "/api/pages": "/api/v1/pages",
        "/api/pages/{key}": "/api/v1/pages/{key}",
        "/api/decisions": "/api/v1/decisions",
        "/api/stats": "/api/v1/stats",
        "/api/frontier": "/api/v1/frontier",
        "/api/frontier/urls": "/api/v1/frontier",
        "/api/frontier/add": "/api/v1/frontier",
        "/api/frontier/recover": "/api/v1/frontier/recover",
        "/api/v1/jobs/{job_id}/force-run": "/api/v2/jobs/{job_id}/force-run",
    }
)
"""Alias → path that serves it, with the same parameters."""


_OF_THE_ALIAS: Final = frozenset({"path_params", "endpoint", "route"})
"""Added by the router when it finds the route of a request."""


class _Forward:
    """Routes a request under another path."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = self._path.format(**scope["path_params"])
        kept = {name: value for name, value in scope.items() if name not in _OF_THE_ALIAS}
        await scope["app"].router({**kept, "path": path, "raw_path": quote(path).encode()}, receive, send)


def serve_aliases(app: FastAPI) -> None:
    """Add a route for each alias; raises ValueError for one that leads nowhere."""
    served = set(app.openapi()["paths"])
    for alias, path in ALIASES.items():
        if path not in served:
            raise ValueError(f"alias {alias}: there is no route {path}")
        app.router.routes.append(Route(alias, _Forward(path), include_in_schema=False))

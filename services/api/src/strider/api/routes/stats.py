"""Public statistics: GET /api/v1/stats, anonymous, without URLs or names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from fastapi import APIRouter, Depends, Response

from .pages import only
from .response_models import StatsResponse, problems


class PublicFigures(Protocol):
    """Figures of the crawl."""

    async def read(self) -> Mapping[str, Any]:
        """Return the figures of the last seconds; null for what does not respond."""


def stats_routes(figures: PublicFigures) -> APIRouter:
    """Build the route."""
    router = APIRouter(tags=["statistics"])

    @router.get(
        "/api/v1/stats",
        response_model=StatsResponse,
        responses=problems(422),
        dependencies=[Depends(only())],
    )
    async def stats(response: Response) -> Mapping[str, Any]:
        """Return figures of the crawl: pages, hosts, runs by state; read once in five seconds for all."""
        response.headers["Cache-Control"] = "public, max-age=5"
        return await figures.read()

    return router

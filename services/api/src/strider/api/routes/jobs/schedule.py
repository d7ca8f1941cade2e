"""Routes of the schedule: metrics of all jobs, their distribution over the day, rebalance."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request

from strider.api.routes.auth import ADMIN, USER
from strider.api.routes.idempotency import IdempotentRoute
from strider.api.routes.pages import only
from strider.api.routes.request_bodies import NO_FIELDS, refuse_fields
from strider.api.routes.response_models import problems
from strider.jobs.ports import JobStore

from .responses import (
    DistributionResponse,
    RebalanceResponse,
    SchedulerMetricsResponse,
    distribution_response,
    metrics_response,
    rebalance_response,
)


def schedule_routes(store: JobStore) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["scheduler"], route_class=IdempotentRoute)
    reading: dict[str, Any] = {
        "responses": problems(401, 403, 422, 503),
        "dependencies": [USER, Depends(only())],
    }

    @router.get("/api/v1/scheduler/metrics", **reading)
    async def metrics() -> SchedulerMetricsResponse:
        """Return the numbers of jobs by state, the success rate of a day, and jobs that are due."""
        return metrics_response(await store.metrics(now_ms=await store.now_ms()))

    @router.get("/api/v1/scheduler/distribution", **reading)
    async def distribution() -> DistributionResponse:
        """Return how recurring jobs are distributed over the quarters of an hour of a day."""
        return distribution_response(await store.distribution(now_ms=await store.now_ms()))

    _add_rebalance(router, store)
    return router


def _add_rebalance(router: APIRouter, store: JobStore) -> None:
    changing: dict[str, Any] = {
        "responses": problems(401, 403, 413, 415, 422, 503),
        "dependencies": [USER, Depends(only())],
        "openapi_extra": NO_FIELDS,
    }

    @router.post("/api/v1/scheduler/rebalance/preview", **changing)
    async def preview(request: Request) -> RebalanceResponse:
        """Return the moves that a rebalance would make now; nothing is changed."""
        await refuse_fields(request)
        return rebalance_response(await store.rebalance_preview(now_ms=await store.now_ms()))

    @router.post("/api/v1/scheduler/rebalance", **{**changing, "dependencies": [ADMIN, Depends(only())]})
    async def rebalance(request: Request) -> RebalanceResponse:
        """Move jobs from loaded quarters of an hour to others.

        Never one that runs within 30 minutes, or that was moved within the last hour.
        """
        await refuse_fields(request)
        return rebalance_response(await store.rebalance(now_ms=await store.now_ms()))

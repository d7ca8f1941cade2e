"""Health route: anonymous, without internal details."""

from __future__ import annotations

from typing import Any, Protocol

from fastapi import APIRouter, Response

from .response_models import HealthReport


class ReadinessReport(Protocol):
    """State of the process."""

    def report(self) -> dict[str, Any]:
        """Return `ready`, and the `dependencies` with their `ok`."""


def health_routes(condition: ReadinessReport, version: str) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["health"])

    @router.get("/health", include_in_schema=False)
    @router.get("/api/v1/health", response_model=HealthReport, responses={503: {"model": HealthReport}})
    async def health(response: Response) -> HealthReport:
        """Return whether seeds are accepted and pages are served now; 503 where not all of that works."""
        report = condition.report()
        is_ok = bool(report["ready"])
        response.status_code = 200 if is_ok else 503
        response.headers["Cache-Control"] = "no-store"
        return HealthReport(
            status="ok" if is_ok else "degraded",
            service="api",
            version=version,
            dependencies={part: bool(state["ok"]) for part, state in report["dependencies"].items()},
        )

    return router

"""Health route: anonymous, without internal details."""

from __future__ import annotations

from typing import Any, Final, Protocol

from fastapi import APIRouter, Response

from .response_models import HealthReport

OK: Final = "ok"


class ReadinessReport(Protocol):
    """State of the process."""

    def report(self) -> dict[str, Any]:
        """Return `ready`, and the `dependencies` with their `ok`."""


def health_report(condition: ReadinessReport, version: str) -> HealthReport:
    """Return the state without internal details."""
    report = condition.report()
    return HealthReport(
        status=OK if report["ready"] else "degraded",
        service="api",
        version=version,
        dependencies={part: bool(state["ok"]) for part, state in report["dependencies"].items()},
    )


def health_routes(condition: ReadinessReport, version: str) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["health"])

    @router.get("/health", include_in_schema=False)
    @router.get("/api/v1/health", response_model=HealthReport, responses={503: {"model": HealthReport}})
    async def health(response: Response) -> HealthReport:
        """Return whether seeds are accepted and pages are served now; 503 where not all of that works."""
        report = health_report(condition, version)
        response.status_code = 200 if report.status == OK else 503
        response.headers["Cache-Control"] = "no-store"
        return report

    return router

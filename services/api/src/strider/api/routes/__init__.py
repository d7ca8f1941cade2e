"""Routes of the HTTP API: seeds in, rows out.

POST /api/v1/seeds ─▶ validate ─▶ seeds-owned (without an owner key: seeds-submitted)
GET  /api/v1/pages · /api/v1/decisions ─▶ query ─▶ crawled_pages · url_decisions
POST /api/v1/frontier/recover ─▶ leases in Redis
GET  /api/v1/runs/{id} ─▶ job-commands · job-events · counts in Redis
POST /api/v1/runs/{id}/close · pause · resume · cancel ─▶ job-commands
GET  /health
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from fastapi import Depends, FastAPI, Response

from strider.contracts.generated.topics import JOB_COMMANDS, SEEDS_OWNED, SEEDS_SUBMITTED

from .auth import token_check
from .frontier import LeaseRecovery, frontier_routes
from .health import ReadinessReport, health_routes
from .pages import ReadModels, decision_routes, page_routes
from .problem_details import install_problem_handlers
from .runs import RunStates, run_routes
from .seeds import SeedLimits, SeedPublisher, SeedSubmission, seed_routes, seed_schema

__all__ = [
    "PRODUCES",
    "ApiParts",
    "LeaseRecovery",
    "ReadModels",
    "ReadinessReport",
    "RunStates",
    "SeedLimits",
    "SeedPublisher",
    "SeedSubmission",
    "build_app",
]

CONSUMES: Final = ()
PRODUCES: Final = (JOB_COMMANDS, SEEDS_OWNED, SEEDS_SUBMITTED)


@dataclass(frozen=True, slots=True)
class ApiParts:
    """Adapters and settings of the routes."""

    seeds: SeedSubmission
    records: ReadModels
    leases: LeaseRecovery
    runs: RunStates
    condition: ReadinessReport
    version: str
    token: str = ""


def build_app(parts: ApiParts) -> FastAPI:
    """Build the application. No documentation page: it would load scripts from another host."""
    app = FastAPI(
        title="Strider",
        version=parts.version,
        description="Seeds in, pages and decisions out.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    install_problem_handlers(app)
    guarded = [Depends(token_check(parts.token))]
    app.include_router(health_routes(parts.condition, parts.version))
    app.include_router(seed_routes(parts.seeds, seed_schema()), dependencies=guarded)
    app.include_router(frontier_routes(parts.leases), dependencies=guarded)
    app.include_router(run_routes(parts.runs), dependencies=guarded)
    app.include_router(page_routes(parts.records), dependencies=guarded)
    app.include_router(decision_routes(parts.records), dependencies=guarded)
    _serve_contract(app)
    return app


def _serve_contract(app: FastAPI) -> None:
    """Serve the description of the routes; it is written once, because it needs no token."""
    document = json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()

    @app.get("/openapi.json", include_in_schema=False)
    async def contract() -> Response:
        return Response(document, media_type="application/json")

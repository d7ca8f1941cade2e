"""Routes of the HTTP API: seeds in, rows out.

POST /api/v1/seeds ─▶ validate ─▶ seeds-owned (without an owner key: seeds-submitted)
/api/v1/jobs · /api/v1/executions · /api/v1/scheduler ─▶ jobs · job_executions (cancel: job-commands)
GET  /api/v1/pages · /api/v1/decisions ─▶ query ─▶ crawled_pages · url_decisions
GET  /api/v1/frontier · /api/v1/discovered-links ─▶ urls · url_decisions · failed_requests · hosts
POST /api/v1/frontier ─▶ seeds-owned; DELETE /api/v1/frontier/{key} ─▶ job-commands
POST /api/v1/frontier/recover ─▶ leases in Redis
/api/v1/session ─▶ sessions in Redis; GET /api/v1/stats ─▶ figures
GET  /api/v1/runs/{id} ─▶ job-commands · job-events · counts in Redis
POST /api/v1/runs/{id}/close · pause · resume · cancel ─▶ job-commands
/api/v1/sources ─▶ sources ─▶ sources; POST /api/v1/admin/sync-enabled-sources ─▶ jobs
GET  /api/v1/{runs,jobs}/…/logs · /sse/…/events ─▶ lines in Redis, archives in the object store
GET  /health
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, Protocol

from fastapi import FastAPI, Response

from strider.contracts.generated.topics import JOB_COMMANDS, SEEDS_OWNED, SEEDS_SUBMITTED, SOURCES
from strider.jobs.ports import JobStore

from .aliases import serve_aliases
from .auth import SessionRules, SessionStore, TokenVerifier, check_roles
from .frontier import (
    EntryPlaces,
    FrontierParts,
    LeaseRecovery,
    LinkRecords,
    UrlCancellations,
    entry_admin_routes,
    entry_routes,
    lease_routes,
    link_admin_routes,
    link_routes,
)
from .health import ReadinessReport, health_report, health_routes
from .idempotency import Idempotency, ResponseStore
from .jobs import (
    JobRules,
    RunCommands,
    command_routes,
    execution_routes,
    install_job_problems,
    job_deletion_routes,
    job_routes,
    schedule_routes,
)
from .live import Feeds, JobLogs, OpenStreams, event_stream_routes, job_log_routes
from .pages import ReadModels, decision_routes, page_routes
from .problem_details import install_problem_handlers
from .request_log import RequestLog
from .runs import RunStates, run_routes
from .seeds import SeedLimits, SeedPublisher, SeedSubmission, seed_routes, seed_schema
from .sessions import session_routes
from .sources import SourceParts, admin_routes, source_routes
from .stats import PublicFigures, stats_routes

__all__ = [
    "PRODUCES",
    "ApiParts",
    "Feeds",
    "FrontierRuns",
    "Idempotency",
    "JobLogs",
    "JobRules",
    "LeaseRecovery",
    "LinkRecords",
    "LiveParts",
    "OpenStreams",
    "PublicFigures",
    "ReadModels",
    "ReadinessReport",
    "ResponseStore",
    "RunCommands",
    "RunStates",
    "SeedLimits",
    "SeedPublisher",
    "SeedSubmission",
    "SessionRules",
    "SessionStore",
    "SourceParts",
    "TokenVerifier",
    "build_app",
    "health_report",
]

CONSUMES: Final = ()
PRODUCES: Final = (JOB_COMMANDS, SEEDS_OWNED, SEEDS_SUBMITTED, SOURCES)


@dataclass(frozen=True, slots=True)
class LiveParts:
    """Logs, and what is streamed."""

    logs: JobLogs
    feeds: Feeds


class FrontierRuns(RunStates, UrlCancellations, EntryPlaces, Protocol):
    """Runs, commands about them and their URLs, and where the working set has entries."""


@dataclass(frozen=True, slots=True)
class ApiParts:
    """Adapters and settings of the routes."""

    seeds: SeedSubmission
    records: LinkRecords
    leases: LeaseRecovery
    jobs: JobStore
    job_rules: JobRules
    run_commands: RunCommands
    runs: FrontierRuns
    condition: ReadinessReport
    tokens: TokenVerifier
    sessions: SessionRules
    figures: PublicFigures
    idempotency: Idempotency
    sources: SourceParts
    version: str
    shards: int
    live: LiveParts | None = None
    """Without it the API has no logs and no streams."""


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
    app.state.tokens = parts.tokens
    app.state.sessions = parts.sessions
    app.state.idempotency = parts.idempotency
    app.add_middleware(RequestLog)
    install_problem_handlers(app)
    install_job_problems(app)
    app.include_router(health_routes(parts.condition, parts.version))
    app.include_router(seed_routes(parts.seeds, seed_schema()))
    app.include_router(session_routes())
    app.include_router(stats_routes(parts.figures))
    _include_frontier(app, parts)
    app.include_router(run_routes(parts.runs))
    app.include_router(job_routes(parts.jobs, parts.job_rules))
    app.include_router(job_deletion_routes(parts.jobs, parts.run_commands))
    app.include_router(command_routes(parts.jobs, parts.run_commands))
    app.include_router(execution_routes(parts.jobs))
    app.include_router(schedule_routes(parts.jobs))
    app.include_router(page_routes(parts.records))
    app.include_router(decision_routes(parts.records))
    app.include_router(source_routes(parts.sources))
    app.include_router(admin_routes(parts.sources))
    if parts.live is not None:
        app.include_router(job_log_routes(parts.live.logs, parts.live.feeds))
        app.include_router(event_stream_routes(parts.live.feeds))
    serve_aliases(app)
    _serve_contract(app)
    check_roles(app)
    return app


def _include_frontier(app: FastAPI, parts: ApiParts) -> None:
    frontier = FrontierParts(parts.records, parts.runs, parts.seeds, parts.runs, parts.shards)
    app.include_router(lease_routes(parts.leases))
    app.include_router(entry_routes(frontier))
    app.include_router(entry_admin_routes(frontier))
    app.include_router(link_routes(parts.records))
    app.include_router(link_admin_routes(parts.records))


def _serve_contract(app: FastAPI) -> None:
    """Serve the description of the routes; it is written once, because it needs no token."""
    document = json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()

    @app.get("/openapi.json", include_in_schema=False)
    async def contract() -> Response:
        return Response(document, media_type="application/json")

"""HTTP in, seeds-submitted and rows out.

POST /api/v1/seeds ─▶ judge ─▶ seeds-submitted
GET  /api/v1/pages · /api/v1/decisions ─▶ query ─▶ crawled_pages · url_decisions
POST /api/v1/frontier/recover ─▶ leases in Redis
GET  /health
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fastapi import Depends, FastAPI

from strider.contracts.generated.topics import SEEDS_SUBMITTED

from .frontier import Leases, frontier_routes
from .guard import guard_of
from .health import Condition, health_routes
from .problems import install_problems
from .records import Records, decision_routes, page_routes
from .schemas import seed_schema
from .seeds import FrontDoor, SeedDesk, SeedRules, seed_routes

__all__ = [
    "PRODUCES",
    "Condition",
    "FrontDoor",
    "Leases",
    "Parts",
    "Records",
    "SeedDesk",
    "SeedRules",
    "build_app",
]

CONSUMES: Final = ()
PRODUCES: Final = (SEEDS_SUBMITTED,)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the routes work with."""

    seeds: SeedDesk
    records: Records
    leases: Leases
    condition: Condition
    version: str
    token: str = ""


def build_app(parts: Parts) -> FastAPI:
    """Put the routes together. No page of documentation: it would load its scripts from elsewhere."""
    app = FastAPI(
        title="Strider",
        version=parts.version,
        description="Seeds in, pages and decisions out.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    install_problems(app)
    guarded = [Depends(guard_of(parts.token))]
    app.include_router(health_routes(parts.condition, parts.version))
    app.include_router(seed_routes(parts.seeds, seed_schema()), dependencies=guarded)
    app.include_router(frontier_routes(parts.leases), dependencies=guarded)
    app.include_router(page_routes(parts.records), dependencies=guarded)
    app.include_router(decision_routes(parts.records), dependencies=guarded)
    return app

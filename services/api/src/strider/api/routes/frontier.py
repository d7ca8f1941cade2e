"""POST /api/v1/frontier/recover -> leases that no fetcher has begun -> given back."""

from __future__ import annotations

from typing import Annotated, Protocol

from fastapi import APIRouter, Query, Request

from .auth import require_json
from .response_models import RecoveryResponse, problems

STALE_SECONDS = 300
"""Longer than any request waits for a fetcher that is well."""


class LeaseRecovery(Protocol):
    """Requests that were given out; may raise Unavailable."""

    async def recover(self, *, older_than_seconds: int) -> int:
        """End those that nobody has begun for so long; gives how many."""


def frontier_routes(leases: LeaseRecovery) -> APIRouter:
    """Make the routes."""
    router = APIRouter(tags=["frontier"])

    @router.post("/api/frontier/recover", include_in_schema=False)
    @router.post("/api/v1/frontier/recover", responses=problems(401, 415, 422, 503))
    async def recover(
        request: Request,
        older_than_seconds: Annotated[int, Query(ge=1, le=86_400)] = STALE_SECONDS,
    ) -> RecoveryResponse:
        """Give requests back that no fetcher has begun for so long: their URLs are pending again.

        A request that was begun ends by its own deadline, since its host must not be asked beside it.
        """
        require_json(request)
        return RecoveryResponse(recovered=await leases.recover(older_than_seconds=older_than_seconds))

    return router

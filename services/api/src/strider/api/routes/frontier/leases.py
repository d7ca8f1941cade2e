"""Route of lease recovery: POST /api/v1/frontier/recover."""

from __future__ import annotations

from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Query, Request

from strider.api.routes.auth import ADMIN, require_json
from strider.api.routes.problem_details import ProblemError, read_request_body
from strider.api.routes.response_models import RecoveryResponse, problems

_NO_FIELDS: Final[dict[str, Any]] = {
    "required": True,
    "content": {"application/json": {"schema": {"type": "object", "maxProperties": 0}}},
}
"""Nothing need be sent, but its type."""
MAX_BODY_BYTES: Final = 1024
STALE_SECONDS = 300
"""Longer than any request waits for a healthy fetcher."""


class LeaseRecovery(Protocol):
    """Released requests; may raise Unavailable."""

    async def recover(self, *, older_than_seconds: int) -> int:
        """End leases that no fetcher has started for so long; returns how many."""


def lease_routes(leases: LeaseRecovery) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["frontier"], dependencies=[ADMIN])

    @router.post(
        "/api/v1/frontier/recover",
        responses=problems(401, 403, 413, 415, 422, 503),
        openapi_extra={"requestBody": _NO_FIELDS},
    )
    async def recover(
        request: Request,
        older_than_seconds: Annotated[int, Query(ge=1, le=86_400)] = STALE_SECONDS,
    ) -> RecoveryResponse:
        """Return requests to the queue that no fetcher has started for so long: their URLs are pending again.

        A started request ends by its own deadline, because its host must not get a second request beside it.
        """
        require_json(request)
        if (await read_request_body(request, limit=MAX_BODY_BYTES)).strip() not in {b"", b"{}"}:
            raise ProblemError(422, "the body has no fields here; send {} or nothing")
        return RecoveryResponse(recovered=await leases.recover(older_than_seconds=older_than_seconds))

    return router

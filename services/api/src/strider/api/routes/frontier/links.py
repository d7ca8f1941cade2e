"""Routes of discovered links: what pages linked to, and what was decided about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Depends, Path, Query

from strider.api import core
from strider.api.core import DiscoveredLinkFilters, LinkOutcome
from strider.api.routes.auth import ADMIN, USER
from strider.api.routes.pages import (
    COMMON_FILTERS,
    LISTING,
    MAX_CHARACTERS,
    Common,
    Cursor,
    Limit,
    Name,
    ReadModels,
    only,
)
from strider.api.routes.problem_details import ProblemError
from strider.api.routes.response_models import problems

from .entries import listed
from .responses import LinkList, LinkResponse

LINKS: Final = "/api/v1/discovered-links"
_NO_LINK: Final = "there is no discovered link with this id; GET /api/v1/discovered-links lists them"
LinkId = Annotated[str, Path(min_length=1, max_length=300)]


class LinkRecords(ReadModels, Protocol):
    """The read models, of which single records can be deleted."""

    async def delete(self, statement: core.SqlQuery) -> bool:
        """Delete a row; return whether there was one. May raise Unavailable."""


def link_routes(records: LinkRecords) -> APIRouter:
    """Build the routes that read."""
    router = APIRouter(tags=["discovered links"], dependencies=[USER])

    @router.get(
        LINKS,
        response_model=LinkList,
        responses=problems(401, 403, 422, 503),
        dependencies=[Depends(only(*COMMON_FILTERS, "page", "outcome", "reason", *LISTING))],
    )
    async def links(  # noqa: PLR0917  # each is a parameter of the query string, and is named there
        filters: Common,
        page: Annotated[
            str | None, Query(max_length=MAX_CHARACTERS, description="URL of the page that it was found on.")
        ] = None,
        outcome: LinkOutcome | None = None,
        reason: Name = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """List links that were found on pages, accepted or refused, by URL key."""
        shared = replace(filters, reason=core.reason_filter(reason))
        narrowed = DiscoveredLinkFilters(shared, core.page_filter(page), outcome)
        after = core.read_key_cursor(cursor) if cursor else None
        rows = await records.find(core.links_query(narrowed, after=after, limit=limit))
        return listed([core.link_view(row) for row in rows], limit, "id")

    @router.get(
        f"{LINKS}/{{link_id}}",
        response_model=LinkResponse,
        responses=problems(401, 403, 404, 422, 503),
        dependencies=[Depends(only())],
    )
    async def link(link_id: LinkId) -> dict[str, Any]:
        """Return one discovered link."""
        return await _find(records, link_id)

    return router


def link_admin_routes(records: LinkRecords) -> APIRouter:
    """Build the route that deletes."""
    router = APIRouter(tags=["discovered links"], dependencies=[ADMIN])

    @router.delete(
        f"{LINKS}/{{link_id}}",
        status_code=204,
        responses=problems(401, 403, 404, 409, 422, 503),
        dependencies=[Depends(only())],
    )
    async def delete(link_id: LinkId) -> None:
        """Delete the record of a refused link; an accepted one is a URL of the frontier (409)."""
        found = await _find(records, link_id)
        if found["outcome"] == LinkOutcome.ACCEPTED:
            raise ProblemError(
                409,
                f"the link was accepted: DELETE /api/v1/frontier/{found['url_key']} takes it out of "
                "the queue",
                outcome=str(LinkOutcome.ACCEPTED),
            )
        await records.delete(core.link_deletion(link_id))

    return router


async def _find(records: LinkRecords, link_id: str) -> dict[str, Any]:
    text = core.text_filter("link_id", link_id) or ""
    rows = await records.find(core.link_query(text))
    if not rows:
        raise ProblemError(404, _NO_LINK)
    return core.link_view(rows[0])

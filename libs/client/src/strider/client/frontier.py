"""URLs of the frontier, discovered links, and public statistics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypedDict, Unpack
from urllib.parse import quote

from .models import RemoteCancellation, RemoteEntry, RemoteLink, RemoteSubmission, RemoteUrl
from .pagination import iterate
from .parsing import parse
from .requests import ApiRequests

FRONTIER: Final = "/api/v1/frontier"
LINKS: Final = "/api/v1/discovered-links"
STATS: Final = "/api/v1/stats"


class UrlFilters(TypedDict, total=False):
    """Filters of lists; None filters nothing."""

    url: str | None
    host: str | None
    domain: str | None
    job: str | None
    execution: str | None
    reason: str | None


class FrontierApi:
    """List, show, submit and cancel URLs; list discovered links."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def urls(
        self, *, state: str | None = None, limit: int | None = None, **filters: Unpack[UrlFilters]
    ) -> Iterator[RemoteEntry]:
        """Yield URLs of the frontier, by URL key: all of them, or as many as `limit`."""
        params = {**filters, "state": state}
        return iterate(
            self._requests, FRONTIER, params, read=lambda item: parse(RemoteEntry, item), limit=limit
        )

    def get(self, url_key: str, *, job: str | None = None) -> RemoteUrl:
        """Return all that is stored of a URL. Raises NotFoundProblem."""
        return parse(RemoteUrl, self._requests.get(_path(FRONTIER, url_key), {"job": job}).document)

    def submit(self, url: str, **seed: Any) -> RemoteSubmission:
        """Submit a URL, with fields of a seed. Raises RequestProblem for one that cannot be crawled."""
        return parse(RemoteSubmission, self._requests.post(FRONTIER, {"url": url, **seed}).document)

    def cancel(self, url_key: str, *, job: str | None = None, reason: str = "") -> RemoteCancellation:
        """Take a URL out of the queue of its runs. Raises NotFoundProblem, ConflictProblem."""
        params = {"job": job, "reason": reason or None}
        found = self._requests.delete(_path(FRONTIER, url_key), params=params)
        return parse(RemoteCancellation, found.document)

    def links(
        self,
        *,
        page: str | None = None,
        outcome: str | None = None,
        limit: int | None = None,
        **filters: Unpack[UrlFilters],
    ) -> Iterator[RemoteLink]:
        """Yield discovered links, by URL key; `page` is the URL of the page that they were found on."""
        params = {**filters, "page": page, "outcome": outcome}
        return iterate(self._requests, LINKS, params, read=lambda item: parse(RemoteLink, item), limit=limit)

    def delete_link(self, link_id: str) -> None:
        """Delete the record of a refused link. Raises NotFoundProblem, ConflictProblem."""
        self._requests.delete(_path(LINKS, link_id))

    def stats(self) -> dict[str, Any]:
        """Return the public figures of the crawl; None for what does not respond."""
        return dict(self._requests.get(STATS).document)


def _path(list_path: str, name: str) -> str:
    return f"{list_path}/{quote(name, safe='')}"

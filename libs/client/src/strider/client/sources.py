"""Sources: websites to watch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from .models import RemoteSource, RemoteSync
from .pagination import iterate
from .parsing import parse
from .requests import ApiRequests

SOURCES: Final = "/api/v1/sources"
SYNC: Final = "/api/v1/admin/sync-enabled-sources"


class SourcesApi:
    """Create, list, change, switch and remove sources; bring jobs in line with them."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def create(self, *, name: str, url: str, fields: Mapping[str, Any] | None = None) -> RemoteSource:
        """Create a source. Raises ConflictProblem where another one has the name."""
        document = {"name": name, "url": url, **(fields or {})}
        return parse(RemoteSource, self._requests.post(SOURCES, document).document)

    def get(self, source_id: str) -> RemoteSource:
        """Return a source. Raises NotFoundProblem."""
        return parse(RemoteSource, self._requests.get(_path(source_id)).document)

    def list(
        self, *, enabled: bool | None = None, name: str = "", limit: int | None = None
    ) -> Iterator[RemoteSource]:
        """Yield sources, newest first; only those with a part in their name, where one is given."""
        filters = {"enabled": None if enabled is None else str(enabled).lower(), "name": name or None}
        return iterate(
            self._requests, SOURCES, filters, read=lambda item: parse(RemoteSource, item), limit=limit
        )

    def change(self, source_id: str, fields: Mapping[str, Any], *, etag: str = "") -> RemoteSource:
        """Change fields, None for the default; with an ETag only that version. Raises VersionProblem."""
        return parse(RemoteSource, self._requests.patch(_path(source_id), fields, etag=etag).document)

    def enable(self, source_id: str) -> RemoteSource:
        """Enable a source; its jobs run."""
        return parse(RemoteSource, self._requests.post(_path(source_id, "enable")).document)

    def disable(self, source_id: str) -> RemoteSource:
        """Disable a source; its scheduled jobs are paused."""
        return parse(RemoteSource, self._requests.post(_path(source_id, "disable")).document)

    def delete(self, source_id: str, *, force: bool = False) -> None:
        """Remove a source, as an admin. Raises ConflictProblem while it has jobs, unless forced."""
        self._requests.delete(_path(source_id), params={"force": "true"} if force else None)

    def sync(self, *, dry_run: bool) -> RemoteSync:
        """Bring jobs in line with sources, as an admin; a dry run returns the differences alone."""
        return parse(RemoteSync, self._requests.post(SYNC, {"dry_run": dry_run}).document)


def _path(source_id: str, *more: str) -> str:
    return "/".join((SOURCES, quote(source_id, safe=""), *more))

"""Sources over the HTTP API, as commands use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.documents import FIELDS
from strider.jobs.sources.models import UnknownSource

if TYPE_CHECKING:
    from strider.client import RemoteSource, RemoteSyncStep, StriderClient


class RemoteSources:
    """Sources of an API. Its methods raise ClientError, and UnknownSource."""

    def __init__(self, api: StriderClient) -> None:
        self._api = api

    async def find(self, name: str) -> SourceSaved:
        """Return the source of an id, or of a name."""
        from strider.client import NotFoundProblem  # noqa: PLC0415  # --help waits for no library

        if name.strip("."):  # a path would end in another one
            try:
                return saved_source(self._api.sources.get(name))
            except NotFoundProblem:
                pass
        for source in self._api.sources.list(name=name):
            if source.name == name:
                return saved_source(source)
        raise UnknownSource(name)

    async def all(self, *, enabled: bool | None = None, name: str = "") -> list[SourceSaved]:
        """Return the sources, ordered by name."""
        found = map(saved_source, self._api.sources.list(enabled=enabled, name=name))
        return sorted(found, key=lambda source: (source.name, source.source_id))

    async def add(self, document: Mapping[str, Any]) -> SourceSaved:
        """Add a source."""
        fields = {name: value for name, value in document.items() if name not in {"name", "url"}}
        made = self._api.sources.create(name=document["name"], url=document["url"], fields=fields)
        return saved_source(made)

    async def change(
        self, source_id: str, document: Mapping[str, Any], *, version: int | None = None
    ) -> SourceSaved:
        """Change fields of a source, None for the default; its jobs follow."""
        etag = "" if version is None else f'"{version}"'
        return saved_source(self._api.sources.change(source_id, document, etag=etag))

    async def switch(self, source_id: str, *, is_enabled: bool) -> SourceSaved:
        """Enable or disable a source; its jobs follow."""
        act = self._api.sources.enable if is_enabled else self._api.sources.disable
        return saved_source(act(source_id))

    async def remove(self, source_id: str, *, is_forced: bool) -> None:
        """Remove a source."""
        self._api.sources.delete(source_id, force=is_forced)

    async def plan_sync(self) -> Sequence[RemoteSyncStep]:
        """Return how jobs differ from sources, and sources from a source-manager."""
        return self._api.sources.sync(dry_run=True).steps

    async def apply_sync(self, _steps: Iterable[Any]) -> Sequence[RemoteSyncStep]:
        """Bring jobs in line with sources as they are now; return what was done."""
        return self._api.sources.sync(dry_run=False).steps


def saved_source(source: RemoteSource) -> SourceSaved:
    """Return a source of the API as the record has it."""
    document = source.model_dump()
    return SourceSaved.from_record(
        {
            **{name: document[name] for name in FIELDS if name in document},
            "source_id": source.id,
            "version": source.version,
            "created_at_ms": _milliseconds(source.created_at),
            "updated_at_ms": _milliseconds(source.updated_at),
            "updated_by": source.updated_by,
        }
    )


def _milliseconds(moment: datetime) -> int:
    return (moment - datetime.fromtimestamp(0, moment.tzinfo)) // timedelta(milliseconds=1)

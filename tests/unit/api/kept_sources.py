"""A record of sources in memory, for tests of the routes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from strider.api.routes import SourceParts
from strider.contracts.generated.events import SourceSaved
from strider.jobs.sources.editing import SourceEditor
from strider.jobs.sources.models import (
    DuplicateSource,
    SourceHasJobs,
    SourceQuery,
    StaleSource,
    UnknownSource,
)
from strider.storage.encryption import HeaderCipher


@dataclass
class KeptSources:
    """Keeps sources, or fails."""

    saved: dict[str, SourceSaved] = field(default_factory=dict)
    jobs: dict[str, int] = field(default_factory=dict)
    published: list[bool] = field(default_factory=list)
    aligned: list[str] = field(default_factory=list)
    synced: list[bool] = field(default_factory=list)
    failure: Exception | None = None
    headers_key: str = ""
    ids: count[int] = field(default_factory=lambda: count(1))

    def parts(self, *, allow_private: bool = False) -> SourceParts:
        editor = SourceEditor(
            self,
            lambda: 1_700_000_000_000 + len(self.saved),
            allow_private,
            HeaderCipher(self.headers_key).protect,
            lambda: self.published.append(True),
            lambda: f"id-{next(self.ids)}",
        )
        return SourceParts(editor, self.sync, self.align)

    async def sync(self, *, is_dry_run: bool) -> dict[str, object]:
        self.synced.append(is_dry_run)
        return {"dry_run": is_dry_run, "counts": {}, "steps": []}

    async def align(self, source_id: str) -> None:
        self.aligned.append(source_id)

    async def add(self, source: SourceSaved) -> SourceSaved:
        self._check_name(source)
        return self.saved.setdefault(source.source_id, replace(source, version=1))

    async def get(self, source_id: str) -> SourceSaved | None:
        if self.failure is not None:
            raise self.failure
        return self.saved.get(source_id)

    async def named(self, name: str) -> SourceSaved | None:
        return next((source for source in self.saved.values() if source.name == name), None)

    async def find(self, query: SourceQuery) -> Sequence[SourceSaved]:
        if self.failure is not None:
            raise self.failure
        found = sorted(self.saved.values(), key=lambda each: (each.created_at_ms, each.source_id))[::-1]
        return [
            source
            for source in found
            if query.enabled in {None, source.enabled} and query.name.lower() in source.name.lower()
            if query.after is None or (source.created_at_ms, source.source_id) < tuple(query.after)
        ][: query.limit]

    async def save(self, source: SourceSaved, *, version: int) -> SourceSaved:
        stored = self.saved[source.source_id]
        if stored.version != version:
            raise StaleSource(source.source_id, given=version, current=stored.version)
        same = {"updated_at_ms": stored.updated_at_ms, "updated_by": stored.updated_by, "version": version}
        if replace(source, **same) == stored:
            return stored
        self._check_name(source)
        self.saved[source.source_id] = replace(source, version=version + 1)
        return self.saved[source.source_id]

    async def remove(self, source_id: str, *, version: int | None, is_forced: bool) -> None:
        if source_id not in self.saved:
            raise UnknownSource(source_id)
        if self.jobs.get(source_id) and not is_forced:
            raise SourceHasJobs(source_id, self.jobs[source_id])
        del self.saved[source_id]

    def _check_name(self, source: SourceSaved) -> None:
        for other in self.saved.values():
            if other.name == source.name and other.source_id != source.source_id:
                raise DuplicateSource("name", source.name)

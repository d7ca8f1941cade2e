"""Sources of a source-manager become sources here, and jobs follow from them.

What a source-manager does not say stays as it is here. A source that it has no longer is disabled, not
removed: its pages and its history remain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Protocol

from strider.api.core import (
    IMPORTED_FROM,
    SOURCE_MANAGER,
    EventFault,
    ImportedSource,
    InvalidEventError,
    InvalidListingError,
    SourceEvent,
    SourceEventKind,
    sync_view,
)
from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.documents import InvalidSource, changed_source, document_of, new_source
from strider.jobs.sources.editing import protected_source
from strider.jobs.sources.models import (
    DuplicateSource,
    SourcePosition,
    SourceQuery,
    SourceStore,
    StaleSource,
    UnknownSource,
)
from strider.jobs.sources.sync import SourceSync
from strider.politeness import ProtectHeaders, refuse_clear_values
from strider.storage.errors import StoreRejected

PAGE: Final = 500
MAX_ATTEMPTS: Final = 5
UNKNOWN_ID: Final = "?"


class ImportAction(StrEnum):
    """Action on a source of a source-manager."""

    ADD = "add_source"
    CHANGE = "change_source"
    DISABLE = "disable_source"
    """The source-manager has it no longer."""
    SKIP = "skip"
    """It is no source; the detail says why."""


@dataclass(frozen=True, slots=True)
class ImportStep:
    """One difference between a source-manager and the record."""

    action: ImportAction
    source_id: str
    source: str
    """Name of the source."""
    job_id: str = ""
    detail: str = ""
    change: SourceSaved | None = field(default=None, repr=False)
    """The source that must be stored."""


class SourceManager(Protocol):
    """The sources of a source-manager; may raise Unavailable."""

    async def sources(self) -> tuple[list[ImportedSource], list[str]]:
        """Return all sources, and the faults of items that are none."""

    async def source(self, source_id: str) -> ImportedSource | None:
        """Return one source; None where there is none. Raises InvalidListingError."""


class SourceImports:
    """Keeps record and jobs as a source-manager, or its events, want them."""

    def __init__(  # the parts that it joins
        self,
        store: SourceStore,
        sync: SourceSync,
        manager: SourceManager | None,
        now_ms: Callable[[], int],
        notify: Callable[[], None],
        *,
        allow_private: bool,
        interval_minutes: int,
        protect_headers: ProtectHeaders = refuse_clear_values,
    ) -> None:
        self._store = store
        self._sync = sync
        self._manager = manager
        self._now_ms = now_ms
        self._notify = notify
        self._allow_private = allow_private
        self._interval_minutes = interval_minutes
        self._protect_headers = protect_headers

    async def __call__(self, *, is_dry_run: bool) -> dict[str, Any]:
        """Compare the source-manager, where there is one, with the record, and the record with the jobs.

        A dry run shows the jobs of the sources that are stored now, and of those that would be added.
        """
        imports = await self.plan_imports()
        if not is_dry_run:
            imports = [await self._stored(step) for step in imports]
        steps = await self._sync.plan()
        if not is_dry_run:
            steps = await self._sync.apply(steps)
        return sync_view([*imports, *steps], is_dry_run=is_dry_run)

    async def plan_imports(self) -> list[ImportStep]:
        """Return the differences between the source-manager and the record."""
        if self._manager is None:
            return []
        remote, faults = await self._manager.sources()
        stored = {source.source_id: source async for source in _all_sources(self._store)}
        found = [step for each in remote if (step := self._difference(each, stored.get(each.source_id)))]
        known = {each.source_id for each in remote}
        found += [
            _gone(source)
            for source in stored.values()
            if source.enabled
            and source.source_id not in known
            and source.metadata.get(IMPORTED_FROM) == SOURCE_MANAGER
        ]
        return [*found, *(ImportStep(ImportAction.SKIP, UNKNOWN_ID, UNKNOWN_ID, detail=f) for f in faults)]

    async def on_event(self, event: SourceEvent) -> None:
        """Bring a source and its jobs to their present state; the event says only that there is a change.

        Without a source-manager the event itself enables or disables a source, unless that was changed later
        than the event happened. Raises Unavailable, and InvalidEventError for what can never be applied.
        """
        if self._manager is not None:
            step = await self._import_one(event.source_id, self._manager)
            if step is not None and step.action is ImportAction.SKIP:
                raise InvalidEventError(EventFault.BAD_SOURCE, step.detail)
        else:
            await self._switch(event)
        planned = await self._sync.plan_for(event.source_id)
        for before, after in zip(planned, await self._sync.apply(planned), strict=True):
            if after.action is not before.action:
                raise InvalidEventError(
                    EventFault.BAD_SOURCE, f"{before.action} {before.job_id}: {after.detail}"
                )

    async def _import_one(self, source_id: str, manager: SourceManager) -> ImportStep | None:
        """Store what a source-manager has of a source; return what was done, None for nothing."""
        step = None
        for _ in range(MAX_ATTEMPTS):  # a person may change the source meanwhile
            try:
                remote = await manager.source(source_id)
            except InvalidListingError as failure:
                raise InvalidEventError(EventFault.BAD_SOURCE, str(failure)) from failure
            stored = await self._store.get(source_id)
            step = None
            if remote is not None and remote.source_id == source_id:
                step = self._difference(remote, stored)
            elif remote is not None:
                detail = f"the source-manager has another id for it: {remote.source_id[:80]!r}"
                step = ImportStep(ImportAction.SKIP, source_id, "", detail=detail)
            elif stored is not None and stored.enabled:
                step = _gone(stored)
            if step is None or step.change is None:
                return step
            step = await self._stored(step)
            if step.action is not ImportAction.SKIP:
                return step
        return step

    async def _switch(self, event: SourceEvent) -> None:
        wanted = {
            SourceEventKind.ENABLED: True,
            SourceEventKind.DISABLED: False,
            SourceEventKind.DELETED: False,
        }
        if event.kind not in wanted:
            return
        for _ in range(MAX_ATTEMPTS):
            stored = await self._store.get(event.source_id)
            if stored is None or event.at_ms < stored.updated_at_ms:
                return
            changed = replace(
                stored, enabled=wanted[event.kind], updated_at_ms=event.at_ms, updated_by=SOURCE_MANAGER
            )
            try:
                await self._store.save(changed, version=stored.version)
            except StaleSource:
                continue
            except UnknownSource:  # removed since it was read
                return
            self._notify()
            return

    def _difference(self, remote: ImportedSource, stored: SourceSaved | None) -> ImportStep | None:
        """Return what the record lacks of a source; None where nothing."""
        name = str(remote.document.get("name", ""))[:200]
        try:
            if stored is None:
                document = {"interval_minutes": self._interval_minutes, **remote.document}
                source = new_source(document, allow_private=self._allow_private)
                source = protected_source(replace(source, source_id=remote.source_id), self._protect_headers)
                return ImportStep(ImportAction.ADD, remote.source_id, name, detail=source.url, change=source)
            changed = changed_source(stored, remote.document, allow_private=self._allow_private)
            source = protected_source(changed, self._protect_headers)
        except InvalidSource as failure:
            return ImportStep(ImportAction.SKIP, remote.source_id, name, detail=str(failure)[:500])
        if source == stored:
            return None
        detail = _changes_text(document_of(stored), document_of(source))
        return ImportStep(ImportAction.CHANGE, remote.source_id, name, detail=detail, change=source)

    async def _stored(self, step: ImportStep) -> ImportStep:
        """Store a source; one that was changed meanwhile is left for the next time."""
        if step.change is None:
            return step
        now_ms = self._now_ms()
        source = replace(step.change, updated_at_ms=now_ms, updated_by=SOURCE_MANAGER)
        try:
            if step.action is ImportAction.ADD:
                await self._store.add(replace(source, created_at_ms=now_ms))
            else:
                await self._store.save(source, version=source.version)
        except (DuplicateSource, StaleSource, UnknownSource, StoreRejected) as failure:
            return replace(step, action=ImportAction.SKIP, detail=str(failure)[:500])
        self._notify()
        return step


def _gone(source: SourceSaved) -> ImportStep:
    return ImportStep(
        ImportAction.DISABLE,
        source.source_id,
        source.name,
        detail="the source-manager has it no longer",
        change=replace(source, enabled=False),
    )


def _changes_text(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the changed fields with their new values; of headers their names alone."""
    names = (name for name in before if before[name] != after[name])
    return ", ".join(
        f"{name}: {', '.join(sorted(after[name])) if name == 'headers' else str(after[name])[:60]}"
        for name in names
    )


async def _all_sources(store: SourceStore) -> Any:
    after: SourcePosition | None = None
    while page := await store.find(SourceQuery(after=after, limit=PAGE)):
        for source in page:
            yield source
        after = SourcePosition(page[-1].created_at_ms, page[-1].source_id)

"""Sources are added and changed by documents, for the api and for commands.

A change is applied to the version that was read, and tried again where another change came between, unless
the caller named the versions that it may replace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.documents import FieldFault, InvalidSource, new_source
from strider.politeness import HeaderRefused, ProtectHeaders, refuse_clear_values
from strider.urls import origin_of

from .models import SourceStore, StaleSource, UnknownSource

MAX_ATTEMPTS: Final = 5

Change = Callable[[SourceSaved], SourceSaved]


def new_source_id() -> str:
    """Return an id that no source has."""
    return str(uuid4())


def _nothing() -> None:
    """Ignore a change."""


@dataclass(frozen=True, slots=True)
class SourceEditor:
    """Adds, changes and removes sources."""

    store: SourceStore
    now_ms: Callable[[], int]
    allow_private: bool = False
    protect_headers: ProtectHeaders = refuse_clear_values
    """Encrypts personal headers before they are stored."""
    notify: Callable[[], None] = _nothing
    """Tells who publishes sources that one was changed."""
    new_id: Callable[[], str] = new_source_id

    async def add(self, document: Mapping[str, Any], *, by: str) -> SourceSaved:
        """Store the source of a document; raises InvalidSource, DuplicateSource."""
        now_ms = self.now_ms()
        source = self._protected(new_source(document, allow_private=self.allow_private))
        stored = await self.store.add(
            replace(
                source,
                source_id=self.new_id(),
                created_at_ms=now_ms,
                updated_at_ms=now_ms,
                updated_by=by,
            )
        )
        self.notify()
        return stored

    async def change(
        self, source_id: str, change: Change, *, by: str, versions: Collection[int] | None = None
    ) -> SourceSaved:
        """Change a source that has one of these versions, or any.

        Raises UnknownSource, StaleSource, InvalidSource, DuplicateSource.
        """
        attempt = 0
        while True:
            attempt += 1
            stored = await self.require(source_id, versions=versions)
            changed = self._protected(change(stored))
            try:
                saved = await self.store.save(
                    replace(changed, updated_at_ms=self.now_ms(), updated_by=by), version=stored.version
                )
            except StaleSource:
                if attempt == MAX_ATTEMPTS:
                    raise
                continue
            self.notify()
            return saved

    async def remove(
        self, source_id: str, *, is_forced: bool, versions: Collection[int] | None = None
    ) -> SourceSaved:
        """Remove a source, and return it; raises UnknownSource, StaleSource, SourceHasJobs."""
        stored = await self.require(source_id, versions=versions)
        version = None if versions is None else stored.version
        await self.store.remove(source_id, version=version, is_forced=is_forced)
        self.notify()
        return stored

    async def require(self, source_id: str, *, versions: Collection[int] | None = None) -> SourceSaved:
        """Return a source that has one of these versions, or any."""
        source = await self.store.get(source_id)
        if source is None:
            raise UnknownSource(source_id)
        if versions is not None and source.version not in versions:
            raise StaleSource(source_id, given=max(versions, default=0), current=source.version)
        return source

    def _protected(self, source: SourceSaved) -> SourceSaved:
        return protected_source(source, self.protect_headers)


def protected_source(source: SourceSaved, protect_headers: ProtectHeaders) -> SourceSaved:
    """Return a source whose personal headers are encrypted for its origins; raises InvalidSource."""
    if not source.headers:
        return source
    urls = (source.url, *source.start_urls, *source.feed_urls, *source.sitemap_urls)
    origins = tuple(dict.fromkeys(map(origin_of, urls)))
    try:
        return replace(source, headers=protect_headers(source.headers, origins))
    except HeaderRefused as failure:
        detail = str(failure).removeprefix("headers: ")
        raise InvalidSource([FieldFault("headers", detail)]) from None

"""The record of sources for commands: PostgreSQL, and Kafka for what has to be published.

A change is stored first. Where Kafka does not answer, or none is configured, the api publishes it later.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from strider.cli.connections import (
    POSTGRES,
    BrokerTarget,
    MissingAddress,
    find_broker,
    open_postgres,
    require_address,
)
from strider.cli.frontier.client import PUBLISHER, current_user
from strider.cli.output import log_to_stderr, warn
from strider.cli.seeds.credentials import find_credentials
from strider.contracts.avro.codec import Codec
from strider.contracts.avro.schema_store import SchemaStore
from strider.contracts.generated.events import SourceSaved
from strider.crawl.sources.documents import changed_source
from strider.jobs.ports import JobStore
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.sources.editing import SourceEditor
from strider.jobs.sources.models import MAX_LISTED, SourcePosition, SourceQuery, UnknownSource
from strider.jobs.sources.publication import SourcePublication
from strider.jobs.sources.store import PostgresSourceStore
from strider.jobs.sources.sync import SourceSync, SyncStep
from strider.localstack.plan.endpoints import common_settings
from strider.messaging.errors import Unavailable
from strider.messaging.kafka import KafkaBus
from strider.politeness import ProtectHeaders
from strider.runtime.clocks import SystemClock
from strider.runtime.publishing.publisher import EventPublisher
from strider.storage.postgres import Postgres


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """The record of sources, as commands use it."""

    store: PostgresSourceStore
    editor: SourceEditor
    sync: SourceSync
    jobs: JobStore
    user: str

    async def find(self, name: str) -> SourceSaved:
        """Return the source of an id, or of a name; raises UnknownSource."""
        source = await self.store.get(name) or await self.store.named(name)
        if source is None:
            raise UnknownSource(name)
        return source

    async def all(self, *, enabled: bool | None = None, name: str = "") -> list[SourceSaved]:
        """Return the sources, ordered by name."""
        found: list[SourceSaved] = []
        query = SourceQuery(enabled=enabled, name=name, limit=MAX_LISTED)
        while page := await self.store.find(query):
            found += page
            query = replace(query, after=SourcePosition(page[-1].created_at_ms, page[-1].source_id))
        return sorted(found, key=lambda source: (source.name, source.source_id))

    async def add(self, document: Mapping[str, Any]) -> SourceSaved:
        """Add a source."""
        return await self.editor.add(document, by=self.user)

    async def change(
        self, source_id: str, document: Mapping[str, Any], *, version: int | None = None
    ) -> SourceSaved:
        """Change fields of a source, None for the default; its jobs follow."""
        saved = await self.editor.change(
            source_id,
            lambda stored: changed_source(stored, document, allow_private=self.editor.allow_private),
            by=self.user,
            versions=None if version is None else {version},
        )
        if "enabled" in document:
            await self.sync.align(saved.source_id)
        return saved

    async def switch(self, source_id: str, *, is_enabled: bool) -> SourceSaved:
        """Enable or disable a source; its jobs follow."""
        saved = await self.editor.change(
            source_id, lambda stored: replace(stored, enabled=is_enabled), by=self.user
        )
        await self.sync.align(saved.source_id)
        return saved

    async def remove(self, source_id: str, *, is_forced: bool) -> None:
        """Remove a source."""
        await self.editor.remove(source_id, is_forced=is_forced)

    async def plan_sync(self) -> Sequence[SyncStep]:
        """Return how jobs differ from sources."""
        return await self.sync.plan()

    async def apply_sync(self, steps: Iterable[SyncStep]) -> Sequence[SyncStep]:
        """Apply differences; return what was done."""
        return await self.sync.apply(steps)


@asynccontextmanager
async def open_record(dsn: str) -> AsyncIterator[SourceRecord]:
    """Open the record; what was saved is published at the end. Raises Unavailable, MissingAddress."""
    log_to_stderr("error")
    address = require_address(POSTGRES, dsn)
    target = _find_broker()
    credentials = find_credentials(
        os.environ, **({} if target is None else {"stack_headers_key": target.stack_headers_key})
    )
    async with open_postgres(address, application="strider-sources") as postgres:
        record, saved = _record(postgres, target, credentials.protect_headers)
        try:
            yield record
        finally:
            if saved:
                await _publish(record.store, target)


def _record(
    postgres: Postgres, target: BrokerTarget | None, protect: ProtectHeaders
) -> tuple[SourceRecord, list[bool]]:
    """Return the record, and a list that is empty until something was saved."""
    saved: list[bool] = []
    store = PostgresSourceStore(postgres)
    settings = common_settings(os.environ)
    editor = SourceEditor(
        store,
        lambda: round(time.time() * 1000),
        settings.crawl.allow_private if target is None else target.allows_private,
        protect,
        lambda: saved.append(True),
    )
    jobs = PostgresJobStore(postgres)
    return SourceRecord(store, editor, SourceSync(store, jobs), jobs, current_user()), saved


def _find_broker() -> BrokerTarget | None:
    """Return the broker of this command; None where no address is configured."""
    try:
        return find_broker("", os.environ, Path.cwd())
    except MissingAddress:
        return None


async def _publish(store: PostgresSourceStore, target: BrokerTarget | None) -> None:
    """Publish what was saved; where that fails, the api does it."""
    if target is None:
        warn("saved; no address of Kafka is configured, so the api publishes it")
        return
    bus, codec, clock = KafkaBus(target.connection), Codec(SchemaStore.bundled()), SystemClock()
    publisher = EventPublisher(bus, codec, service=PUBLISHER, shards=target.shards, clock=clock)
    try:
        await SourcePublication(store, publisher, bus, codec, clock=clock).publish_pending()
    except Unavailable as failure:
        warn(f"saved; {failure.dependency} does not answer, so the api publishes it later")
    finally:
        await publisher.close()
        await bus.close()

"""Wiring: parts of the routes of sources, and the loops beside them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from strider.api.routes import SourceParts
from strider.api.settings import ApiSettings
from strider.jobs.postgres import PostgresJobStore
from strider.jobs.sources.editing import SourceEditor
from strider.jobs.sources.publication import SourcePublication
from strider.jobs.sources.store import PostgresSourceStore
from strider.jobs.sources.sync import SourceSync
from strider.messaging.ports import epoch_ms
from strider.runtime.process.main import ServiceContext
from strider.runtime.publishing.publisher import EventPublisher
from strider.storage.encryption import HeaderCipher
from strider.storage.postgres import Postgres
from strider.storage.redis import Redis

from .events import SourceEvents
from .imports import SourceImports
from .manager import SourceManagerClient


@dataclass(frozen=True, slots=True)
class SourceServices:
    """Sources of the api."""

    parts: SourceParts
    background: tuple[Callable[[], Awaitable[None]], ...]
    """Publication, and the events where they are enabled."""
    close: tuple[Callable[[], Awaitable[None]], ...]


def build_source_services(
    process: ServiceContext[ApiSettings], publisher: EventPublisher, postgres: Postgres, redis: Redis
) -> SourceServices:
    """Wire store, publication, source-manager and events."""
    settings = process.settings
    store = PostgresSourceStore(postgres)
    publication = SourcePublication(store, publisher, process.bus, process.codec, clock=process.clock)
    sync = SourceSync(store, PostgresJobStore(postgres))
    manager = _manager(settings)
    now_ms = partial(epoch_ms, process.clock)
    protect_headers = HeaderCipher(settings.headers.key.get_secret_value()).protect
    imports = SourceImports(
        store,
        sync,
        manager,
        now_ms,
        publication.notify,
        allow_private=settings.allow_private,
        interval_minutes=settings.source_manager.interval_minutes,
        protect_headers=protect_headers,
    )
    events = SourceEvents(
        redis,
        imports.on_event,
        process.metrics,
        stream=settings.source_events.stream,
        consumer=f"api-{uuid4().hex[:12]}",
        clock=process.clock,
    )
    editor = SourceEditor(store, now_ms, settings.allow_private, protect_headers, publication.notify)
    return SourceServices(
        SourceParts(editor, imports, sync.align),
        (publication.run, *((events.run,) if settings.source_events.enabled else ())),
        () if manager is None else (manager.close,),
    )


def _manager(settings: ApiSettings) -> SourceManagerClient | None:
    area = settings.source_manager
    if not area.enabled:
        return None
    return SourceManagerClient(area.url.get_secret_value(), token=area.token.get_secret_value())

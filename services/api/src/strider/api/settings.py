"""Settings of the API."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, SecretStr

from strider.crawl.settings import CrawlServiceSettings
from strider.crawl.sources.documents import MAX_INTERVAL_MINUTES
from strider.runtime.settings.base import AuthSettings, HeadersSettings, OwnerSettings, SettingsArea
from strider.runtime.settings.types import (
    EnvironmentVariable,
    PositiveSeconds,
    SecretKeys,
    SecretUrl,
    WebUrl,
)


class SourceManagerSettings(SettingsArea):
    """A source-manager: another service that has the list of websites to watch."""

    PREFIX: ClassVar[str] = "CRAWLER_SOURCES_API_"

    enabled: bool = False
    """Whether its sources are imported, by the synchronisation of enabled sources and on events."""
    url: WebUrl = SecretUrl("http://localhost:8050/api/v1/sources")
    """Where it lists its sources; one source is below that, by its id. Another API of this kind will do."""
    token: SecretStr = SecretStr("")
    """Token that it wants as `Authorization: Bearer …`; empty: none."""
    interval_minutes: Annotated[int, Field(ge=0, le=MAX_INTERVAL_MINUTES)] = 360
    """How often an imported source is crawled that names no interval of its own; 0: on command only."""


class SourceEventsSettings(SettingsArea):
    """Events in Redis about sources that were enabled or disabled elsewhere."""

    PREFIX: ClassVar[str] = "REDIS_EVENTS_"

    enabled: bool = False
    """Whether they are read: they create, pause and resume jobs."""
    stream: Annotated[str, Field(min_length=1, max_length=200)] = "source-events"
    """Stream that they are in, at REDIS_URL."""


class SessionSettings(SettingsArea):
    """Sessions of browsers with the API."""

    PREFIX: ClassVar[str] = "SESSION_"

    secret: SecretKeys = SecretStr("")
    """Secret of 32 characters or more that signs cookies; of several the first signs and each verifies;
    empty: AUTH_JWT_SECRET signs them as well.
    """
    hours: Annotated[float, Field(gt=0, le=24)] = 24.0
    """Longest duration of a session; it ends with the token that it was begun with, if that is earlier."""
    cookie_secure: bool = True
    """Whether browsers send the cookie by HTTPS alone; false where the API is used by plain HTTP."""


class ApiSettings(CrawlServiceSettings):
    """api: its address, its limits."""

    PREFIX: ClassVar[str] = "STRIDER_API_"

    owner: OwnerSettings = OwnerSettings()
    headers: HeadersSettings = HeadersSettings()
    source_manager: SourceManagerSettings = SourceManagerSettings()
    source_events: SourceEventsSettings = SourceEventsSettings()
    auth: AuthSettings = AuthSettings()
    session: SessionSettings = SessionSettings()
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8060
    """Port to listen on; 0 chooses a free one and logs it."""
    max_seeds: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Most seeds in one request."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 4 * 1024 * 1024
    """Largest body of a request, in bytes."""
    publish_timeout_seconds: PositiveSeconds = 10.0
    """How long a request waits for the broker to acknowledge its seeds."""
    max_connections: Annotated[int, Field(ge=1)] = 256
    """Connections at a time; a further one displaces the oldest that has no request in progress, else it is
    refused with 503.
    """
    max_connections_per_client: Annotated[int, Field(ge=1)] = 64
    """The same for one address, so that no client has all; set it as high as the total behind a proxy."""
    max_streams: Annotated[int, Field(ge=1)] = 200
    """Live streams at a time, below the number of connections: other requests need some, too."""
    head_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("STRIDER_API_HEAD_TIMEOUT")] = 10.0
    """How long a connection may be open, or unused, until the whole head of a request has arrived."""
    body_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("STRIDER_API_BODY_TIMEOUT")] = 60.0
    """How long the body of a request may take to arrive, and a response to be read."""

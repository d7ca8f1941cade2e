"""Settings of the API."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, SecretStr

from strider.crawl.settings import CrawlServiceSettings
from strider.runtime.settings.base import OwnerSettings
from strider.runtime.settings.types import PositiveSeconds


class ApiSettings(CrawlServiceSettings):
    """api: its address, its token, its limits."""

    PREFIX: ClassVar[str] = "STRIDER_API_"

    owner: OwnerSettings = OwnerSettings()
    host: str = "127.0.0.1"
    """Address to listen on; any but loopback needs STRIDER_API_TOKEN."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8060
    """Port to listen on; 0 chooses a free one and logs it."""
    token: SecretStr = SecretStr("")
    """Token that clients must send as `Authorization: Bearer …`; empty: no token, loopback only."""
    max_seeds: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Most seeds in one request."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 4 * 1024 * 1024
    """Largest body of a request, in bytes."""
    publish_timeout_seconds: PositiveSeconds = 10.0
    """How long a request waits for the broker to acknowledge its seeds."""
    max_connections: Annotated[int, Field(ge=1)] = 256
    """Connections at a time; beyond it clients receive 503."""

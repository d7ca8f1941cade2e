"""Settings of the API."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, Field, SecretStr

from strider.crawl.settings import CrawlServiceSettings
from strider.runtime.settings.base import HeadersSettings, OwnerSettings
from strider.runtime.settings.types import EnvironmentVariable, PositiveSeconds

MIN_TOKEN_CHARS: Final = 16
"""A shorter token can be guessed by requests."""


def _require_long_token(token: SecretStr) -> SecretStr:
    if 0 < len(token.get_secret_value()) < MIN_TOKEN_CHARS:
        raise ValueError(f"is shorter than {MIN_TOKEN_CHARS} characters; make one with: openssl rand -hex 32")
    return token


class ApiSettings(CrawlServiceSettings):
    """api: its address, its token, its limits."""

    PREFIX: ClassVar[str] = "STRIDER_API_"

    owner: OwnerSettings = OwnerSettings()
    headers: HeadersSettings = HeadersSettings()
    host: str = "127.0.0.1"
    """Address to listen on; any but loopback needs STRIDER_API_TOKEN."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8060
    """Port to listen on; 0 chooses a free one and logs it."""
    token: Annotated[SecretStr, AfterValidator(_require_long_token)] = SecretStr("")
    """Token that clients must send as `Authorization: Bearer …`, 16 characters or more; empty: no token,
    loopback only.
    """
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
    head_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("STRIDER_API_HEAD_TIMEOUT")] = 10.0
    """How long a connection may be open, or unused, until the whole head of a request has arrived."""
    body_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("STRIDER_API_BODY_TIMEOUT")] = 60.0
    """How long the body of a request may take to arrive, and a response to be read."""

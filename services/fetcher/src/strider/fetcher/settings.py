"""Settings of the fetcher."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, BeforeValidator, Field, IPvAnyNetwork, SecretStr

from strider.runtime.settings.base import ServiceSettings
from strider.runtime.settings.types import (
    Endpoints,
    EnvironmentVariable,
    PositiveSeconds,
    ReadableFile,
    Seconds,
    SecretUrl,
    split_words,
)

from .core import parse_proxy_url

Port = Annotated[int, Field(ge=1, le=65_535)]

WEB_PORTS: Final = (80, 443, 3000, 5000, 8000, 8008, 8080, 8081, 8443, 8880, 8888, 9443)
"""Ports on which pages are served; other ports mostly belong to databases and the like."""


def _check_proxy_url(url: SecretUrl) -> SecretUrl:
    parse_proxy_url(url.get_secret_value())
    return url


ProxyUrls = Annotated[
    tuple[Annotated[SecretUrl, AfterValidator(_check_proxy_url)], ...], BeforeValidator(split_words)
]


class FetcherSettings(ServiceSettings):
    """fetcher: how requests are made, and how many at a time."""

    PREFIX: ClassVar[str] = "FETCHER_"

    concurrency: Annotated[int, Field(ge=1, le=4096)] = 256
    """Concurrent requests."""
    follow_redirects: bool = True
    """Follow redirects as new requests; false refuses every target."""
    max_redirects: Annotated[int, Field(ge=0, le=20)] = 5
    """Maximum redirects to a page or to a robots.txt."""
    max_deadline_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_MAX_DEADLINE")] = 120.0
    """Maximum deadline that a crawl may set for one request (30 s by default)."""
    connect_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_CONNECT_TIMEOUT")] = 10.0
    """Maximum time to connect to one address, TLS handshake included."""
    min_bytes_per_second: Annotated[int, Field(ge=0)] = 1024
    """Minimum speed of a body; slower ones are aborted. 0 for any speed."""
    slow_body_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_SLOW_GRACE")] = 5.0
    """How long a body may be slower than that."""
    in_flight_mb: Annotated[int, Field(ge=1)] = 256
    """Memory for bodies that were read and not yet published; beyond it reading pauses."""
    keep_alive_seconds: Annotated[Seconds, EnvironmentVariable("FETCHER_KEEP_ALIVE")] = 15.0
    """How long an idle connection is kept for its next request."""
    max_idle_connections: Annotated[int, Field(ge=0)] = 512
    """Maximum idle connections."""
    use_random_user_agent: Annotated[bool, EnvironmentVariable("CRAWLER_USE_RANDOM_USER_AGENT")] = False
    """Vary the User-Agent from request to request; it always contains our name and the contact."""
    ports: Annotated[tuple[Port, ...], BeforeValidator(split_words)] = WEB_PORTS
    """Ports from which pages are fetched, comma-separated; empty or with STRIDER_ALLOW_PRIVATE: all."""
    allow_networks: Annotated[tuple[IPvAnyNetwork, ...], BeforeValidator(split_words)] = ()
    """Private networks (CIDR) that may be fetched from, comma-separated; metadata services never are."""
    ca_file: ReadableFile = ""
    """File of trusted certificate authorities (PEM); empty: those of the system."""
    dns_ttl_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_DNS_TTL")] = 60.0
    """How long a resolved name is cached; the system's resolver does not report a TTL."""
    dns_negative_ttl_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_DNS_NEGATIVE_TTL")] = (
        10.0
    )
    """How long a failed resolution is cached."""
    dns_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_DNS_TIMEOUT")] = 10.0
    """Maximum time to resolve a name."""
    dns_threads: Annotated[int, Field(ge=1, le=512)] = 32
    """Concurrent name resolutions."""
    network_checks: Endpoints = ()
    """Reliable endpoints (host:port, comma-separated); if none can be reached, we are offline."""
    network_check_seconds: Annotated[
        PositiveSeconds, EnvironmentVariable("FETCHER_NETWORK_LOOK_INTERVAL")
    ] = 5.0
    """How often the network is checked while we are offline."""
    proxies_enabled: Annotated[bool, EnvironmentVariable("CRAWLER_PROXIES_ENABLED")] = False
    """Fetch through proxies only, never without one."""
    proxy_urls: Annotated[ProxyUrls, EnvironmentVariable("CRAWLER_PROXY_URLS")] = ()
    """Comma-separated http://, https:// or socks5://user:password@host:port; empty: the proxy table."""
    proxy_key: Annotated[SecretStr, EnvironmentVariable("CRAWLER_PROXY_KEY")] = SecretStr("")
    """Keys for the table's passwords (44 characters each), comma-separated: the first encrypts, all decrypt.
    """
    proxy_must_tunnel: Annotated[bool, EnvironmentVariable("CRAWLER_PROXY_MUST_TUNNEL")] = False
    """Use HTTP proxies by tunnels only (CONNECT), so that they never resolve a name themselves."""
    proxy_requests_per_second: Annotated[int, Field(ge=0), EnvironmentVariable("CRAWLER_PROXY_RATE")] = 5
    """Maximum requests a second to one domain through one proxy, besides all other limits; 0 for none."""

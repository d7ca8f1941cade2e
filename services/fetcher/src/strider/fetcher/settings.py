"""What can be set about fetching."""

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
"""Where pages are found on the internet, now and then; other ports are mostly somebody's database."""


def _check_proxy_url(url: SecretUrl) -> SecretUrl:
    parse_proxy_url(url.get_secret_value())
    return url


ProxyUrls = Annotated[
    tuple[Annotated[SecretUrl, AfterValidator(_check_proxy_url)], ...], BeforeValidator(split_words)
]


class FetcherSettings(ServiceSettings):
    """fetcher: how it asks, and how much of it at a time."""

    PREFIX: ClassVar[str] = "FETCHER_"

    concurrency: Annotated[int, Field(ge=1, le=4096)] = 256
    """Requests at a time."""
    follow_redirects: bool = True
    """Whether redirects lead to new requests; false refuses every target."""
    max_redirects: Annotated[int, Field(ge=0, le=20)] = 5
    """How many redirects may lead to a page, or to a robots.txt."""
    max_deadline_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_MAX_DEADLINE")] = 120.0
    """Longest time that a crawl may give one request (30 s where it says nothing)."""
    connect_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_CONNECT_TIMEOUT")] = 10.0
    """Longest time to connect to one address, TLS handshake included."""
    min_bytes_per_second: Annotated[int, Field(ge=0)] = 1024
    """Slower bodies are given up; 0 takes any speed."""
    slow_body_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_SLOW_GRACE")] = 5.0
    """How long a body may be slower than that."""
    in_flight_mb: Annotated[int, Field(ge=1)] = 256
    """Bodies in hand, read and not yet taken by the broker; beyond it reading waits."""
    keep_alive_seconds: Annotated[Seconds, EnvironmentVariable("FETCHER_KEEP_ALIVE")] = 15.0
    """How long a connection waits for its next request."""
    max_idle_connections: Annotated[int, Field(ge=0)] = 512
    """Connections kept open without a request."""
    use_random_user_agent: Annotated[bool, EnvironmentVariable("CRAWLER_USE_RANDOM_USER_AGENT")] = False
    """Say in varying words who asks; always with our name and the contact."""
    ports: Annotated[tuple[Port, ...], BeforeValidator(split_words)] = WEB_PORTS
    """Ports on which pages are asked for, parted by commas; empty or STRIDER_ALLOW_PRIVATE: all of them."""
    allow_networks: Annotated[tuple[IPvAnyNetwork, ...], BeforeValidator(split_words)] = ()
    """Private networks (CIDR) that may be asked, parted by commas; metadata addresses never are."""
    ca_file: ReadableFile = ""
    """Certificates of the authorities to trust (PEM); the system's where empty."""
    dns_ttl_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_DNS_TTL")] = 60.0
    """How long a resolved name serves; the system's resolver tells no lifetimes."""
    dns_negative_ttl_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_DNS_NEGATIVE_TTL")] = (
        10.0
    )
    """How long a name that could not be resolved is not asked for again."""
    dns_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_DNS_TIMEOUT")] = 10.0
    """Longest time to resolve a name."""
    dns_threads: Annotated[int, Field(ge=1, le=512)] = 32
    """Names that are resolved at a time."""
    network_checks: Endpoints = ()
    """Endpoints (host:port, by commas) that are hardly ever down: none in reach means offline."""
    network_check_seconds: Annotated[
        PositiveSeconds, EnvironmentVariable("FETCHER_NETWORK_LOOK_INTERVAL")
    ] = 5.0
    """How often the network is looked for while we are offline."""
    proxies_enabled: Annotated[bool, EnvironmentVariable("CRAWLER_PROXIES_ENABLED")] = False
    """Ask by way of proxies, and never without one."""
    proxy_urls: Annotated[ProxyUrls, EnvironmentVariable("CRAWLER_PROXY_URLS")] = ()
    """http://, https:// or socks5://user:password@host:port, parted by commas; empty: those of the table."""
    proxy_key: Annotated[SecretStr, EnvironmentVariable("CRAWLER_PROXY_KEY")] = SecretStr("")
    """Key of the table's passwords (44 signs); several, parted by commas: the first writes, all read."""
    proxy_must_tunnel: Annotated[bool, EnvironmentVariable("CRAWLER_PROXY_MUST_TUNNEL")] = False
    """Ask HTTP proxies for tunnels only (CONNECT), so that they never resolve a name themselves."""
    proxy_requests_per_second: Annotated[int, Field(ge=0), EnvironmentVariable("CRAWLER_PROXY_RATE")] = 5
    """Most requests a second to one domain by way of one proxy, besides all other limits; 0 sets none."""

"""Settings of the fetcher."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, BeforeValidator, Field, IPvAnyNetwork, SecretStr

from strider.runtime.settings.base import HeadersSettings, ServiceSettings
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


def _check_name_server(text: str) -> str:
    """Return the address of a name server; raises ValueError, as a name would need a name server itself."""
    host, port = text, "53"
    if text.startswith("[") and "]" in text:
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":") or port
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    try:
        ip_address(host)
    except ValueError:
        raise ValueError(f"{text!r} is not the address of a name server, such as 127.0.0.1:53") from None
    if not port.isascii() or not port.isdecimal() or not 1 <= int(port) <= 65_535:  # noqa: PLR2004  # a port
        raise ValueError(f"{text!r}: {port!r} is not a port")
    return text


NameServers = Annotated[
    tuple[Annotated[str, AfterValidator(_check_name_server)], ...], BeforeValidator(split_words)
]


class FetcherSettings(ServiceSettings):
    """fetcher: how requests are made, and how many at a time."""

    PREFIX: ClassVar[str] = "FETCHER_"

    headers: HeadersSettings = HeadersSettings()
    concurrency: Annotated[int, Field(ge=1, le=4096)] = 256
    """Concurrent requests; a single run gets up to two thirds of them, so that others find places."""
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
    """Memory for bodies that were read and not yet published: half for usual pages, half by sender."""
    keep_alive_seconds: Annotated[Seconds, EnvironmentVariable("FETCHER_KEEP_ALIVE")] = 15.0
    """How long an idle connection is kept for its next request."""
    max_idle_connections: Annotated[int, Field(ge=0)] = 512
    """Maximum idle connections."""
    use_random_user_agent: Annotated[bool, EnvironmentVariable("CRAWLER_USE_RANDOM_USER_AGENT")] = False
    """Vary the User-Agent from request to request; it always contains our name and the contact."""
    ports: Annotated[tuple[Port, ...], BeforeValidator(split_words)] = WEB_PORTS
    """Ports from which pages are fetched, comma-separated; empty: all. Loopback, where it is allowed: all."""
    allow_networks: Annotated[tuple[IPvAnyNetwork, ...], BeforeValidator(split_words)] = ()
    """Private networks (CIDR) that may be fetched from, comma-separated; metadata services never are."""
    ca_file: ReadableFile = ""
    """File of trusted certificate authorities (PEM); empty: those of the system."""
    dns_servers: NameServers = ()
    """Name servers (address, address:port or [IPv6]:port, comma-separated); empty: the machine's own."""
    dns_ttl_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_DNS_TTL")] = 300.0
    """Longest time for which a resolved name is cached; a shorter TTL of the name counts."""
    dns_min_ttl_seconds: Annotated[Seconds, EnvironmentVariable("FETCHER_DNS_MIN_TTL")] = 5.0
    """Shortest time for which a resolved name is cached, so that a TTL of 0 costs no lookup per request."""
    dns_negative_ttl_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_DNS_NEGATIVE_TTL")] = (
        10.0
    )
    """How long a failed resolution is cached."""
    dns_timeout_seconds: Annotated[PositiveSeconds, EnvironmentVariable("FETCHER_DNS_TIMEOUT")] = 10.0
    """Maximum time to resolve a name."""
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

"""The SSRF rules: URLs, ports and addresses that may be fetched.

`url_refusal` refuses a URL before its name is resolved; `AddressPolicy.address_refusal` refuses an address
before it is connected to (by `adapters.http.address_guard`). What counts as a private or metadata address is
defined in `strider.urls`. Metadata services stay refused whatever is allowed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final

from strider.contracts.generated.enums import ErrorClass
from strider.urls import CLOUD_METADATA, RefusedUrl, address_kind, address_refusal, host_kind, host_of

from .response_models import FailedFetch

_ALLOWED_SCHEMES: Final = ("http://", "https://")

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Addresses that a deployment allows beyond the public internet."""

    allow_private: bool = False
    """Allow every private address; ports stay limited, but for loopback."""
    allowed_networks: tuple[Network, ...] = ()
    """Private networks that are allowed."""
    allowed_ports: frozenset[int] = frozenset()
    """Ports that may be fetched from; empty for every port."""

    def host_refusal(self, host_name: str) -> RefusedUrl | None:
        """Return why a host, as it stands in a URL, is refused; None if it is allowed."""
        refused = address_refusal(host_kind(host_name), allow_private=self.allow_private)
        return None if refused is not None and self._is_in_allowed_network(host_name.strip("[]")) else refused

    def address_refusal(self, address: str) -> RefusedUrl | None:
        """Return why an address that is about to be connected to is refused; None if it is allowed."""
        refused = address_refusal(address_kind(address), allow_private=self.allow_private)
        return None if refused is not None and self._is_in_allowed_network(address) else refused

    def is_port_allowed(self, url: str) -> bool:
        """Whether the port of a normalized URL may be fetched from.

        Where private addresses are allowed, loopback is on every port: it is this machine, and what serves
        there is its operator's. Other private addresses have databases and the like on theirs.
        """
        if not self.allowed_ports or _port_of(url) in self.allowed_ports:
            return True
        return self.allow_private and is_loopback_host(host_of(url))

    def _is_in_allowed_network(self, address_text: str) -> bool:
        if not self.allowed_networks or address_kind(address_text) == CLOUD_METADATA:
            return False
        try:
            address = ip_address(address_text.partition("%")[0])
        except ValueError:
            return False
        return any(address in network for network in self.allowed_networks)


def is_loopback_name(host: str) -> bool:
    """Whether a name means this machine (RFC 6761), so that no name server is asked."""
    name = host.removesuffix(".").lower()
    return name == "localhost" or name.endswith(".localhost")


@lru_cache(maxsize=1_024)
def is_loopback_host(host: str) -> bool:
    """Whether a host as it stands in a URL is this machine by its name or address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return is_loopback_name(host)


def url_refusal(url: str, *, policy: AddressPolicy) -> FailedFetch | None:
    """Return why a normalized URL is refused by its scheme, host or port; None if it is allowed."""
    if not url.startswith(_ALLOWED_SCHEMES):
        scheme = url.partition(":")[0][:40]
        return FailedFetch(ErrorClass.REFUSED_SCHEME, f"only http and https URLs are fetched, not {scheme}")
    try:
        name = host_of(url)
    except ValueError:
        return FailedFetch(ErrorClass.BAD_URL, "the URL has no path")
    refused = policy.host_refusal(name)
    if refused is None:
        is_open = policy.is_port_allowed(url)
        return (
            None
            if is_open
            else FailedFetch(ErrorClass.REFUSED_PORT, "pages are not fetched from this port (FETCHER_PORTS)")
        )
    is_address = name.startswith("[") or name[-1:].isdigit()
    error = ErrorClass.REFUSED_ADDRESS if is_address else ErrorClass.REFUSED_HOST
    return FailedFetch(error, f"{name} is a {refused.detail.replace('_', ' ')}")


def _port_of(url: str) -> int:
    """Return the port of a normalized URL, which never spells out its scheme's default port."""
    authority = url[url.index("//") + 2 : url.index("/", 8)]
    name = host_of(url)
    port = authority[len(name) :].lstrip(".").removeprefix(":")
    if port.isdigit():
        return int(port)
    return 443 if url.startswith("https:") else 80

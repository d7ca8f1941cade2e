"""Where may requests go, besides what every crawl is refused?

Ports that pages are served on, and inner networks that a deployment opens. What is private or a vault is
`strider.urls`' to say; vaults stay closed whatever is opened here.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address

from strider.urls import CLOUD_METADATA, RefusedUrl, address_kind, address_refusal, host_kind, host_of

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Places:
    """What is open."""

    allow_private: bool = False
    """Every private address, on every port."""
    networks: tuple[Network, ...] = ()
    """Private networks that are open all the same."""
    allowed_ports: frozenset[int] = frozenset()
    """Ports that may be asked; empty for every port."""

    def host_refusal(self, host_name: str) -> RefusedUrl | None:
        """Judge a host as it stands in a URL."""
        refused = address_refusal(host_kind(host_name), allow_private=self.allow_private)
        return None if refused is not None and self._is_open(host_name.strip("[]")) else refused

    def address_refusal(self, address: str) -> RefusedUrl | None:
        """Judge an address as the socket will have it."""
        refused = address_refusal(address_kind(address), allow_private=self.allow_private)
        return None if refused is not None and self._is_open(address) else refused

    def is_port_allowed(self, url: str) -> bool:
        """Say whether the port of a URL as found may be asked."""
        return self.allow_private or not self.allowed_ports or _port_of(url) in self.allowed_ports

    def _is_open(self, address_text: str) -> bool:
        if not self.networks or address_kind(address_text) == CLOUD_METADATA:
            return False
        try:
            address = ip_address(address_text.partition("%")[0])
        except ValueError:
            return False
        return any(address in network for network in self.networks)


def _port_of(url: str) -> int:
    """Give the port of a URL as found, in which a scheme's own port never stands."""
    authority = url[url.index("//") + 2 : url.index("/", 8)]
    name = host_of(url)
    port = authority[len(name) :].lstrip(".").removeprefix(":")
    if port.isdigit():
        return int(port)
    return 443 if url.startswith("https:") else 80

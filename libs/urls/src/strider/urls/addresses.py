"""Classify hosts and addresses: public, private or cloud metadata.

Judges hosts as they stand in a URL and addresses as a name server returned them. The first check keeps such
URLs off the bus; the second one, at the socket, stops names that resolve to internal addresses. Decides
nothing about names except those that can only be internal; resolves nothing.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

import can_ada

from .refusals import METADATA_ADDRESS, POLICY_BLOCKED, PRIVATE_ADDRESS, RefusedUrl

HOST_NAME: Final = "name"
"""A host name that can be judged only after resolution."""
PUBLIC: Final = "public"
PRIVATE: Final = "private"
"""Loopback, private, link-local, shared, multicast, reserved, or a name that means one of them."""
CLOUD_METADATA: Final = "metadata"
"""A cloud's metadata service, which returns credentials to any client that can reach it."""

_METADATA_ADDRESSES: Final = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # AWS, Azure, Google, DigitalOcean, OpenStack, Oracle …
            "169.254.169.253",  # AWS, name server
            "169.254.170.2",  # AWS, credentials of containers
            "169.254.170.23",  # AWS, credentials of pods
            "169.254.0.23",  # Tencent
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure, host agent: public by number, local to the machine in fact
            "192.0.0.192",  # Oracle, older
            "fd00:ec2::254",  # AWS
            "fd00:ec2::253",
            "fd00:ec2::23",
            "fd20:ce::254",  # Google
            "fd00:42::42",  # Scaleway
            "fe80::a9fe:a9fe",  # OpenStack
        ),
    )
)

_METADATA_NAMES: Final = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)

_INTERNAL_SUFFIXES: Final = (
    ".localhost",
    ".local",
    ".localdomain",
    ".internal",
    ".svc",
    ".cluster.local",
    ".home.arpa",
)
"""Names that no public name server may resolve (RFC 6761, 6762, 8375; ICANN's .internal; Kubernetes)."""

_INTERNAL_NAMES: Final = frozenset(
    {"localhost", "localdomain", *(suffix[1:] for suffix in _INTERNAL_SUFFIXES)}
)

_NOT_PUBLIC_V4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
"""IANA's special-purpose blocks, written out: the standard library's own list changes between versions."""

_PUBLIC_V6: Final = IPv6Network("2000::/3")
"""The only block of global unicast addresses; all else is refused unless it carries an IPv4 address."""

_NOT_PUBLIC_V6: Final = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
"""Protocol assignments (Teredo, ORCHID …) and documentation, within the global block."""

_NAT64: Final = IPv6Network("64:ff9b::/96")
_IPV4_COMPATIBLE: Final = IPv6Network("::/96")
_IPV4_TRANSLATED: Final = IPv6Network("::ffff:0:0:0/96")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
"""Third word of a tunnel address (RFC 5214), under any prefix; the fourth is an IPv4 address."""

CACHED_KINDS: Final = 4096
"""About 1 MB when full. A host is classified for each of its pages, several times a page in one process."""

_UINT32_MASK: Final = 0xFFFFFFFF


@lru_cache(maxsize=CACHED_KINDS)
def host_kind(host: str) -> str:
    """Classify a host of a URL, in any spelling: 0x7f.1, 2130706433, [::ffff:7f00:1], LOCALHOST."""
    try:
        canonical = can_ada.parse(f"http://{host}/").hostname
    except (ValueError, TypeError):
        # An invalid host is not public either; callers have refused it before.
        return PRIVATE
    return canonical_host_kind(canonical.removesuffix("."))


@lru_cache(maxsize=CACHED_KINDS)
def canonical_host_kind(name: str) -> str:
    """Classify a host of a wire URL without its trailing dot; there each address has one spelling."""
    if name.startswith("["):
        return address_kind(IPv6Address(name[1:-1]))
    if name[-1:].isdigit() and (address := _ipv4(name)):
        return address_kind(address)
    if name in _METADATA_NAMES:
        return CLOUD_METADATA
    return PRIVATE if name in _INTERNAL_NAMES or name.endswith(_INTERNAL_SUFFIXES) else HOST_NAME


def address_refusal(kind: str, *, allow_private: bool = False) -> RefusedUrl | None:
    """Return the refusal of a host or address of this kind, or None where it is allowed."""
    if kind == CLOUD_METADATA:
        return RefusedUrl(POLICY_BLOCKED, METADATA_ADDRESS)
    return RefusedUrl(POLICY_BLOCKED, PRIVATE_ADDRESS) if kind == PRIVATE and not allow_private else None


@lru_cache(maxsize=CACHED_KINDS)
def address_kind(address: str | IPv4Address | IPv6Address) -> str:
    """Classify an address; an IPv4 address embedded in an IPv6 one is classified by itself."""
    if isinstance(address, str):
        try:
            address = ip_address(address.partition("%")[0])  # without the zone, which is local to the machine
        except ValueError:
            return PRIVATE
    if address in _METADATA_ADDRESSES:
        return CLOUD_METADATA
    if isinstance(address, IPv4Address):
        is_inner = not address.is_global or any(address in network for network in _NOT_PUBLIC_V4)
        return PRIVATE if is_inner else PUBLIC
    if (inner := _embedded_ipv4(address)) is not None:
        return address_kind(inner)
    if address not in _PUBLIC_V6 or any(address in network for network in _NOT_PUBLIC_V6):
        return PRIVATE
    is_isatap = int(address) >> 32 & _UINT32_MASK in _ISATAP
    return address_kind(IPv4Address(int(address) & _UINT32_MASK)) if is_isatap else PUBLIC


def _ipv4(name: str) -> IPv4Address | None:
    try:
        return IPv4Address(name)
    except ValueError:
        return None


def _embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address to which a transition address leads."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    # Below 0x10000 within ::/96 there are only ::, ::1 and the like.
    is_compatible = address in _IPV4_COMPATIBLE and int(address) > 0xFFFF  # noqa: PLR2004  # said above
    if is_compatible or address in _NAT64 or address in _IPV4_TRANSLATED:
        return IPv4Address(int(address) & _UINT32_MASK)
    return None

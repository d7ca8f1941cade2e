"""Host, host group, origin and registrable domain of a wire URL.

Works on the text without parsing again, because these are needed for every link. Other texts must go through
`to_wire_url` first.
"""

from __future__ import annotations

from strider.contracts.partitioning import registrable_domain

from .url_key import key_authority
from .wire_url import authority_host, path_start


def host_of(url: str) -> str:
    """Return the host without port and trailing dot: the unit of politeness by default."""
    return authority_host(url[: path_start(url)])


def host_group_of(url: str, *, by_domain: bool) -> str:
    """Return the host group: the host, or by setting its registrable domain."""
    return domain_of(url) if by_domain else host_of(url)


def origin_of(url: str) -> str:
    """Return scheme, host and port: the unit that one robots.txt is valid for."""
    return key_authority(url[: path_start(url)])


def domain_of(url: str) -> str:
    """Return the registrable domain of a URL; an address or a single label is its own domain."""
    return registrable_domain(host_of(url))

"""Who a URL as found belongs to: its host, its origin, its registrable domain.

Works on the text, without parsing again: these are asked for every link. What is not a URL as
found must go through `as_found` first.
"""

from __future__ import annotations

from strider.contracts.partitioning import registrable_domain

from .url_key import key_authority
from .wire_url import authority_host, path_start

__all__ = ["domain_of", "host_of", "origin_of", "registrable_domain"]


def host_of(url: str) -> str:
    """Give the host without port and last dot: what politeness is about, where not set otherwise."""
    return authority_host(url[: path_start(url)])


def origin_of(url: str) -> str:
    """Give scheme, host and port: what one robots.txt speaks for."""
    return key_authority(url[: path_start(url)])


def domain_of(url: str) -> str:
    """Give the registrable domain of a URL; an address or a single label is its own."""
    return registrable_domain(host_of(url))

"""Who a URL as found belongs to: its host, its origin, its registrable domain.

Works on the text, without parsing again: these are asked for every link. What is not a URL as
found must go through `as_found` first.
"""

from __future__ import annotations

from strider.contracts.partitioning import registrable_domain

from .found import authority_host, path_start
from .normal import key_authority

__all__ = ["domain", "host", "origin", "registrable_domain"]


def host(found: str) -> str:
    """Give the host without port and last dot: what politeness is about, where not set otherwise."""
    return authority_host(found[: path_start(found)])


def origin(found: str) -> str:
    """Give scheme, host and port: what one robots.txt speaks for."""
    return key_authority(found[: path_start(found)])


def domain(found: str) -> str:
    """Give the registrable domain of a URL; an address or a single label is its own."""
    return registrable_domain(host(found))

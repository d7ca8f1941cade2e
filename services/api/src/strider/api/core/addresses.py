"""Checks of listening addresses and Host headers.

Without a token every client that reaches the API may use it, so it must be reachable from this machine alone:
also not by a web page in this machine's browser, under a name that resolves here (DNS rebinding).
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

LOCAL: Final = "localhost"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a listening address."""
    if host.lower() == LOCAL:
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def is_own_name(header: str) -> bool:
    """Whether a Host header names this machine itself, with or without a port."""
    host, colon, port = header.strip().rpartition(":")
    if not colon or port.endswith("]"):
        host = header.strip()
    return is_loopback(host)

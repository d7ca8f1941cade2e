"""The host of a URL, as far as a message key needs it. Never a verdict on the URL."""

from __future__ import annotations

import can_ada


def host_of_url(url: str) -> bytes | None:
    """Give the host of a URL as a key; None for what is no URL, so that it is anybody's partition."""
    try:
        host = can_ada.parse(url).hostname
    except ValueError:
        return None
    return host.encode() if host else None

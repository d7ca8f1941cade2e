"""Which request headers a person may add to a crawl.

Those that frame a request, name its host or say who we are by other means are not theirs to set: a
wrong one breaks connections for everybody, or lets a request be smuggled into another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MAX_BYTES: Final = 8 * 1024
"""Of all names and values; common servers refuse more."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNFIT_VALUE: Final = re.compile(r"[^\t\x20-\x7e\xa0-\xff]")

_OURS: Final = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def header_fault(headers: Mapping[str, str]) -> str:
    """Say what is wrong with headers; empty where nothing is."""
    size_bytes = 0
    for name, value in headers.items():
        size_bytes += len(name) + len(value)
        if not _TOKEN.fullmatch(name):
            return f"headers: {name!r:.100} is no name of a header"
        if name.lower() in _OURS:
            return f"headers: {name} is the crawler's own to set"
        if _UNFIT_VALUE.search(value):
            return f"headers: the value of {name} has a character in it that no header may have"
    return f"headers: {size_bytes} bytes, the limit is {MAX_BYTES}" if size_bytes > MAX_BYTES else ""

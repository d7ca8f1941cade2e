"""Check the request headers that a run adds.

It may add headers, but none that frames a request, names its host or identifies the crawler by other means: a
wrong one breaks connections for other runs, or allows request smuggling. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .personal_headers import clear_size

MAX_HEADER_BYTES: Final = 8 * 1024
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
    """Return the fault of custom headers; empty for none."""
    size_bytes = 0
    for name, value in headers.items():
        size_bytes += len(name) + clear_size(value)
        if not _TOKEN.fullmatch(name):
            return f"headers: {name!r:.100} is not a valid header name"
        if name.lower() in _OURS:
            return f"headers: {name} is set by the crawler and cannot be changed"
        if _UNFIT_VALUE.search(value):
            return f"headers: the value of {name} contains a character that is not allowed in headers"
    if size_bytes > MAX_HEADER_BYTES:
        return f"headers: {size_bytes} bytes, the limit is {MAX_HEADER_BYTES}"
    return ""

"""The one module that imports httpx: its maintained continuation can take its place here.

Requests, responses and the transport are httpx's, so that whoever speaks it can use the fetcher's
transport; the engine behind is another library's.
"""

from __future__ import annotations

from strider.runtime.lazy_imports import hidden_modules

# It would load its own command, with all that this prints in colour with.
with hidden_modules("rich", "pygments"):
    from httpx import (
        URL,
        AsyncBaseTransport,
        AsyncByteStream,
        InvalidURL,
        Request,
        Response,
        TransportError,
        UnsupportedProtocol,
    )

__all__ = [
    "URL",
    "AsyncBaseTransport",
    "AsyncByteStream",
    "InvalidURL",
    "Request",
    "Response",
    "TransportError",
    "UnsupportedProtocol",
]

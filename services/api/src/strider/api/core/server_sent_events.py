"""Server-Sent Events as bytes (WHATWG HTML, section 9.2). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

MEDIA_TYPE: Final = "text/event-stream"

HEARTBEAT: Final = b": heartbeat\n\n"
"""A comment, which no client shows: it keeps proxies from closing a quiet stream."""


def retry_after(milliseconds: int) -> bytes:
    """Return how long a client is to wait before it connects again."""
    return f"retry: {milliseconds}\n\n".encode()


def encode_event(name: str, data: Mapping[str, Any], *, event_id: str = "") -> bytes:
    """Return an event; its data are one line of JSON, which has no line breaks."""
    head = f"id: {event_id}\n" if event_id else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()

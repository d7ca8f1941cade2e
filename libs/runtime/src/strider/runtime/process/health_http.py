"""The little of HTTP that probes and scrapers need: one question read, one answer written.

Knows nothing of what is asked. A question's head is bounded in size; what it carries besides its
first line is passed over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

MAX_HEAD_BYTES: Final = 16 * 1024
_REQUEST_LINE_PARTS: Final = 3


@dataclass(frozen=True, slots=True)
class HealthResponse:
    """What is answered."""

    status: int
    content_type: str
    body: bytes
    headers: Sequence[tuple[str, str]] = ()


class BadHealthRequest(Exception):
    """Not a question of HTTP, or one that is too long; the message says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str]:
    """Read a request's head; gives method and path. Raises BadQuestion, or ConnectionError at its end."""
    head = b""
    while b"\r\n\r\n" not in head and b"\n\n" not in head:
        if len(head) > MAX_HEAD_BYTES:
            raise BadHealthRequest(431, f"a head of more than {MAX_HEAD_BYTES} bytes")
        part = await reader.read(MAX_HEAD_BYTES)
        if not part:
            raise ConnectionError("closed before the question was asked")
        head += part
    words = head.split(b"\n", 1)[0].decode("latin-1").split()
    if len(words) != _REQUEST_LINE_PARTS or not words[2].startswith("HTTP/1."):
        raise BadHealthRequest(400, "not a request of HTTP/1.1")
    return words[0], words[1].partition("?")[0]


def render_response(response: HealthResponse, *, has_body: bool) -> bytes:
    """Write an answer out; the connection ends with it."""
    lines = [
        f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
        f"Content-Type: {response.content_type}",
        f"Content-Length: {len(response.body)}",
        *(f"{name}: {value}" for name, value in response.headers),
        "Connection: close",
    ]
    return "\r\n".join((*lines, "", "")).encode() + (response.body if has_body else b"")

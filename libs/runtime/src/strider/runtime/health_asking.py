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

MOST_HEAD_BYTES: Final = 16 * 1024
_FIRST_LINE_WORDS: Final = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered."""

    status: int
    content_type: str
    body: bytes
    headers: Sequence[tuple[str, str]] = ()


class BadQuestion(Exception):
    """Not a question of HTTP, or one that is too long; the message says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def read_question(reader: asyncio.StreamReader) -> tuple[str, str]:
    """Read a request's head; gives method and path. Raises BadQuestion, or ConnectionError at its end."""
    head = b""
    while b"\r\n\r\n" not in head and b"\n\n" not in head:
        if len(head) > MOST_HEAD_BYTES:
            raise BadQuestion(431, f"a head of more than {MOST_HEAD_BYTES} bytes")
        part = await reader.read(MOST_HEAD_BYTES)
        if not part:
            raise ConnectionError("closed before the question was asked")
        head += part
    words = head.split(b"\n", 1)[0].decode("latin-1").split()
    if len(words) != _FIRST_LINE_WORDS or not words[2].startswith("HTTP/1."):
        raise BadQuestion(400, "not a request of HTTP/1.1")
    return words[0], words[1].partition("?")[0]


def written(answer: Answer, *, has_body: bool) -> bytes:
    """Write an answer out; the connection ends with it."""
    lines = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        *(f"{name}: {value}" for name, value in answer.headers),
        "Connection: close",
    ]
    return "\r\n".join((*lines, "", "")).encode() + (answer.body if has_body else b"")

"""Records of requests with an Idempotency-Key: what a second request with the same key gets.

A record is a line of JSON, and behind it the body of the response, compressed. While the request is carried
out it has no response; afterwards it has, or only the status where the response is too large to be kept.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

MAX_KEPT_BYTES: Final = 64 * 1024
"""Of a response's body, compressed; one for each request with a key in 24 hours."""
FINGERPRINTED: Final = frozenset({"content-type", "if-match", "if-none-match"})
"""Headers that belong to what a client asks for."""
_LEFT_OUT: Final = frozenset({"content-length", "date"})
"""Headers that each response has of its own."""


@dataclass(frozen=True, slots=True)
class KeptResponse:
    """A response as it was sent first."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    """None: it was too large to be kept."""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request with a key."""

    fingerprint: str
    """Hash of all that the client sent."""
    token: str
    """Names the attempt that carries it out, so that no other one ends it."""
    response: KeptResponse | None = None
    """None: it is in progress."""


def fingerprint_of(
    method: str, path: str, query: bytes, headers: Iterable[tuple[str, str]], body: bytes
) -> str:
    """Return the hash of a request, the same for the same request alone; of its headers `FINGERPRINTED`."""
    given = sorted((name.lower(), value) for name, value in headers if name.lower() in FINGERPRINTED)
    texts = [method, path, str(len(given)), *(text for pair in given for text in pair)]
    return _digest([*(text.encode() for text in texts), query, body])


def scope_of(subject: str, key: str) -> str:
    """Return the name of a record: a key is its caller's."""
    return _digest([subject.encode(), key.encode()])


def _digest(parts: Iterable[bytes]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def kept_response(status: int, headers: Iterable[tuple[str, str]], body: bytes) -> KeptResponse:
    """Return what is kept of a response."""
    compressed = zlib.compress(body)
    is_small = len(compressed) <= MAX_KEPT_BYTES
    kept = tuple((name, value) for name, value in headers if name.lower() not in _LEFT_OUT)
    return KeptResponse(status, kept, body if is_small else None)


def write_record(record: RequestRecord) -> bytes:
    """Return a record as it is stored."""
    head: dict[str, object] = {"request": record.fingerprint, "token": record.token}
    if (response := record.response) is None:
        return json.dumps(head).encode() + b"\n"
    head |= {"status": response.status, "headers": response.headers, "has_body": response.body is not None}
    return json.dumps(head).encode() + b"\n" + zlib.compress(response.body or b"")


def read_record(stored: bytes) -> RequestRecord:
    """Return a stored record."""
    line, _, compressed = stored.partition(b"\n")
    head = json.loads(line)
    response = None
    if "status" in head:
        headers = tuple((name, value) for name, value in head["headers"])
        body = zlib.decompress(compressed) if head["has_body"] else None
        response = KeptResponse(head["status"], headers, body)
    return RequestRecord(head["request"], head["token"], response)

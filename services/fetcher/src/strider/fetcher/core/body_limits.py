"""Size limits of response bodies, and how much of a body is read once its head is known.

A body announced as over the limit is not begun, and one that exceeds it unannounced is broken off. A body
declared as image, audio, video or font is read only if it begins like markup. Of a body that is not wanted
only so much is read that its connection can be reused. Decides by the head and the first bytes; the reading
itself is in `adapters.http.request_runner`. Limits of heads are in `adapters.http.protocol`.
"""

from __future__ import annotations

from typing import Final

from strider.contracts.fast_dataclass import fast_dataclass
from strider.contracts.generated.enums import ErrorClass, RequestKind
from strider.contracts.generated.events import FetchRequested

from .response_models import FailedFetch, ResponseHead

MAX_ENCODINGS: Final = 5
"""More stacked encodings than this are an attack, not a page."""

MAX_ROBOTS_BYTES: Final = 500 * 1024
"""Of a robots.txt (RFC 9309, 2.5): the rest is not read."""

ROBOTS_ENCODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""Encodings of a robots.txt that can be decoded; one in another encoding is a failure, as noise would deny
nothing.
"""

_IDENTITY_ENCODINGS: Final = frozenset(
    {"", "identity", "none", "binary", "utf-8", "8bit", "7bit", "text/html"}
)
"""Values that mean no encoding, as some servers send them. The parser has the same list."""

MAX_DRAIN_BYTES: Final = 64 * 1024
"""Of a body that is not wanted: reading it costs less than another connection."""

_UNSUPPORTED_TYPES: Final = ("image/", "audio/", "video/", "font/")
_SNIFFED_BYTES: Final = 512
_SUCCESS: Final = range(200, 300)


@fast_dataclass(frozen=True, slots=True)
class BodyPolicy:
    """Handling of a body."""

    max_bytes: int
    keeps_body: bool = True
    """False: the body is read only so that its connection can be reused."""
    may_truncate: bool = False
    """Whether a longer body is truncated at the limit; otherwise it is a failure."""
    must_look_like_markup: bool = False
    """Whether the first bytes must look like markup, because the declared type is not one that is read."""


def decide_body_policy(request: FetchRequested, head: ResponseHead) -> BodyPolicy | FailedFetch:
    """Decide by the head how a body is read, or that it is not."""
    if head.status not in _SUCCESS:
        return BodyPolicy(MAX_DRAIN_BYTES, keeps_body=False, may_truncate=True)
    if len(content_encodings(head)) > MAX_ENCODINGS:
        message = f"{len(content_encodings(head))} stacked encodings"
        return FailedFetch(ErrorClass.TOO_MANY_ENCODINGS, message, head)
    if request.kind == RequestKind.ROBOTS:
        return _robots_body_policy(head)
    announced = content_length(head)
    if announced > request.max_body_bytes:
        return FailedFetch(
            ErrorClass.BODY_TOO_LARGE, f"the body has {announced} bytes (Content-Length)", head
        )
    is_suspect = head.get("content-type").lower().startswith(_UNSUPPORTED_TYPES)
    if is_suspect and content_encodings(head):
        return unsupported_type(head)
    return BodyPolicy(request.max_body_bytes, must_look_like_markup=is_suspect)


def _robots_body_policy(head: ResponseHead) -> BodyPolicy | FailedFetch:
    if unknown := [encoding for encoding in content_encodings(head) if encoding not in ROBOTS_ENCODINGS]:
        return FailedFetch(
            ErrorClass.BAD_ENCODING, f"Content-Encoding {unknown[0][:40]} was not requested", head
        )
    return BodyPolicy(MAX_ROBOTS_BYTES, may_truncate=True)


def looks_like_markup(first_bytes: bytes) -> bool:
    """Whether a body that is declared an image begins like a document, as types can be wrong."""
    return first_bytes[:_SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def unsupported_type(head: ResponseHead) -> FailedFetch:
    """Return the failure for a body of a type that is not read."""
    return FailedFetch(
        ErrorClass.UNSUPPORTED_DOCUMENT, f"the type {head.get('content-type')[:80]} is not supported", head
    )


def content_encodings(head: ResponseHead) -> list[str]:
    """Return the encodings of the body, in the order in which they were applied."""
    sent = head.get("content-encoding")
    if not sent:
        return []
    return [
        encoding for part in sent.lower().split(",") if (encoding := part.strip()) not in _IDENTITY_ENCODINGS
    ]


def content_length(head: ResponseHead) -> int:
    """Return the announced length in bytes; -1 if there is none or it is no number."""
    sent = head.get("content-length")
    return int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else -1  # noqa: PLR2004  # 63 bits

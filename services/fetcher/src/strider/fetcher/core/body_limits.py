"""How much of a body is wanted, once the head is known?

A body over the limit is not begun, pictures and films are not read, and of an answer whose body
nobody will see only so much is read that the connection can be used again. Decides by the head
and the first bytes; the reading itself is an adapter's.
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
"""Of a robots.txt (RFC 9309, 2.5): what comes later is not read."""

ROBOTS_ENCODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""Encodings of a robots.txt that we can undo; in any other its rules are noise, and noise denies nothing."""

_AS_IT_IS: Final = frozenset({"", "identity", "none", "binary", "utf-8", "8bit", "7bit", "text/html"})
"""Encodings that are none: what servers say who mean nothing by it. The parser has the same list."""

MAX_DRAIN_BYTES: Final = 64 * 1024
"""Of a body that nobody wants: reading it costs less than another connection."""

_UNSUPPORTED_TYPES: Final = ("image/", "audio/", "video/", "font/")
_SNIFFED_BYTES: Final = 512
_SUCCESS: Final = range(200, 300)


@fast_dataclass(frozen=True, slots=True)
class Reading:
    """What to do with a body."""

    max_bytes: int
    keeps_body: bool = True
    """False: it is read for the connection's sake only."""
    may_truncate: bool = False
    """Whether a longer one is cut at the limit; else it is a failure."""
    is_suspect: bool = False
    """Whether the first bytes must look like text, because the type says that it is none."""


def decide_body_policy(request: FetchRequested, head: ResponseHead) -> Reading | FailedFetch:
    """Decide by the head."""
    if head.status not in _SUCCESS:
        return Reading(MAX_DRAIN_BYTES, keeps_body=False, may_truncate=True)
    if len(content_encodings(head)) > MAX_ENCODINGS:
        message = f"{len(content_encodings(head))} stacked encodings"
        return FailedFetch(ErrorClass.TOO_MANY_ENCODINGS, message, head)
    if request.kind == RequestKind.ROBOTS:
        return _robots_body_policy(head)
    announced = content_length(head)
    if announced > request.max_body_bytes:
        return FailedFetch(ErrorClass.BODY_TOO_LARGE, f"{announced} bytes are announced", head)
    is_suspect = head.get("content-type").lower().startswith(_UNSUPPORTED_TYPES)
    if is_suspect and content_encodings(head):
        return unsupported_type(head)
    return Reading(request.max_body_bytes, is_suspect=is_suspect)


def _robots_body_policy(head: ResponseHead) -> Reading | FailedFetch:
    if unknown := [word for word in content_encodings(head) if word not in ROBOTS_ENCODINGS]:
        return FailedFetch(ErrorClass.BAD_ENCODING, f"{unknown[0][:40]} was not asked for", head)
    return Reading(MAX_ROBOTS_BYTES, may_truncate=True)


def looks_like_markup(first_bytes: bytes) -> bool:
    """Say whether a body that is labelled as a picture begins like a document: labels lie."""
    return first_bytes[:_SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def unsupported_type(head: ResponseHead) -> FailedFetch:
    """Say that a body is of a kind that nobody here reads."""
    return FailedFetch(ErrorClass.UNSUPPORTED_DOCUMENT, f"{head.get('content-type')[:80]} is not read", head)


def content_encodings(head: ResponseHead) -> list[str]:
    """Give the encodings that the body carries, in the order in which they were put on."""
    sent = head.get("content-encoding")
    if not sent:
        return []
    return [word for part in sent.lower().split(",") if (word := part.strip()) not in _AS_IT_IS]


def content_length(head: ResponseHead) -> int:
    """Give the announced length; -1 for none, or for what is no number."""
    sent = head.get("content-length")
    return int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else -1  # noqa: PLR2004  # 63 bits

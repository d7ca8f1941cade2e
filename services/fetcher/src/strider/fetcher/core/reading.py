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

from .answers import Failed, Head

MAX_ENCODINGS: Final = 5
"""More stacked encodings than this are an attack, not a page."""

ROBOTS_BYTES: Final = 500 * 1024
"""Of a robots.txt (RFC 9309, 2.5): what comes later is not read."""

UNDONE: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""Encodings of a robots.txt that we can undo; in any other its rules are noise, and noise denies nothing."""

_AS_IT_IS: Final = frozenset({"", "identity", "none", "binary", "utf-8", "8bit", "7bit", "text/html"})
"""Encodings that are none: what servers say who mean nothing by it. The parser has the same list."""

DRAIN_BYTES: Final = 64 * 1024
"""Of a body that nobody wants: reading it costs less than another connection."""

_UNREAD_TYPES: Final = ("image/", "audio/", "video/", "font/")
_SNIFFED_BYTES: Final = 512
_OK: Final = range(200, 300)


@fast_dataclass(frozen=True, slots=True)
class Reading:
    """What to do with a body."""

    limit_bytes: int
    is_kept: bool = True
    """False: it is read for the connection's sake only."""
    may_cut: bool = False
    """Whether a longer one is cut at the limit; else it is a failure."""
    is_suspect: bool = False
    """Whether the first bytes must look like text, because the type says that it is none."""


def reading_of(request: FetchRequested, head: Head) -> Reading | Failed:
    """Decide by the head."""
    if head.status not in _OK:
        return Reading(DRAIN_BYTES, is_kept=False, may_cut=True)
    if len(encodings(head)) > MAX_ENCODINGS:
        message = f"{len(encodings(head))} stacked encodings"
        return Failed(ErrorClass.TOO_MANY_ENCODINGS, message, head)
    if request.kind == RequestKind.ROBOTS:
        return _reading_of_robots(head)
    announced = content_length(head)
    if announced > request.max_body_bytes:
        return Failed(ErrorClass.BODY_TOO_LARGE, f"{announced} bytes are announced", head)
    is_suspect = head.field("content-type").lower().startswith(_UNREAD_TYPES)
    if is_suspect and encodings(head):
        return unread(head)
    return Reading(request.max_body_bytes, is_suspect=is_suspect)


def _reading_of_robots(head: Head) -> Reading | Failed:
    if unknown := [word for word in encodings(head) if word not in UNDONE]:
        return Failed(ErrorClass.BAD_ENCODING, f"{unknown[0][:40]} was not asked for", head)
    return Reading(ROBOTS_BYTES, may_cut=True)


def looks_like_text(first: bytes) -> bool:
    """Say whether a body that is labelled as a picture begins like a document: labels lie."""
    return first[:_SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def unread(head: Head) -> Failed:
    """Say that a body is of a kind that nobody here reads."""
    return Failed(ErrorClass.UNSUPPORTED_DOCUMENT, f"{head.field('content-type')[:80]} is not read", head)


def encodings(head: Head) -> list[str]:
    """Give the encodings that the body carries, in the order in which they were put on."""
    sent = head.field("content-encoding")
    if not sent:
        return []
    return [word for part in sent.lower().split(",") if (word := part.strip()) not in _AS_IT_IS]


def content_length(head: Head) -> int:
    """Give the announced length; -1 for none, or for what is no number."""
    sent = head.field("content-length")
    return int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else -1  # noqa: PLR2004  # 63 bits

"""Filters and cursors of lists, each parsed as the crawler would parse it.

A cursor names the position in the order of the list (time and keys), so that it stays valid while rows are
added. Opaque to clients; a forged one names another position or none, never a row that its filters would not
show.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final

from strider.urls import RefusedUrl, host_of, registrable_domain, to_wire_url, url_hash, url_key_of

MAX_CURSOR_CHARACTERS: Final = 2_048
_PARTS: Final = 3


class InvalidCursorError(ValueError):
    """A text that is not a cursor of this API."""


@dataclass(frozen=True, slots=True)
class ListCursor:
    """The last item of a page."""

    at: datetime
    key: str
    more: str = ""
    """Tells items of the same time and key apart."""


def write_cursor(cursor: ListCursor) -> str:
    """Return a cursor as a text that needs no escaping in a URL."""
    text = json.dumps([cursor.at.isoformat(), cursor.key, cursor.more], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str) -> ListCursor:
    """Parse a cursor of an earlier response."""
    if len(text) > MAX_CURSOR_CHARACTERS:
        raise InvalidCursorError("it is too long")
    try:
        parts = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError) as failure:
        raise InvalidCursorError("it was not issued by this API") from failure
    if not (isinstance(parts, list) and len(parts) == _PARTS and all(isinstance(p, str) for p in parts)):
        raise InvalidCursorError("it was not issued by this API")
    try:
        at = datetime.fromisoformat(parts[0])
        at_utc = at.astimezone(UTC)
    except (ValueError, OverflowError) as failure:
        raise InvalidCursorError("it contains no time") from failure
    if at.tzinfo is None or text_fault(parts[1] + parts[2]):
        raise InvalidCursorError("it contains no position")
    return ListCursor(at_utc, parts[1], parts[2])


KEY_PATTERN: Final = "^[0-9a-fA-F]{64}$"
"""Of a URL key, for the description of parameters."""
_KEY: Final = re.compile(r"[0-9a-f]{64}")
_SHOWN_CHARACTERS: Final = 60
"""Of a name that is not a parameter."""


class InvalidFilterError(ValueError):
    """A filter that no row can match; `name` is the parameter's."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name
        self.detail = detail


@dataclass(frozen=True, slots=True)
class ListFilters:
    """Rows that match all of these; None matches everything."""

    url_key: str | None = None
    host: str | None = None
    domain: str | None = None
    job_id: str | None = None
    execution_id: str | None = None
    status_code: int | None = None
    decision: str | None = None
    reason: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def text_fault(text: str) -> str:
    """Return why the database cannot compare a text; empty where it can."""
    if "\0" in text:
        return "it contains a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "it contains half of a surrogate pair"
    return ""


def text_filter(name: str, text: str | None) -> str | None:
    """Return a text that a row may have."""
    if text is not None and (fault := text_fault(text)):
        raise InvalidFilterError(name, fault)
    return text


def time_filter(name: str, moment: datetime | None) -> datetime | None:
    """Return a time in UTC, which a time without a zone is read as: the same for every client."""
    if moment is None or moment.tzinfo is None:
        return moment and moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as failure:
        raise InvalidFilterError(name, "in UTC it is not within the years 1 to 9999") from failure


def check_names(given: Sequence[str], known: Sequence[str]) -> None:
    """Refuse unknown or repeated parameters: they would silently filter nothing."""
    for name in dict.fromkeys(given):
        shown = name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"
        if name not in known:
            near = get_close_matches(name[:_SHOWN_CHARACTERS], known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise InvalidFilterError(shown, f"no such parameter; {hint}")
        if given.count(name) > 1:
            raise InvalidFilterError(shown, "it is given more than once")


def url_to_key(url: str) -> str:
    """Return the key of a URL, in any notation."""
    found = to_wire_url(url)
    if isinstance(found, RefusedUrl):
        detail = f" ({found.detail})" if found.detail else ""
        raise InvalidFilterError("url", f"{found.reason}{detail}")
    return url_hash(url_key_of(found))


def key_filter(key: str) -> str:
    """Return a key, given in upper or lower case."""
    if not _KEY.fullmatch(key.lower()):
        raise InvalidFilterError("key", "a key is 64 hexadecimal digits")
    return key.lower()


def host_filter(name: str, text: str) -> tuple[str, str]:
    """Return a host as in URLs, and its registrable domain."""
    found = (
        to_wire_url(f"http://{text}/")
        if text and not re.search(r"[/\\?#@\s]", text)
        else RefusedUrl("bad_url")
    )
    if isinstance(found, RefusedUrl):
        raise InvalidFilterError(name, "it is not a host name")
    plain = host_of(found)
    return plain, registrable_domain(plain)

"""Conversions from values of events to values of columns."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Final

from strider.contracts import EncodeError
from strider.urls import host_of, registrable_domain

MAX_URL_CHARACTERS: Final = 4096
"""Longest URL in a row: one that was refused for its length may be very long."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999, the latest time that datetime can hold."""


def to_datetime(milliseconds: int) -> datetime:
    """Return milliseconds since 1970 as a time, clamped to the supported range."""
    return _EPOCH + timedelta(milliseconds=min(max(milliseconds, 0), _LAST_MS))


def host_and_domain(url: str) -> tuple[str, str]:
    """Return host and registrable domain; both empty for an invalid URL."""
    try:
        name = host_of(url)
        return name, registrable_domain(name)
    except (ValueError, EncodeError):
        return "", ""


def clip(text: str, characters: int) -> str:
    """Return the text, cut to this length with an ellipsis."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def to_rounded_milliseconds(microseconds: int) -> int:
    """Return microseconds as whole milliseconds."""
    return round(microseconds / 1000)


def to_milliseconds(microseconds: int) -> float:
    """Return microseconds as milliseconds."""
    return microseconds / 1000


def first_nonzero(first: int, second: int) -> int:
    """Return the first number, or the second where the first is 0."""
    return first or second


def join_error(error_class: str, message: str) -> str:
    """Return class and message of an error as one text; either may be empty."""
    return ": ".join(part for part in (error_class, message) if part)


def to_json(value: object) -> str:
    """Return JSON; most values are empty, and share one text."""
    return json.dumps(value, ensure_ascii=False) if value else ("{}" if isinstance(value, dict) else "[]")

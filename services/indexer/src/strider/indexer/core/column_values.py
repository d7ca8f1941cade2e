"""Column values that several tables share: host and domain of a URL, times, clipped texts."""

from __future__ import annotations

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

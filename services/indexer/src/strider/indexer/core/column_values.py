"""Where and when: the host and domain that a URL is filed under, and moments as the database has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from strider.contracts import EncodeError
from strider.urls import host_of, registrable_domain

MAX_URL_CHARACTERS: Final = 4096
"""Longest text of a URL in a row: what was refused for its length may be very long."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999, beyond which no date goes."""


def moment_of(milliseconds: int) -> datetime:
    """Turn milliseconds since 1970 into a moment; what lies outside of all calendars goes to their ends."""
    return _EPOCH + timedelta(milliseconds=min(max(milliseconds, 0), _LAST_MS))


def place_of(url: str) -> tuple[str, str]:
    """Give host and registrable domain; both empty for a text that is no URL."""
    try:
        name = host_of(url)
        return name, registrable_domain(name)
    except (ValueError, EncodeError):
        return "", ""


def clip(text: str, characters: int) -> str:
    """Keep the beginning of what is too long."""
    return text if len(text) <= characters else text[: characters - 1] + "…"

"""Parse the timestamps of feeds and sitemaps.

Feeds use RFC 822, W3C-DTF, ISO 8601 without separators, and informal dates. Without a known zone a date is
taken as UTC, without a time as midnight. Invalid dates are rejected; nothing is guessed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from strider.parser.core.html.date_parser import MAX_DATE_CHARS, parse_date_text

NO_TIMESTAMP: Final = -1

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ISO: Final = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[Tt ]\s*(\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?)?"
    r"\s*([Zz]|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?(?:\[[\w/+-]{1,40}\])?)?)?)?$"
)
_PLAIN_ISO: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2}))?"
)
_UNIX_TIME: Final = re.compile(r"1\d{9}(?:\d{3})?")
"""Seconds or milliseconds since 1970."""

_RFC_822: Final = re.compile(
    r"(?:[A-Za-z]{3}, )?([0-9]{1,2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) ([0-9]{4})"
    r" ([0-9]{2}):([0-9]{2}):([0-9]{2}) (?:GMT|UTC|([+-])(0[0-9]|1[0-4])([0-5][0-9]))"
)
"""RFC 822, which nearly all feeds use."""
_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"

_ORDINAL_DATE: Final = re.compile(r"(\d{4})-?(\d{3})$")
EARLIEST_YEAR: Final = 1970
HOURS_PER_DAY: Final = 24
"""ISO 8601 allows 24:00 for the midnight that ends a day."""


def parse_ms(text: str) -> int:
    """Return milliseconds since 1970; -1 for an invalid date."""
    if _PLAIN_ISO.fullmatch(text):  # Most dates of sitemaps; ten times as fast as the general case.
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            seconds = int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
            return 1_000 * seconds if seconds >= 0 else NO_TIMESTAMP
    return timestamp_ms(parse_timestamp(text))


def timestamp_ms(timestamp: datetime | None) -> int:
    """Return a timestamp as milliseconds since 1970; -1 for None."""
    return NO_TIMESTAMP if timestamp is None else (timestamp - _EPOCH) // timedelta(milliseconds=1)


def to_iso_utc(text: str) -> str:
    """Return a date as ISO 8601 in UTC, to the second; empty for an invalid date."""
    return format_iso_utc(parse_timestamp(text))


def format_iso_utc(timestamp: datetime | None) -> str:
    """Format a timestamp as ISO 8601; empty for None."""
    return "" if timestamp is None else f"{timestamp:%Y-%m-%dT%H:%M:%SZ}"


def parse_timestamp(text: str) -> datetime | None:
    """Parse a date in any format that feeds use; None if it is invalid."""
    normalized = " ".join(text[:MAX_DATE_CHARS].split())
    if not normalized:
        return None
    for read in (_parse_rfc_822, _parse_iso, _parse_words):
        try:
            found = read(normalized)
            if found is not None and found.year >= EARLIEST_YEAR:
                return found.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


def _parse_rfc_822(text: str) -> datetime | None:
    """Parse RFC 822, which `_parse_words` could parse as well, in a quarter of its time."""
    match = _RFC_822.fullmatch(text)
    if match is None:
        return None
    day, name, year, hour, minute, second, sign, hours, minutes = match.groups()
    month = _MONTHS.index(name) // 3 + 1
    moment = datetime(int(year), month, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    if sign is None:
        return moment
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return moment - offset if sign == "+" else moment + offset


def _parse_iso(text: str) -> datetime | None:
    if _UNIX_TIME.fullmatch(text):
        return _EPOCH + timedelta(seconds=int(text[:10]))
    if ordinal := _ORDINAL_DATE.match(text):
        return datetime(int(ordinal[1]), 1, 1, tzinfo=UTC) + timedelta(days=int(ordinal[2]) - 1)
    match = _ISO.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (
        int(part) if part else 0 for part in match.group(1, 2, 3, 4, 5, 6)
    )
    day_begins = datetime(year, month or 1, day or 1, tzinfo=UTC)
    if hour > HOURS_PER_DAY or minute > 59 or second > 60:  # noqa: PLR2004  # an hour's, a leap second
        return None
    moment = day_begins + timedelta(hours=hour, minutes=minute, seconds=second)
    return moment - _zone_offset(match[7] or "")


def _zone_offset(zone: str) -> timedelta:
    if not zone.startswith(("+", "-")):
        return timedelta(0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -size if zone[0] == "-" else size


def _parse_words(text: str) -> datetime | None:
    parsed = parse_date_text(text)
    if parsed is None:
        return None
    hour, minute, second = parsed.time or (0, 0, 0)
    if hour > HOURS_PER_DAY or minute > 59:  # noqa: PLR2004  # an hour's
        return None
    day = datetime(parsed.year, parsed.month, parsed.day, tzinfo=UTC)
    return day + timedelta(hours=hour, minutes=minute - (parsed.utc_offset_minutes or 0), seconds=second)

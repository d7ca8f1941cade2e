"""Which moment does a date in a feed or sitemap mean?

Feeds say dates by RFC 822, W3C-DTF, ISO 8601 without its signs, and by habit. A date without a zone
is taken for UTC, one without a time for its midnight. What is no date is none; nothing is guessed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_tz
from typing import Final

NO_MOMENT: Final = -1

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ISO: Final = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[Tt ]\s*(\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?)?"
    r"\s*([Zz]|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?)?)?)?$"
)
_ORDINAL: Final = re.compile(r"(\d{4})-?(\d{3})$")
_NAMED: Final = re.compile(
    r"(?:[a-z]{3,9}\.?,?\s+)?(?:(\d{1,2})(?:st|nd|rd|th)?[\s-]+([a-z]{3,9})\.?,?|([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?)"
    r"[\s-]+(\d{4})(?:,?\s+(?:at\s+)?(\d\d?):(\d\d)(?::(\d\d))?)?",
    re.IGNORECASE,
)
_MONTHS: Final = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)  # noqa: SIM905  # a list of words
}
_ZONES: Final = {"at": -4, "et": -5, "ct": -6, "mt": -7, "pt": -8, "cet": 1, "cest": 2, "bst": 1, "msk": 3}
"""Zones by letters that mail's standard does not know, in hours."""

EARLIEST_YEAR: Final = 1970
MAX_DATE_CHARS: Final = 80


def to_ms(text: str) -> int:
    """Give milliseconds since 1970; -1 for what is no date."""
    moment = read_moment(text)
    if moment is None:
        return NO_MOMENT
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def to_iso(text: str) -> str:
    """Write a date as ISO 8601 in UTC, to the second; empty for what is no date."""
    moment = read_moment(text)
    return "" if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def read_moment(text: str) -> datetime | None:
    """Read a date in any of the forms that feeds use."""
    wanted = " ".join(text[:MAX_DATE_CHARS].split())
    if not wanted:
        return None
    for read in (_of_iso, _of_mail, _of_names):
        try:
            found = read(wanted)
            if found is not None and found.year >= EARLIEST_YEAR:
                return found.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


def _of_iso(text: str) -> datetime | None:
    if ordinal := _ORDINAL.match(text):
        return datetime(int(ordinal[1]), 1, 1, tzinfo=UTC) + timedelta(days=int(ordinal[2]) - 1)
    match = _ISO.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (
        int(part) if part else 0 for part in match.group(1, 2, 3, 4, 5, 6)
    )
    day_begins = datetime(year, month or 1, day or 1, tzinfo=UTC)
    if hour > 24 or minute > 59 or second > 60:  # noqa: PLR2004  # a day's, an hour's, a leap second
        return None
    moment = day_begins + timedelta(hours=hour, minutes=minute, seconds=second)
    return moment - _offset(match[7] or "")


def _offset(zone: str) -> timedelta:
    if not zone.startswith(("+", "-")):
        return timedelta(0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -size if zone[0] == "-" else size


def _of_mail(text: str) -> datetime | None:
    fields = parsedate_tz(text)
    if fields is None:
        return None
    year, month, day, hour, minute, second = fields[:6]
    zone_seconds = fields[9]
    last = text.rpartition(" ")[2].lower()
    if last in _ZONES:
        zone_seconds = _ZONES[last] * 3_600
    moment = datetime(year, month, day, tzinfo=UTC) + timedelta(hours=hour, minutes=minute, seconds=second)
    return moment - timedelta(seconds=zone_seconds or 0)


def _of_names(text: str) -> datetime | None:
    match = _NAMED.match(text)
    if match is None:
        return None
    month = _MONTHS.get((match[2] or match[3])[:3].lower())
    if month is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.group(6, 7, 8))
    return datetime(int(match[5]), month, int(match[1] or match[4]), hour, minute, second, tzinfo=UTC)

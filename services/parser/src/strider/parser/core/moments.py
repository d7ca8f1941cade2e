"""Which moment does a date in a feed or sitemap mean?

Feeds say dates by RFC 822, W3C-DTF, ISO 8601 without its signs, and by habit. A date without a zone
is taken for UTC, one without a time for its midnight. What is no date is none; nothing is guessed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

NO_MOMENT: Final = -1

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ISO: Final = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[Tt ]\s*(\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?)?"
    r"\s*([Zz]|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?)?)?)?$"
)
_PLAIN: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2}))?"
)
_OTHER_ORDER: Final = re.compile(
    r"^(?:(\d{4})(?:[/.年]\s?)(\d\d?)(?:[/.月]\s?)(\d\d?)日?|(\d\d?)\.(\d\d?)\.(\d{4}))(?!\d)"
)
"""2024/03/05, 2024年3月5日 and 05.03.2024; between slashes nobody knows which is the day."""

_SECONDS: Final = re.compile(r"1\d{9}(?:\d{3})?")
"""Since 1970, or thousands of these."""

_ORDINAL: Final = re.compile(r"(\d{4})-?(\d{3})$")
_CLOCK: Final = r"(?:,?[T\s]+(?:at\s+)?(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?)"
_ZONE: Final = r"(?:\s*(?P<zone>[+-]\d\d:?\d\d|[A-Za-z]{1,4}))?"
_NAMED: Final = tuple(
    re.compile(rf"(?:[^\W\d_]{{2,12}}\.?,?\s*)?{form}", re.IGNORECASE)
    for form in (
        # 1 January 2004 19:48:21 GMT, as in mail
        rf"(?P<day>\d\d?)(?:st|nd|rd|th)?[\s-]+(?P<month>[^\W\d_]{{3,12}})\.?,?[\s-]+(?P<year>\d{{4}}|\d\d)\b{_CLOCK}?{_ZONE}",
        # January 1, 2004 19:48:21
        rf"\b(?P<month>[^\W\d_]{{3,12}})\.?\s+(?P<day>\d\d?)(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b{_CLOCK}?{_ZONE}",
        # Jan 1 19:48:21 2004, as in C
        rf"\b(?P<month>[^\W\d_]{{3,12}})\.?\s+(?P<day>\d\d?){_CLOCK}{_ZONE}\s+(?P<year>\d{{4}})\b",
    )
)
_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            *("jan ene gen янв", "feb fév fev фев", "mar mär mrt мар", "apr avr abr апр"),  # Cyrillic
            *("may mai maj mag май мая", "jun juin giu июн", "jul juil lug июл", "aug aoû ago авг"),
            *("sep set сен", "oct okt ott out окт", "nov ноя", "dec déc dic dez дек"),  # the same
        ),
        start=1,
    )
    for name in names.split()
}
"""By the letters that they begin with, in the languages whose feeds forget that dates are English."""

_ZONES: Final = {
    "est": -5,
    "edt": -4,
    "cst": -6,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
    "at": -4,
    "et": -5,
    "ct": -6,
    "mt": -7,
    "pt": -8,
    "cet": 1,
    "cest": 2,
    "bst": 1,
    "msk": 3,
}
"""Zones by letters, in hours; the others are taken for UTC."""

_THIS_CENTURY: Final = 70
"""Years of two digits below are of this one."""

EARLIEST_YEAR: Final = 1970
MAX_DATE_CHARS: Final = 80


def to_ms(text: str) -> int:
    """Give milliseconds since 1970; -1 for what is no date."""
    if _PLAIN.fullmatch(text):  # nearly all of a sitemap's, and ten times as fast
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            seconds = int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
            return 1_000 * seconds if seconds >= 0 else NO_MOMENT
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
    for read in (_of_iso, _of_names):
        try:
            found = read(wanted)
            if found is not None and found.year >= EARLIEST_YEAR:
                return found.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


def _of_iso(text: str) -> datetime | None:
    if _SECONDS.fullmatch(text):
        return _EPOCH + timedelta(seconds=int(text[:10]))
    text = _OTHER_ORDER.sub(_in_order, text, count=1)
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


def _in_order(match: re.Match[str]) -> str:
    year, month, day = match.group(1, 2, 3) if match[1] else match.group(6, 5, 4)
    return f"{year}-{int(month):02}-{int(day):02}"


def _offset(zone: str) -> timedelta:
    if not zone.startswith(("+", "-")):
        return timedelta(0)
    digits = zone[1:].replace(":", "").ljust(4, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -size if zone[0] == "-" else size


def _of_names(text: str) -> datetime | None:
    match = next((found for form in _NAMED if (found := form.match(text))), None)
    name = match["month"].lower() if match else ""
    month = _MONTHS.get(name[:4]) or _MONTHS.get(name[:3])
    if match is None or month is None:
        return None
    year = int(match["year"])
    if year < 100:  # noqa: PLR2004  # two digits
        year += 2_000 if year < _THIS_CENTURY else 1_900
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    is_midnight = hour == 24 and not minute  # noqa: PLR2004  # of the next day
    moment = datetime(year, month, int(match["day"]), tzinfo=UTC) + timedelta(days=int(is_midnight))
    moment = moment.replace(hour=0 if is_midnight else hour, minute=minute, second=min(second, 59))
    zone = (match["zone"] or "").lower()
    return moment - (timedelta(hours=_ZONES[zone]) if zone in _ZONES else _offset(zone))

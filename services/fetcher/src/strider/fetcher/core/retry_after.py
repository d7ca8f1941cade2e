"""How long does a server want to be left alone?

Retry-After is a number of seconds or a date (RFC 9110, 10.2.3). A date counts from the server's own
Date, because only the difference of two times of one clock means anything; ours serves where it
sent none. Nonsense is -1; how much of it is heeded is the scheduler's to say.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

NONE: Final = -1.0
MAX_RETRY_AFTER_SECONDS: Final = 30 * 86_400.0
"""What asks for more is told as this."""

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME: Final = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_DATE: Final = r"(?P<day>\d\d?)[ -](?P<month>[a-z]{3})[ -](?P<year>\d{4}|\d\d)"
_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        rf"\w+, +{_DATE} {_TIME} (?:GMT|UTC|[+-]0000)",
        rf"\w+ (?P<month>[a-z]{{3}}) +(?P<day>\d\d?) {_TIME} (?P<year>\d{{4}})",
    )
)
"""RFC 9110's date, the one of RFC 850, and asctime's."""


def retry_after_seconds(value: str, *, date: str, now_us: int) -> float:
    """Read Retry-After next to the answer's Date; -1 where it was not sent or makes no sense."""
    value = value.strip()
    if not value:
        return NONE
    numbers = [number.strip() for number in value.split(",")]
    if value.isascii() and all(map(str.isdigit, numbers)):
        return min(max(float(number[:12]) for number in numbers), MAX_RETRY_AFTER_SECONDS)
    until = moment_of(value)
    if until is None:
        return NONE
    since = moment_of(date.strip())
    now_seconds = now_us / 1_000_000 if since is None else since
    return min(max(0.0, until - now_seconds), MAX_RETRY_AFTER_SECONDS)


def moment_of(text: str) -> float | None:
    """Read one of the three forms of an HTTP date as seconds since 1970."""
    for form in _FORMS:
        found = form.fullmatch(text)
        if found is not None:
            return _moment(found)
    return None


def _moment(found: re.Match[str]) -> float | None:
    month = found["month"].lower()
    year = int(found["year"])
    if len(found["year"]) == 2:  # noqa: PLR2004  # RFC 850; 70 to 99 lie behind us
        year += 1900 if year >= 70 else 2000  # noqa: PLR2004
    try:
        moment = datetime(
            year,
            _MONTHS.index(month) + 1,
            int(found["day"]),
            int(found["hour"]),
            int(found["minute"]),
            min(int(found["second"]), 59),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return moment.timestamp()
